# Sourced by tests/runtimes/install: what no package of Debian's has.
# SPDX-License-Identifier: Apache-2.0

# The newest release of a major number. npm checks what it gets; no script of the package is run.
build_npm() {
	root=$2 number=$3
	log=$cache/.apt/npm-log
	case $architecture in
	amd64) machine=x64 ;;
	arm64) machine=arm64 ;;
	*) machine=$architecture ;;
	esac
	echo "E: no npm on this machine" >"$log"
	command -v npm >/dev/null 2>&1 || return 1
	rm -rf "$root"
	mkdir -p "$root/.npm" "$root/.groups" "$root/bin"
	(cd "$root/.npm" && npm install --prefix . --ignore-scripts --no-save --no-audit --no-fund \
		"node-linux-$machine@$number") >"$log" 2>&1 || return 1
	mv "$root/.npm/node_modules/node-linux-$machine/bin/node" "$root/bin/node" 2>"$log" || return 1
	rm -rf "$root/.npm"
	"$root/bin/node" --version >"$log" 2>&1	# of a newer C library than this machine's it does not run
}

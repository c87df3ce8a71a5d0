# Sourced by tests/runtimes/install: what no package of Debian's has.
# SPDX-License-Identifier: Apache-2.0

# A release, as the go command (1.21 on) gets it for itself and checks it: into the cache, not the user's own.
build_toolchain() {
	root=$2 version=$3
	log=$cache/.apt/go-log
	echo "E: no go command on this machine" >"$log"
	command -v go >/dev/null 2>&1 || return 1
	rm -rf "$root"
	mkdir -p "$root/.groups"
	goroot=$(cd / && GOPATH="$root/.go" GOFLAGS=-modcacherw GOTOOLCHAIN="go$version" go env GOROOT 2>"$log") || return 1
	case $goroot in
	"$root"/*) ln -s "$goroot/bin" "$root/bin" ;;
	*)
		echo "E: the go command has no other version: $goroot" >"$log"
		return 1
		;;
	esac
}

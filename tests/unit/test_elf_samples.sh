#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the forms of test_elf_sample.c that the ELF and symbol tests read, into a directory:
#   full              with .symtab and debug information; full.nm is nm's view of it
#   stripped          .dynsym only; full.debug is what was cut off
#   compressed.zlib, compressed.zstd
#                     full with compressed debug sections (the second only if objcopy can)
#   linked            stripped, .gnu_debuglink to linked.debug, no build id
#   mini              stripped, its functions in .gnu_debugdata (only if there is xz)
#   beside/           linked, and bare: without .eh_frame; their debug files in .debug/
#   crowd             5000 symbols crowd_0 to crowd_4999
#   root/             a file system with /bin/stripped and debug files for it
# usage: test_elf_samples.sh SOURCE DIR STAMP CC...
set -eu
source=$1 dir=$2 stamp=$3
shift 3
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"

# lazy binding and IBT give all three kinds of PLT sections between the two programs
"$@" -g -O1 -rdynamic -fno-pie -no-pie -Wl,-z,lazy -Wl,--build-id=sha1 -o full "$source"
"$@" -g -O1 -fcf-protection=full -fPIE -pie -Wl,-z,now -Wl,-z,ibtplt -Wl,--build-id=none \
	-o linked.full "$source" 2>/dev/null ||
	"$@" -g -O1 -fPIE -pie -Wl,--build-id=none -o linked.full "$source"
nm full >full.nm
nm linked.full >linked.nm

objcopy --only-keep-debug full full.debug
strip -o stripped full
objcopy --compress-debug-sections=zlib full compressed.zlib
objcopy --compress-debug-sections=zstd full compressed.zstd 2>/dev/null || rm -f compressed.zstd

# longer than what is read at once for its CRC
head -c 100000 /dev/zero | tr '\0' x >filler
objcopy --only-keep-debug --add-section .filler=filler linked.full linked.debug
strip -o linked linked.full
objcopy --add-gnu-debuglink=linked.debug linked
mkdir -p beside/.debug wrong
cp linked beside/ && cp linked.debug beside/.debug/
"$@" -g -O1 -fno-asynchronous-unwind-tables -fPIC -shared -nostdlib -Wl,--build-id=none \
	-Wl,--no-ld-generated-unwind-info -o bare.full "$source"
objcopy --only-keep-debug bare.full beside/.debug/bare.debug
strip -o beside/bare bare.full
(cd beside/.debug && objcopy --add-gnu-debuglink=bare.debug ../bare)
i=0
while [ $i -lt 5000 ]; do
	echo ".globl crowd_$i"
	echo "crowd_$i: .byte 0"
	i=$((i + 1))
done >crowd.s
"$@" -shared -nostdlib -o crowd crowd.s
cp linked wrong/ && cp full.debug wrong/linked.debug

if command -v xz >/dev/null; then
	# as gdb's manual says in "MiniDebugInfo": functions that .dynsym does not have
	nm -D full --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic.names
	nm full --format=posix --defined-only | awk '$2 ~ /[Tt]/ { print $1 }' | sort |
		comm -13 dynamic.names - >mini.names
	objcopy -S --remove-section=.comment --keep-symbols=mini.names full.debug mini.debug
	xz -f -k mini.debug
	objcopy --add-section .gnu_debugdata=mini.debug.xz stripped mini
fi

id=$(readelf -n full | sed -n 's/.*Build ID: //p')
first=$(printf %.2s "$id")
rest=${id#??}
mkdir -p root/bin "root/usr/lib/debug/.build-id/$first" root/srv "wrongroot/usr/lib/debug/.build-id/$first"
cp stripped root/bin/
cp full.debug root/srv/
# an absolute link: inside the root it leads to root/srv, outside it would lead nowhere
ln -s /srv/full.debug "root/usr/lib/debug/.build-id/$first/$rest.debug"
"$@" -g -O0 -Wl,--build-id=sha1 -o other "$source"
objcopy --only-keep-debug other "wrongroot/usr/lib/debug/.build-id/$first/$rest.debug"
touch "$stamp"

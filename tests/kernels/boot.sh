# Sourced by scripts/kernels: makes the guests' file system and boots kernels with it, in emulation,
# which needs no virtualization and no privileges.
# SPDX-License-Identifier: Apache-2.0
#
# Wants: $work, a directory that is removed in the end. Gives: $emulator, the process that runs while a guest does.

guest=$work/guest
guest_seconds=750	# at most

# Copies programs or libraries with the shared libraries they need, to the same paths.
copy_libraries() {
	for file; do
		ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true
	done | sort -u | while read -r library; do
		mkdir -p "$guest${library%/*}"
		cp -L --remove-destination "$library" "$guest$library"	# what is there may be a link out of the guest
	done
}

# make_guest INIT BUSYBOX FILE...: INIT becomes the first process, FILEs go to /t.
make_guest() {
	mkdir -p "$guest/bin" "$guest/dev" "$guest/proc" "$guest/sys" "$guest/tmp" "$guest/t/plugins"
	cp "$1" "$guest/init"
	cp "$2" "$guest/bin/busybox"
	shift 2
	cp -L "$@" "$root/tests/kernels/run.sh" "$root/tests/kernels/say.sh" "$guest/t"
	copy_libraries "$@"
	chmod -R u=rwX,go=rX "$guest"
	chmod 755 "$guest/init"
}

# boot KERNEL_DIRECTORY JOB RESULT_DIRECTORY: console in RESULT/console, /t/out of the guest in
# RESULT. Everything belongs to root in the guest, as the profiler wants its plugins.
#
# no_timer_check: on a busy machine the emulated timer is late, which a kernel takes for a broken one.
# -cx16: the cmpxchg16b of qemu 7.2 spoils flags now and then, and the guest dies in kmalloc.
boot() {
	image=$(find "$1" \( -name 'vmlinuz*' -o -name bzImage \) -type f | head -n 1)
	[ -n "$image" ] || return
	mkdir -p "$3"
	cp "$2" "$guest/t/job"
	(cd "$guest" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$work/initrd"
	timeout -k 5 "${EBPF_PROFILER_BOOT_SECONDS:-$guest_seconds}" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,-cx16 \
		-m 1536 -smp 2 -display none -nodefaults -no-reboot -serial stdio \
		-serial "file:$work/out.tar" -kernel "$image" -initrd "$work/initrd" \
		-append 'console=ttyS0 panic=-1 quiet loglevel=4 no_timer_check' </dev/null >"$3/console.raw" 2>&1 &
	emulator=$!
	wait "$emulator" || echo "qemu ended with status $?" >>"$3/console.raw"
	emulator=
	# SeaBIOS clears the screen and writes its greeting before the first line.
	tr -d '\r' <"$3/console.raw" | sed 's/\x1b[c\[][?0-9;]*[A-Za-z]*//g' >"$3/console"
	tar -x -C "$3" -f "$work/out.tar" 2>/dev/null || true
}

# Sourced by scripts/kernels: a guest that systemd boots, with the profiler as `meson install` puts it into the root.
# SPDX-License-Identifier: Apache-2.0
#
# Wants: packages.sh, boot.sh, $build, $work. Gives: make_service_guest.

service_packages='systemd libsystemd0 util-linux mount'

# The release of Debian whose packages go with the libraries that the profiler was linked with here.
find_release() {
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null | tr -d '"')
	case " $suites " in
	*" ${codename:-none} "*) echo "$codename" ;;
	*) echo bookworm ;;
	esac
}

# A root of Debian's with /bin in /usr. Nothing is configured: systemd makes users and directories as on a first boot.
make_systemd_root() {
	mkdir -p "$guest/etc"
	for directory in bin sbin lib lib64; do
		mkdir -p "$guest/usr/$directory"
		ln -s "usr/$directory" "$guest/$directory"
	done
	for directory; do
		tar -c -C "$directory" --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale . |
			tar -x -C "$guest" --keep-directory-symlink
	done
	# Without udev no terminal ever appears, and a login would wait for one.
	rm -f "$guest/lib/systemd/system-generators/systemd-getty-generator"
	: >"$guest/etc/machine-id"
	wants=$guest/etc/systemd/system/multi-user.target.wants
	mkdir -p "$wants"
	cp "$root/tests/kernels/service/run.service" "$guest/etc/systemd/system"
	ln -s ../run.service "$wants/run.service"
	ln -sf /lib/systemd/system/multi-user.target "$guest/etc/systemd/system/default.target"
}

install_profiler() {
	DESTDIR=$guest meson install -C "$build" --no-rebuild >"$work/installed" 2>&1 || {
		cat "$work/installed" >&2
		die "what is in $build cannot be installed: build all of it first"
	}
	# check_times.py judges what pprof says of its start and end.
	find "$guest" -path '*/ebpf-profiler/profiler.toml' -exec sed -i 's/otlp_file/pprof/' {} +
	[ -n "$(find "$guest/usr" -path '*lib/systemd/system/ebpf-profiler.service')" ] ||
		die "$build was configured for a place where systemd looks for no units"
	rm -r "$guest/var/lib/ebpf-profiler"	# tmpfiles.d makes it
	copy_libraries "$build/core/cli/ebpf-profiler" "$plugins"/*.so
}

# make_service_guest BUSYBOX DIRECTORY...: what is in directories of packages is the root.
make_service_guest() {
	busybox_file=$1
	shift
	n_checks=10	# in tests/kernels/service/check.sh
	make_systemd_root "$@"
	install_profiler
	compile -fomit-frame-pointer -static "$root/tests/live/programs/nested.c" -o "$work/burner"
	make_guest "$root/tests/kernels/service/init.sh" "$busybox_file" "$work/burner"
}

# judge_service RESULT: what lies between the profiles of two SIGHUPs.
judge_service() {
	[ -n "$(find "$1" -name '*.pb.gz')" ] || return 0	# the guest has said why
	python3 "$root/tests/kernels/service/check_times.py" "$1"/*.pb.gz >"$1/judged" 2>&1 || {
		echo 'FAILED times of profiles:' >>"$1/console"
		cat "$1/judged" >>"$1/console"
	}
}

# Sourced by the other scripts: where the project is, where it is built, how messages look.
# SPDX-License-Identifier: Apache-2.0
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
# Root builds apart from a user in the user's tree: neither then finds files it may not write, and
# root loads only plugins that are its own.
if [ "$(id -u)" = 0 ] && [ ! -O "$root" ]; then
	build=$root/build-root
else
	build=$root/build
fi
build=${EBPF_PROFILER_BUILD:-$build}
plugins=${EBPF_PROFILER_PLUGINS_DIR:-$build/plugins/together}

say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
	say "$*"
	exit 1
}

# need_root WHY ARG...: does nothing as root; else runs this script by sudo, with these arguments.
need_root() {
	why=$1
	shift
	[ "$(id -u)" != 0 ] || return 0
	command -v sudo >/dev/null 2>&1 ||
		die "$why needs root and there is no sudo: run it as root, for example by su -c '$0'"
	say "$why needs root: calling sudo"
	set -- "$root/scripts/${0##*/}" "$@"
	# sudo clears the environment
	[ -z "${EBPF_PROFILER_BUILD:-}" ] || set -- "EBPF_PROFILER_BUILD=$EBPF_PROFILER_BUILD" "$@"
	[ -z "${EBPF_PROFILER_PLUGINS_DIR:-}" ] ||
		set -- "EBPF_PROFILER_PLUGINS_DIR=$EBPF_PROFILER_PLUGINS_DIR" "$@"
	exec sudo env "$@"
}

# A file that root wrote for a user who called sudo becomes the user's.
give_back() {
	if [ "$(id -u)" = 0 ] && [ -n "${SUDO_UID:-}" ] && [ -n "${SUDO_GID:-}" ]; then
		chown -h "$SUDO_UID:$SUDO_GID" "$1"
	fi
}

# Runs one command as root: by sudo when we are not.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		say "calling sudo for: $*"
		sudo "$@"
	else
		die "there is no sudo: as root, run: $*"
	fi
}

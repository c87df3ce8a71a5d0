# Sourced by the other scripts: where the project is, where it is built, how messages look.
# SPDX-License-Identifier: Apache-2.0
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=${EBPF_PROFILER_BUILD:-$root/build}
plugins=${EBPF_PROFILER_PLUGINS_DIR:-$build/plugins/together}

say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
	say "$*"
	exit 1
}

# The command to become root with, or nothing when we are.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		die "needs root for: $*"
	fi
}

# SPDX-License-Identifier: Apache-2.0
# For scripts that are strangers to the tree: an installed copy of the profiler, and pkg-config for
# it alone. Sourced, with $build. $dir is a directory of the script's own, $installed is what was
# installed: $EBPF_PROFILER_INSTALLED, where who calls has given one for all that it builds; $clang a clang.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
for tool in meson pkg-config make cc nm python3; do
	command -v "$tool" >/dev/null || { echo "skip: no $tool"; exit 77; }
done
for version in -19 -16 -15 -14 ""; do
	clang=$(command -v "clang$version") && break
done
[ -n "${clang:-}" ] || { echo "skip: no clang"; exit 77; }

# install_copy TAG,...: as `meson install --tags`
install_copy() {
	installed=${EBPF_PROFILER_INSTALLED:-$dir/root}
	[ -d "$installed" ] || DESTDIR=$installed meson install -C "$build" --no-rebuild --tags "$1" >"$dir/log" 2>&1 ||
		{ cat "$dir/log"; exit 1; }
	pc=$(find "$installed" -name ebpf-profiler-plugin.pc)
	[ -n "$pc" ] || { echo "no ebpf-profiler-plugin.pc was installed"; exit 1; }
	export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$installed"
	export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
}

variable() {
	pkg-config --variable="$1" ebpf-profiler-plugin
}

# check_symbols FILE.so: it needs nothing of the host, whose services are a table, and exports one
# symbol
check_symbols() {
	if nm -D --undefined-only "$1" | grep -E ' (ep|uv)_'; then
		echo "$1 needs symbols of the host"
		exit 1
	fi
	[ "$(nm -D --defined-only "$1" | awk '{ print $3 }')" = ep_plugin ] ||
		{ echo "$1 exports more than ep_plugin"; exit 1; }
}

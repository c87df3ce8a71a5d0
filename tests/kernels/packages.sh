# Sourced by scripts/kernels: Debian packages of other releases, unpacked into a cache of our own.
# apt runs with private state, so nothing of the system changes and no root is needed; packages
# are checked against the system's archive keyring. The mirror is the one the system uses, which
# may be a snapshot: so signatures may have expired. What comes from here runs in a guest only.
# SPDX-License-Identifier: Apache-2.0
#
# Wants: $cache, a directory of ours. Gives: $cache/unpacked/PACKAGE_VERSION.

apt_dir=$cache/apt
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# Releases that have the kernels of default_kernels; 5.10 is the oldest that mirrors still carry.
suites='bullseye bookworm bookworm-backports trixie sid'

. "$root/scripts/mirror.sh"

write_sources() {
	write_apt_config "$apt_dir" amd64
	for suite in $suites; do
		echo "deb [arch=amd64 signed-by=$keyring] $1 $suite main"
	done >"$apt_dir/sources.list"
}

private_apt() {
	apt_command=$1
	shift
	APT_CONFIG=$apt_dir/apt.conf "$apt_command" -qq "$@"
}

# Fresh lists once a day; old ones will do when the mirror cannot be reached.
refresh_lists() {
	mirror=$(find_mirror)
	if [ -z "$mirror" ]; then
		say "no Debian mirror in /etc/apt/sources.list and sources.list.d"
		return 1
	fi
	write_sources "$mirror"
	[ -z "$(find "$apt_dir/refreshed" -mmin -1440 2>/dev/null)" ] || return 0
	say "reading the package lists of $suites"
	if private_apt apt-get update >&2; then
		touch "$apt_dir/refreshed"
	elif [ ! -f "$apt_dir/refreshed" ]; then
		return 1
	fi
}

# The newest cloud kernel of a series, as 6.12. Since 7.x the image is in linux-binary-*, and
# linux-image-* only depends on it.
find_kernel_package() {
	series=$(echo "$1" | sed 's/\./\\./g')
	for kind in binary image; do
		private_apt apt-cache search -n "^linux-$kind-$series\\.[^ ]*-cloud-amd64\$" |
			cut -d ' ' -f 1 | sort -V | tail -n 1
	done | head -n 1
}

# unpack_version PACKAGE VERSION: prints the directory it is unpacked in; downloads it when it is not there yet.
unpack_version() {
	target=$cache/unpacked/$1_$(echo "$2" | tr -c 'A-Za-z0-9.+~\n-' _)
	if [ ! -d "$target" ]; then
		rm -rf "$cache/download" "$target.part"
		mkdir -p "$cache/download" "$cache/unpacked"
		(cd "$cache/download" && private_apt apt-get download "$1=$2" >&2) || return
		dpkg -x "$cache/download/"*.deb "$target.part" || return
		mv "$target.part" "$target"
		rm -rf "$cache/download"
	fi
	echo "$target"
}

# unpack_package PACKAGE: the newest version.
unpack_package() {
	version=$(private_apt apt-cache show --no-all-versions "$1" | sed -n 's/^Version: //p')
	[ -n "$version" ] && unpack_version "$1" "$version"
}

# unpack_with_dependencies SUITE PACKAGE...: a directory a line.
unpack_with_dependencies() {
	suite=$1
	shift
	wanted=$(private_apt apt-get -s -t "$suite" --no-install-recommends install "$@" |
		sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1 \2/p')
	[ -n "$wanted" ] || return 1
	echo "$wanted" | while read -r package version; do
		unpack_version "$package" "$version" </dev/null || exit 1
	done
}

# Sourced by what takes packages of other Debian releases.
# SPDX-License-Identifier: Apache-2.0

# The system's URI of Debian's main archive: deb822 sources first, then one-line ones. Prints nothing
# when there is none.
find_mirror() {
	{
		cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk '
			tolower($1) == "uris:" { for (i = 2; i <= NF; i++) print $i }'
		cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk '
			$1 == "deb" { sub(/\[[^]]*\] */, ""); print $2 }'
	} | awk '/\/debian\/?$/ { print; exit }'
}

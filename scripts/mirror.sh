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

# write_apt_config DIRECTORY ARCHITECTURE: makes DIRECTORY/apt.conf, of an apt that has nothing of the system's, and has
# installed nothing. Its sources are DIRECTORY/sources.list. A snapshot may have passed its Valid-Until; the signature is
# checked all the same.
write_apt_config() {
	mkdir -p "$1/lists/partial" "$1/archives/partial"
	: >"$1/status"
	cat >"$1/apt.conf" <<-END
	APT::Architecture "$2";
	APT::Architectures { "$2"; };
	APT::Get::AllowUnauthenticated "false";
	APT::Install-Recommends "false";
	APT::Install-Suggests "false";
	APT::Sandbox::User "root";
	Acquire::Check-Valid-Until "false";
	Acquire::Languages "none";
	Debug::NoLocking "true";
	Dir::Cache "$1";
	Dir::State "$1";
	Dir::State::lists "$1/lists";
	Dir::State::status "$1/status";
	Dir::Etc::main "/dev/null";
	Dir::Etc::parts "/dev/null";
	Dir::Etc::sourcelist "$1/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	END
}

# Sourced by scripts/kernels: a Ruby for the guest.
# SPDX-License-Identifier: Apache-2.0

n_language_checks=2

find_ruby() {
	command -v /usr/bin/ruby || command -v ruby
}

install_ruby() {
	command -v apt-get >/dev/null 2>&1 || return 1
	say "installing ruby"
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install ruby >/dev/null
}

# The system's Ruby as /t/ruby; climb.rb uses nothing of its library.
put_into_guest() {
	ruby=$(find_ruby) || { install_ruby && ruby=$(find_ruby); } || die "no ruby: install the package ruby"
	cp -L "$ruby" "$guest/t/ruby"
	cp "$root/plugins/ruby/tests/kernels/climb.rb" "$guest/t"
	copy_libraries "$ruby"
}

# Its libraries' loading and its end are in none of the stacks that climb.rb knows.
judge_language() {
	for name in ruby interpreted_ruby; do
		judge "$1" $name --threshold 80
	done
}

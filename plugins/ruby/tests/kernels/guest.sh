# Sourced by scripts/kernels: a Ruby for the guest.
# SPDX-License-Identifier: Apache-2.0

n_language_checks=2

# The system's Ruby as /t/ruby; climb.rb uses nothing of its library.
put_into_guest() {
	ruby=$(command -v /usr/bin/ruby || command -v ruby) || die "no ruby"
	cp -L "$ruby" "$guest/t/ruby"
	cp "$root/plugins/ruby/tests/kernels/climb.rb" "$guest/t"
	copy_libraries "$ruby"
}

# Its start, which is in the samples, is in none of the stacks that climb.rb knows.
judge_language() {
	for name in ruby interpreted_ruby; do
		judge "$1" $name --threshold 80
	done
}

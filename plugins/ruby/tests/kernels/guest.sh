# Sourced by scripts/kernels: a Ruby for the guest.
# SPDX-License-Identifier: Apache-2.0

# Its libraries' loading and its end are in none of the stacks that climb.rb knows.
recorded=ruby judged_by='--threshold 80'

find_ruby() {
	command -v /usr/bin/ruby || command -v ruby
}

# The system's Ruby; climb.rb uses nothing of its library.
put_into_guest() {
	ruby=$(find_or_install find_ruby ruby)
	put_program "$ruby" ruby climb.rb
}

# Sourced by scripts/kernels: a Perl for the guest.
# SPDX-License-Identifier: Apache-2.0

n_language_checks=2

# The system's Perl as /t/perl; climb.pl uses nothing of its library.
put_into_guest() {
	perl=$(command -v /usr/bin/perl || command -v perl) || die "no perl"
	cp -L "$perl" "$guest/t/perl"
	cp "$root/plugins/perl/tests/kernels/climb.pl" "$guest/t"
	copy_libraries "$perl"
}

# Its start, which is in the samples, is in none of the stacks that climb.pl knows.
judge_language() {
	for name in perl interpreted_perl; do
		judge "$1" $name --threshold 80
	done
}

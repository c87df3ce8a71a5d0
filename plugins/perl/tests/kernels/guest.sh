# Sourced by scripts/kernels: a Perl for the guest.
# SPDX-License-Identifier: Apache-2.0

# Its start, which is in the samples, is in none of the stacks that climb.pl knows.
recorded=perl judged_by='--threshold 80'

# The system's Perl; climb.pl uses nothing of its library.
put_into_guest() {
	perl=$(command -v /usr/bin/perl || command -v perl) || die "no perl"
	put_program "$perl" perl climb.pl
}

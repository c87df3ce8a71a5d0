# SPDX-License-Identifier: Apache-2.0
package Burn::Later;
# Compiled and run anew in each turn of "files": it uses nothing that is not the burner's.

BEGIN {
	Burn::spin(20000);
	undef &Burn::Later::after;
	undef &Burn::Used::import;
	delete $INC{'Burn/Used.pm'};
}
use Burn::Used qw(something); #? import BEGIN (eval)

Burn::spin(20000);
after();

sub after {
	return Burn::spin(20000);
}

1;

# SPDX-License-Identifier: Apache-2.0
package Burn::Newer;
use strict;
no warnings;

use feature 'signatures';

sub signed($x, $y = Burn::spin(40), @rest) {
	return Burn::spin(50) + $x;
}

my $signed = sub ($x, %more) {
	return Burn::spin(60);
};

sub {
	signed(1);
	signed(1, 2, 3);
	$signed->(4, a => 1);
};

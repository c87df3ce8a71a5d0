# SPDX-License-Identifier: Apache-2.0
package Burn::Newer;
use strict;
no warnings;

use feature 'keyword_any';

sub {
	my @list = (1, 2);
	my $any = any { Burn::spin(50) < 0 } @list;
};

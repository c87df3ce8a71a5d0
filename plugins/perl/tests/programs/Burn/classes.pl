# SPDX-License-Identifier: Apache-2.0
package Burn::Newer;
use strict;
no warnings;

use feature 'class';

class Burn::Point {
	field $x = Burn::spin(50);
	field $y :param = 2;

	ADJUST {
		$x = Burn::spin(50);
	}

	method length {
		return Burn::spin(60) + $self->half();
	}

	method half {
		my $anonymous = method {
			return Burn::spin(50);
		};
		return $self->$anonymous();
	}
}

sub {
	my $point = Burn::Point->new(y => 3); #! __ANON__
	$point->length();
};

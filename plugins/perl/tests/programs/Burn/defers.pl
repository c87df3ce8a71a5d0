# SPDX-License-Identifier: Apache-2.0
package Burn::Newer;
use strict;
no warnings;

use feature 'defer';

sub deferring {
	defer {
		Burn::spin(50); #! spin
	}
	return Burn::spin(60); #? spin
}

sub {
	deferring();
};

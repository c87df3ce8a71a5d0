# SPDX-License-Identifier: Apache-2.0
package Burn::Newer;
use strict;
no warnings;

use feature 'try';

sub trying {
	try {
		Burn::spin(50);
		die "no\n";
	}
	catch ($error) {
		return Burn::spin(60);
	}
}

sub {
	trying();
	Burn::spin(30);
};

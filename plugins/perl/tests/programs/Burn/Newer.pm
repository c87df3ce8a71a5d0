# SPDX-License-Identifier: Apache-2.0
package Burn::Newer;
# What not every Perl here has: each is a file, whose value is the turn.
use strict;
use warnings;
use Burn;
use File::Basename ();

sub newer {
	my ($name, $needs) = @_;
	my $turn = $] < 5 + $needs / 1000 ? undef : do(File::Basename::dirname(__FILE__) . "/$name.pl");

	if ($turn) {
		Burn::scenario($name, $turn);
	}
	else {
		my $why = $@ || 'too old';
		$why =~ s/\n.*//s;
		Burn::say_line("MISSING\t$name\t$needs\t$why");
	}
	return;
}

newer('signatures', 28);
newer('tries', 34);
newer('defers', 36);
newer('classes', 38);
newer('anys', 42);

1;

# SPDX-License-Identifier: Apache-2.0
# Stays in a stack with one of each: method, closure, eval BLOCK and STRING, a sort block, tie, overload, a lexical
# sub, a pattern's code, recursion. For Perl 5.28 and newer.
use strict;
use warnings;

$| = 1;

sub stand {
	print "READY\n";
	while (1) {
		my $x = 0;

		for my $i (1 .. 1000) {
			$x += $i;
		}
	}
}

sub down {
	my ($left) = @_;

	return $left > 1 ? down($left - 1) : stand();
}

package Box {
	use overload '""' => sub {
		my ($self) = @_;

		return main::down(5);
	};

	sub new { return bless {}, $_[0] }

	sub contents {
		my ($self) = @_;

		return "$self";
	}
}

package Tied {
	sub TIESCALAR { return bless [], shift }

	sub FETCH {
		my $caught = eval {
			Box->new()->contents();
		};
		return $caught;
	}
}

sub in_pattern {
	tie my $tied, 'Tied';

	'ab' =~ /a(?{ my $copy = $tied })b/;
	return;
}

sub in_order {
	my @sorted = sort {
		in_pattern();
		$a <=> $b;
	} 2, 1;
	return @sorted;
}

sub by_name {
	my sub hidden {
		my ($code) = @_;

		return $code->();
	}

	return hidden(sub {
		return eval "# one line\nin_order()";
	});
}

by_name();

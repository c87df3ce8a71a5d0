# SPDX-License-Identifier: Apache-2.0
# depth.pl one|many|closures|loops DEPTH: prints "ready", then spends its time below so many calls: of one sub that
# calls itself, of sixteen in turn, of closures, or of one that calls itself in a loop in a block.
use strict;
use warnings;
no warnings 'recursion';

my ($kind, $depth) = @ARGV;
my @many;

sub spin {
	my $x = 0;

	syswrite STDOUT, "ready\n";
	while (1) {
		for my $i (1 .. 1000) {
			$x += $i;
		}
	}
}

sub one {
	my ($left) = @_;

	return $left > 1 ? 1 + one($left - 1) : spin();
}

sub loops {
	my ($left) = @_;
	my $sum = 0;

	for my $i (1) {
		if (my $more = $left > 1) {
			$sum += $more + loops($left - 1);
		} else {
			spin();
		}
	}
	return $sum;
}

for my $i (0 .. 15) {
	push @many, eval "sub many$i { my (\$left) = \@_; return \$left > 1 ? $i + \$many[" . ($i + 1) % 16 .
		']->($left - 1) : spin() } \&many' . $i;
}

sub closure {
	my ($left) = @_;

	return sub { $left > 1 ? 1 + closure($left - 1)->() : spin() };
}

my %down = (one => \&one, many => $many[0], loops => \&loops, closures => sub { closure(@_)->() });
$down{$kind}->($depth);

# SPDX-License-Identifier: Apache-2.0
#
# A stack of Perl subs and C functions that is deeper than what BPF walks in one run.
#
#	climb.pl SECONDS [REST]
#
# Prints which stack its time is spent in; the grammar is in tests/kit/stacks.py. Rests first, so long as it may
# take to attach to it. Uses no module: a guest has none.

my $turns = 8;		# of a tied hash, one in the other: C is between them
my $calls = 20;		# subs in each
my $c = 'Perl_*|perl_*|*+0x*+';
my ($seconds, $rest) = @ARGV;
tie my %tied, 'Tied';

sub spin {
	my $x = 0;

	for my $i (1 .. 300000) {
		$x += $i;
	}
	return $x;
}

sub climb {
	my ($left) = @_;

	return climb($left - 1) if $left % $calls;
	return $left ? $tied{$left - 1} : spin();
}

sub Tied::TIEHASH {
	return bless {}, shift;
}

sub Tied::FETCH {
	return main::climb($_[1]);
}

sub run {
	my $end = time + $seconds;

	climb($calls * $turns - 1) while time < $end;
	return;
}

my $turn = "main::climb{$calls}";
my $rests = " Tied::FETCH $c $turn" x ($turns - 1);
$| = 1;
print "STACK ?$c main::spin $turn$rests main::run main ...\n";
select undef, undef, undef, $rest if $rest;
run();
my ($user, $system) = times;
printf "CPU %.3f\n", $user + $system;

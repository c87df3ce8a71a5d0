# SPDX-License-Identifier: Apache-2.0
# burner.pl SECONDS [--observe] [--threads=N] [--only=NAME,...] [--but=NAME,...]
#
# Burns CPU time in stacks that it knows: each scenario in turn, for a slice of time. Perl 5.28 and newer. Prints
# lines of words, with tabs between:
#
#	STACK SCENARIO FRAME...		--observe: Burn.pm explains it; each scenario has one turn
#	LINES NAME FILE LINE...		--observe: where the statements of that sub are
#	NEARER NAME FILE LINE STATEMENT	--observe: caller says LINE where Perl goes by the line of a statement around it
#	SUB NAME C|Perl			--observe: one that exists, and what it is
#	ANYWHERE NAME			it may be called from any statement
#	MISSING SCENARIO NEEDS WHY	a scenario that this Perl has not; NEEDS: the first minor release that has it
#	FORKED PID			a process that it made
#	STARTED SECONDS			CPU time until the first scenario
#	WORK SCENARIO SECONDS TURNS	CPU time and turns of a scenario, children's time as well
#	CPU SECONDS			what the process and its children have used, as its last line
#
# fleeting and texts are in no run that does not name them: their code is freed at once.
use strict;
use warnings;
use Config;
use File::Basename ();
use File::Spec ();
use Time::HiRes ();
BEGIN {
	unshift @INC, File::Basename::dirname(File::Spec->rel2abs(__FILE__));
}
use Burn;
use Burn::Calls;
use Burn::Callbacks;
use Burn::Newer;

use constant SLICE => 0.015;

my %options = read_arguments(@ARGV);
my %work;

sub read_arguments {
	my ($seconds, @words) = @_;
	my %found = (seconds => $seconds, observe => 0, threads => 0, only => '', but => 'fleeting,texts');

	for my $word (@words) {
		my ($name, $value) = $word =~ /^--(\w+)=?(.*)$/ or die "what is $word?\n";
		$found{$name} = $value eq '' ? 1 : $value;
	}
	return %found;
}

sub chosen {
	my %only = map { $_ => 1 } split /,/, $options{only};
	my %but = map { $_ => 1 } split /,/, $options{but};

	Burn::seen() if $Burn::observing;
	# Whichever thread gets a signal needs a handler, and only the one that set it has it.
	@but{qw(signals timers)} = (1, 1) if $options{threads};
	return grep { %only ? $only{$_} : !$but{$_} } @Burn::order;
}

# CPU time, and that of children that have ended.
sub used {
	my ($user, $system, $children, $their_system) = times;

	Burn::seen() if $Burn::observing;
	return $user + $system + $children + $their_system;
}

sub thread_time {
	open my $file, '<', '/proc/thread-self/schedstat' or return 0;
	my ($time) = split ' ', <$file>;

	Burn::seen() if $Burn::observing;
	return $time / 1e9;
}

sub slice {
	my ($name) = @_;
	my $turn = $Burn::scenarios{$name};
	my $began = $name eq 'forks' ? used() : thread_time();
	my $end = Time::HiRes::time() + SLICE;
	my $turns = 0;

	do {
		$turns++;
		$turn->();
	} while (!$Burn::observing && Time::HiRes::time() < $end);
	$work{$name}[0] += ($name eq 'forks' ? used() : thread_time()) - $began;
	$work{$name}[1] += $turns;
	return;
}

sub drive {
	my (@names) = @_;
	my $deadline = Time::HiRes::time() + $options{seconds};

	do {
		for my $name (@names) {
			$Burn::scenario = $name;
			slice($name);
		}
	} while (!$Burn::observing && Time::HiRes::time() < $deadline);
	return;
}

sub in_thread {
	drive(grep { $_ ne 'forks' } chosen());
	return;
}

sub start_threads {
	require threads;
	Burn::seen() if $Burn::observing;
	return map { threads->create(\&in_thread) } 1 .. $options{threads};
}

sub tell_work {
	Burn::seen() if $Burn::observing;
	for my $name (sort keys %work) {
		Burn::say_line("WORK\t$name\t$work{$name}[0]\t$work{$name}[1]");
	}
	return;
}

sub main {
	$Burn::observing = $options{observe};
	Burn::say_line("STARTED\t" . Time::HiRes::clock());
	my @threads = $options{threads} ? start_threads() : ();
	drive(chosen());
	$_->join() for @threads;
	$Burn::scenario = 'driver';
	tell_work();
	if ($options{observe}) {
		local $Burn::observing = 0;
		require Burn::Code;
		Burn::Code::tell();
	}
	Burn::never(1) if $options{seconds} < 0;
	return;
}

main();
Burn::say_line("CPU\t" . used());

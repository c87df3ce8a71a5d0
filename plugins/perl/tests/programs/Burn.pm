# SPDX-License-Identifier: Apache-2.0
package Burn;
# What all scenarios share: the leaf that burns, and what Perl itself says of a stack.
#
# A comment "#! NAME" behind a statement says that what it calls by that name (caller's, without its package) it
# calls through C; "#? NAME" that it may; "by NAME" behind that names a sub which is C and calls it. What is called otherwise is called by the same run loop.
use strict;
use warnings;

our $observing = 0;    # stacks that are yet to be reported
our $scenario = 'driver';
our $sink = 0;
our (%scenarios, @order, %needs);
my %reported;
my ($directory) = __FILE__ =~ m{(.*)/};

# A scenario's turn takes some milliseconds at most. needs: the first minor release that has it.
sub scenario {
	my ($name, $turn, $needs) = @_;

	push @order, $name;
	$scenarios{$name} = $turn;
	$needs{$name} = $needs || 0;
}

# Some microseconds for each ten rounds.
sub spin {
	my ($rounds) = @_;
	my $x = $rounds | 1;

	for my $i (1 .. $rounds) {
		$x = ($x * 1664525 + $i) & 0xffffffff;
		$x ^= $x >> 15;
	}
	if ($observing) {
		seen();
	}
	$sink = $x;
	return $x;
}

# A line STACK SCENARIO NAME|FILE|LINE|KIND|TIMES..., leaf first, for each that was not there before. FILE is
# relative to the burner's directory, TIMES tells how many such frames are in a row. KIND is
#
#	sub	a sub
#	try	an eval BLOCK, also C's
#	format	a format, without a name
#	text	an eval STRING
#	file	require, use, do FILE
#	main	where it all begins: the main program, or of a thread the statement that made it
sub seen {
	my @calls;
	local $observing = 0;

	while (my @call = call_at(1 + @calls)) {
		push @calls, \@call;
	}
	# Each call has the name of what was called, and where from: the name of that is in the next one.
	my @frames = map {
		my $next = $calls[$_ + 1];
		join '|', $next ? $next->[2] : 'main', @{$calls[$_]}[0, 1], $next ? $next->[3] : 'main';
	} 0 .. $#calls;
	my $stack = join "\t", counted(@frames);
	say_line("STACK\t$scenario\t$stack") if !$reported{$stack}++;
	return;
}

sub counted {
	my @found;

	for my $frame (@_) {
		if (@found && $found[-1][0] eq $frame) {
			$found[-1][1]++;
		}
		else {
			push @found, [$frame, 1];
		}
	}
	return map { "$_->[0]|$_->[1]" } @found;
}

# (file, line, name of what was called there, its kind). The name of a format is the format itself to caller,
# which cannot be copied (pp_ctl.c, pp_caller; gv.c, cv_name: 5.28 to 5.44).
sub call_at {
	my ($level) = @_;
	my ($package, $file, $line) = caller $level or return;
	$file =~ s{^\Q$directory/\E}{};
	my $name = eval { my $copy = (caller $level + 1)[3] };

	return ($file, $line, '(format)', 'format') if !defined $name;
	return ($file, $line, $name, 'sub') if $name ne '(eval)';
	my ($text, $required) = (caller $level)[6, 7];
	return ($file, $line, $name, $required ? 'file' : defined $text ? 'text' : 'try');
}

# Whole, whichever processes and threads write: a line is short enough for a pipe (PIPE_BUF).
sub say_line {
	my ($line) = @_;

	seen() if $observing;
	syswrite STDOUT, "$line\n";
	return;
}

# Never called: a name that no profile may have.
sub never {
	return spin($_[0]) + spin($_[0] + 1);
}

1;

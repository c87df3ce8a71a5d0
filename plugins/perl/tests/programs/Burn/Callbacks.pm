# SPDX-License-Identifier: Apache-2.0
package Burn::Callbacks;
# Calls of Perl by C: each in a run loop of its own.
use strict;
use warnings;
no warnings qw(recursion redefine);
use Burn;
use Config;
use List::Util ();
use POSIX ();
use Time::HiRes ();

our ($a, $b);
my @list = (3, 1, 2);

# --- sort ---

sub by_burn {
	return Burn::spin(40) * 0 + ($a <=> $b);
}

sub by_arguments($$) {
	my ($x, $y) = @_;

	return compared($x, $y);
}

sub compared {
	my ($x, $y) = @_;

	Burn::spin(40);
	return $x <=> $y;
}

sub use_sort {
	my $by = sub {
		return compared($a, $b);
	};
	my @sorted = sort { #? spin
		Burn::spin(40); #! spin
		$a <=> $b;
	} @list;
	@sorted = sort by_burn @list; #! by_burn
	@sorted = sort by_arguments @list; #! by_arguments
	@sorted = sort $by @list; #! __ANON__
	@sorted = reverse sort { compared($b, $a) } @list; #! compared
	return @sorted;
}

Burn::scenario(sorts => \&use_sort);

sub sort_again {
	my ($left) = @_;

	return Burn::spin(60) if !$left;
	my @sorted = sort {
		sort_again($left - 1); #! sort_again
		$a <=> $b;
	} 1, 2;
	return scalar @sorted;
}

# As many run loops in each other.
Burn::scenario(turns40 => sub { sort_again(40) });

# --- List::Util: C of a library, which calls blocks ---

sub use_lists {
	my $sum = List::Util::reduce { $a + Burn::spin(50) } @list; #! __ANON__ by List::Util::reduce
	my $first = List::Util::first { Burn::spin(50) < 0 } @list; #! __ANON__ by List::Util::first
	return $sum;
}

Burn::scenario(lists => \&use_lists);

# --- tie ---

package Burn::Tied {
	sub TIESCALAR { return bless [], shift }
	sub TIEHANDLE { return bless [], shift }

	sub FETCH {
		my ($self, $key) = @_;

		return Burn::spin(60);
	}

	sub STORE {
		my ($self, @rest) = @_;

		$self->[0] = Burn::spin(60);
		return;
	}

	sub PRINT {
		my ($self, @what) = @_;

		return Burn::spin(60);
	}
}

package Burn::Callbacks;

tie my $scalar, 'Burn::Tied';
tie *HANDLE, 'Burn::Tied';

sub use_ties {
	my $x = $scalar; #! FETCH
	$scalar = 3; #! STORE
	$x += length $scalar; #! FETCH
	print HANDLE 'text'; #! PRINT
	return $x;
}

Burn::scenario(ties => \&use_ties);

# --- overload ---

package Burn::Number {
	use overload
		'+' => \&plus,
		'<=>' => sub {
			my ($x, $y) = @_;

			return Burn::spin(40) * 0 + ($x->[0] <=> (ref $y ? $y->[0] : $y));
		},
		'bool' => sub { Burn::spin(45) },
		'&{}' => \&code,
		'.' => 'joined';

	sub new {
		my ($class, $number) = @_;

		Burn::seen() if $Burn::observing;
		return bless [$number], $class;
	}

	sub plus {
		my ($x, $y) = @_;

		Burn::spin(50);
		return Burn::Number->new(3);
	}

	sub code {
		Burn::spin(40);
		return sub {
			return Burn::spin(55);
		};
	}

	sub joined {
		return Burn::spin(50);
	}
}

package Burn::Callbacks;

my $number = Burn::Number->new(2);

sub use_overloads {
	my $sum = $number + 1; #! plus
	my $more = 'a' . $number; #! joined
	$number->(); #? __ANON__ code
	my @sorted = sort { $a <=> $b } $number, $sum; #! __ANON__
	return 1 if $number; #! __ANON__
	return 0;
}

Burn::scenario(overloads => \&use_overloads);

# --- DESTROY ---

package Burn::Mortal {
	sub new {
		my ($class) = @_;

		Burn::seen() if $Burn::observing;
		return bless {}, $class;
	}

	sub DESTROY {
		my ($self) = @_;

		return Burn::spin(70);
	}
}

package Burn::Callbacks;

sub drop_at_end {
	my $mortal = Burn::Mortal->new();

	return Burn::spin(40); #? DESTROY
}

sub use_destroy {
	my $mortal = Burn::Mortal->new();

	undef $mortal; #! DESTROY
	drop_at_end(); #? DESTROY drop_at_end
	{
		my $other = Burn::Mortal->new();
	}
	Burn::Mortal->new(); #? DESTROY new
	my @all = map { Burn::Mortal->new() } 1, 2; #? DESTROY new
	@all = (); #! DESTROY
	return;
}

Burn::scenario(destroys => \&use_destroy);

# --- handlers ---

sub on_die {
	return Burn::spin(60);
}

sub on_warn {
	my ($text) = @_;

	return Burn::spin(60);
}

sub use_handlers {
	local $SIG{__DIE__} = \&on_die;
	local $SIG{__WARN__} = \&on_warn;

	eval {
		die "no\n"; #! on_die
	};
	warn "but\n"; #! on_warn
	eval { my $x = undef; $x->method() }; #! on_die
	my $text = undef . ''; #! on_warn
	return;
}

Burn::scenario(handlers => \&use_handlers);

sub on_signal {
	my ($name) = @_;

	Burn::spin(60);
	return;
}

sub use_signals {
	local $SIG{USR1} = \&on_signal;
	local $SIG{USR2} = sub {
		kill USR1 => $$; #! on_signal
	};

	kill USR1 => $$; #! on_signal
	kill USR2 => $$; #! __ANON__
	return;
}

Burn::scenario(signals => \&use_signals);

my $fired = 0;

sub on_timer {
	$fired++ if $Burn::observing;
	Burn::spin(60);
	return;
}

# At any statement of what runs: a signal handler is called between two operations.
sub use_timers {
	local $SIG{ALRM} = \&on_timer;

	Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0.0007, 0.0007);
	worked($_) for 1 .. 8;
	while ($Burn::observing && !$fired) {
		worked(1);
	}
	Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0);
	return;
}

sub worked {
	my ($x) = @_;

	return Burn::spin(300);
}

Burn::say_line("ANYWHERE\tBurn::Callbacks::on_timer");
Burn::scenario(timers => \&use_timers);

# --- docatch: an eval within what C called has a run loop of its own, and no sub ---

package Burn::Catching {
	sub TIESCALAR { return bless [], shift }

	sub FETCH {
		my ($self) = @_;

		my $x = eval {
			Burn::spin(50); #! spin
			Burn::Callbacks::risky(2); #! risky
			1;
		};
		return eval "Burn::spin(20000);\nBurn::Callbacks::risky(1)"; #! (eval)
	}
}

package Burn::Callbacks;

sub risky {
	my ($x) = @_;

	Burn::spin(40);
	die "risk\n" if $x > 1;
	return 1;
}

sub in_eval {
	my ($left) = @_;

	return Burn::spin(60) if !$left;
	return eval {
		in_eval($left - 1); #? in_eval
	};
}

tie my $catching, 'Burn::Catching';

sub use_catch {
	my $x = $catching; #! FETCH
	my @sorted = sort {
		my $y = eval { in_eval(5) }; #! in_eval
		$a <=> $b;
	} 2, 1;
	return $x;
}

Burn::scenario(docatch => \&use_catch);

# --- regular expressions with code ---

sub use_patterns {
	'aab' =~ /a(?{ Burn::spin(50) })b/; #! spin
	my $code = qr/(?{ Burn::spin(45) })x/;
	'yx' =~ /y$code/; #! __ANON__
	'zz' =~ /z(??{ compared(1, 2) ? 'z' : 'q' })/; #! compared
	return;
}

Burn::scenario(patterns => \&use_patterns);

# --- formats ---

our $field = 0;

sub burn_field {
	return Burn::spin(60);
}

format BURNING =
@<<<<<<<<<<< @>>>>
burn_field(), $field
.

open BURNING, '>', '/dev/null' or die "/dev/null: $!";

sub use_formats {
	write BURNING;
	return;
}

Burn::scenario(formats => \&use_formats);

# --- files ---

# Such files need PerlIO::scalar, which Perl requires the first time.
open my $first, '<', \'' or die "a file in memory: $!";

my $nowhere = '';

sub use_files {
	delete $INC{'Burn/Later.pm'};
	require Burn::Later; #? (eval)
	delete $INC{'Burn/Used.pm'};
	do 'Burn/Used.pm'; #? (eval)
	local @INC = (\&find_file, @INC);
	$nowhere = "#line 1 \"burn-nowhere.pm\"\nBurn::spin(20000);\n1;\n";
	delete $INC{'Burn/Nowhere.pm'};
	require Burn::Nowhere; #? (eval) find_file
	return;
}

sub find_file {
	my ($self, $name) = @_;

	Burn::spin(50);
	return if $name ne 'Burn/Nowhere.pm';
	open my $file, '<', \$nowhere or die;
	return $file;
}

Burn::scenario(files => \&use_files);

# --- processes ---

sub in_child {
	Burn::say_line("FORKED\t$$");
	for (1 .. 20) {
		Burn::spin(500);
	}
	POSIX::_exit(0);
}

sub use_forks {
	my $child = fork;

	die "fork: $!" if !defined $child;
	in_child() if !$child;
	waitpid $child, 0;
	return;
}

Burn::scenario(forks => \&use_forks);

1;

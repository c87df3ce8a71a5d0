# SPDX-License-Identifier: Apache-2.0
package Burn::Calls;
# Calls of Perl by Perl: no C is between them.
use strict;
use warnings;
no warnings qw(recursion once redefine);
use Burn;
use Sub::Util ();

# --- deep ---

sub deep {
	my ($left) = @_;

	if ($left > 1) {
		return deep($left - 1) + 1;
	}
	return Burn::spin(3000);
}

Burn::scenario(deep30 => sub { deep(30) });
Burn::scenario(deep1000 => sub { deep(1000) });

# --- closures ---

sub make_adder {
	my ($by) = @_;

	return sub {
		my ($x) = @_;

		return $x + Burn::spin(100 + $by);
	};
}

sub apply {
	my ($code, @arguments) = @_;

	return $code->(@arguments);
}

my @adders = map { make_adder($_) } 1 .. 3;

sub use_closures {
	my $nested = sub {
		my $inner = sub {
			return Burn::spin(150);
		};

		return $inner->() + 1;
	};

	my $sum = apply($adders[0], 1);
	$sum += $adders[1]->(2);
	$sum += $nested->();
	return $sum + apply(sub { Burn::spin(120) });
}

Burn::scenario(closures => \&use_closures);

# --- lexical subs: they have a name and no glob ---

sub use_lexical {
	my sub hidden {
		my ($x) = @_;

		return Burn::spin(100 + $x);
	}
	my $count = 2;
	my sub counted {
		return hidden($count++) + Burn::spin(100);
	}

	return hidden(1) + counted();
}

{
	my sub outermost {
		return Burn::spin(200);
	}

	sub use_outermost {
		return outermost();
	}
}

use feature 'state';

sub use_state {
	state sub kept {
		return Burn::spin(180);
	}

	return kept();
}

Burn::scenario(lexical => sub {
	use_lexical();
	use_outermost();
	use_state();
});

# --- names that are not those of the text ---

*alias = \&aliased;

sub aliased {
	return Burn::spin(120);
}

*renamed = Sub::Util::set_subname('Burn::Calls::given', sub { Burn::spin(120) });
my $elsewhere = Sub::Util::set_subname('Other::Place::named', sub { Burn::spin(120) });

sub local_name {
	local *__ANON__ = 'from_a_glob';
	return Burn::spin(120);
}

my $called_else = sub {
	local *__ANON__ = 'known_as';
	return Burn::spin(120);
};

sub gone {
	return Burn::spin(120);
}

my $gone = \&gone;
delete $Burn::Calls::{gone};

sub changing {
	return Burn::spin(110);
}

sub use_names {
	alias();
	renamed();
	$elsewhere->();
	local_name();
	$called_else->();
	$gone->();
	no strict 'refs';
	&{'changing'}();
	local *changing = sub {
		return Burn::spin(130);
	};
	changing();
	return;
}

Burn::scenario(names => \&use_names);

# --- methods ---

package Burn::Shape {
	sub new {
		my ($class, @rest) = @_;

		Burn::seen() if $Burn::observing;
		return bless {@rest}, $class;
	}

	sub area {
		my ($self) = @_;

		return $self->side() * $self->side();
	}

	sub side {
		return Burn::spin(80);
	}
}

package Burn::Square {
	our @ISA = ('Burn::Shape');

	sub side {
		my ($self) = @_;

		return $self->SUPER::side() + 1;
	}
}

package Burn::Loader {
	our $AUTOLOAD;

	sub AUTOLOAD {
		my ($self, $x) = @_;
		my $name = $AUTOLOAD;

		Burn::seen() if $Burn::observing;
		return if $name =~ /::DESTROY$/;
		if ($name =~ /::made$/) {
			no strict 'refs';
			*$name = sub {
				return Burn::spin(90);
			};
			goto &$name;
		}
		return Burn::spin(100);
	}
}

package Burn::Calls;

sub use_methods {
	my $square = Burn::Square->new(size => 3);
	my $method = 'area';

	$square->area();
	$square->$method();
	return $square->can('side')->($square);
}

sub use_autoload {
	Burn::Loader->missing(3);
	Burn::Loader::function(2);
	Burn::Loader->made();
	delete $Burn::Loader::{made};
	return;
}

Burn::scenario(methods => \&use_methods);
Burn::scenario(autoload => \&use_autoload);

# --- goto, $_ ---

sub first_stop {
	@_ = (100);
	Burn::seen() if $Burn::observing;
	goto &last_stop;
}

sub last_stop {
	my ($rounds) = @_;

	return Burn::spin($rounds);
}

my $jump = sub {
	Burn::seen() if $Burn::observing;
	goto &first_stop;
};

Burn::scenario(jumps => sub {
	first_stop();
	$jump->();
	&last_stop(120);
});

sub with_topic {
	local $_ = $_[0];

	return Burn::spin(60 + length);
}

sub use_topic {
	my @got = map { with_topic($_) + 1 } 1 .. 3;

	for (@got) {
		with_topic($_);
	}
	@got = grep { Burn::spin(50) > 0 } @got;
	(my $text = 'abc') =~ s/b/with_topic($&)/e;
	$text =~ s{(.)}{
		Burn::spin(40)
	}gex;
	return $text;
}

Burn::scenario(topic => \&use_topic);

# --- where the line is that of another statement ---

sub is_three {
	return Burn::spin(50) && $_[0] == 3;
}

sub use_branches {
	my ($x) = @_;

	if (is_three(1)) {
		return 1;
	}
	elsif (is_three(2)) {
		return 2;
	}
	elsif (is_three($x)) {
		return Burn::spin(60);
	}
	return 0;
}

sub use_lines {
	my $sum = use_branches(3)
		+ Burn::spin(
			60)
		+ Burn::spin(70);
	my %table = (
		one => Burn::spin(60),
		two => is_three(
			3),
	);
	my $count = 0;

	while (is_three($count) == 0 && $count < 2) {
		$count++;
		Burn::spin(30);
	}
	do {
		Burn::spin(40);
	} until $count++ > 2;
	$sum += is_three($_) ? Burn::spin(50) : 0 for 2 .. 3;
	return $sum;
}

Burn::scenario(lines => \&use_lines);

# --- text ---

sub use_text {
	my ($rounds) = @_;
	my $text = "my \$x = 2;\nBurn::spin($rounds)\n+ Burn::spin($rounds + \$x);\n";

	eval $text;
	eval "eval 'Burn::spin($rounds)';\n1" or die;
	eval qq{#line 501 "burn-line.pl"\nBurn::spin($rounds);\nBurn::spin($rounds)} or die $@;
	return eval "sub { Burn::spin($rounds) }->()";
}

eval <<'END' or die $@;
# line 7001 "burn-made.pl"
sub made_of_text {
	my ($x) = @_;

	return Burn::spin(120 + $x);
}
1;
END

Burn::scenario(text => sub {
	use_text(40000);
	made_of_text(3);
});
Burn::scenario(texts => sub {
	use_text(60);
});

# Names that exist for a moment.
my $fleeting = 0;

sub use_fleeting {
	my $name = 'fleeting_' . $fleeting++;
	my $text = "sub $name {\n\treturn Burn::spin(60);\n}\n$name();\n\\&$name";

	eval $text or die $@;
	no strict 'refs';
	undef &$name;
	delete $Burn::Calls::{$name};
	return;
}

# Only by name: what was freed before it is named is unknown to everybody.
Burn::scenario(fleeting => \&use_fleeting);

# A sub that is freed while it runs.
sub use_undefined {
	no strict 'refs';
	*vanishing = sub {
		undef *vanishing;
		return Burn::spin(150);
	};
	return &{'vanishing'}();
}

Burn::scenario(undefined => \&use_undefined);

# --- exceptions ---

sub fails {
	Burn::spin(60);
	die "no\n";
}

sub use_eval {
	eval {
		Burn::spin(70);
		fails();
		1;
	} or Burn::spin(80);
	my $value = eval { eval { fails() } or Burn::spin(50) };
	return $value;
}

Burn::scenario(blocks => \&use_eval);

1;

# SPDX-License-Identifier: Apache-2.0
package Burn::Code;
# What there is: all subs, and of those that are Perl the lines of their statements.
use strict;
use warnings;
use B ();
use Burn;

my (%seen, %lines, %nearer);

# Every name that has a sub.
sub tell {
	tell_package('main::', {});
	read_code(B::svref_2object($_), '__ANON__') for values %Burn::scenarios;
	read_code(B::main_cv(), 'main', B::main_root());
	for my $key (sort keys %lines) {
		Burn::say_line(join "\t", 'LINES', $key, sort { $a <=> $b } keys %{$lines{$key}});
	}
	Burn::say_line("NEARER\t$_") for sort keys %nearer;
	return;
}

sub tell_package {
	my ($package, $passed) = @_;
	no strict 'refs';

	return if $passed->{$package}++;
	for my $name (sort keys %$package) {
		if ($name =~ /::$/) {
			tell_package($package eq 'main::' ? $name : $package . $name, $passed) if $name ne 'main::';
		}
		elsif (defined &{"$package$name"}) {
			Burn::say_line("SUB\t$package$name\t" . (B::svref_2object(\&{"$package$name"})->XSUB ? 'C' : 'Perl'));
			read_code(B::svref_2object(\&{"$package$name"}), "$package$name");
		}
	}
	return;
}

# $name: for a sub whose own name is none.
sub read_code {
	my ($code, $name, $root) = @_;

	return if $seen{$$code}++;
	return if !$root && ($code->XSUB || ${$code->ROOT} == 0);
	read_statements($root || $code->ROOT, $root ? 'main' : name_of($code) || $name);
	my $pad = $code->PADLIST;
	return if !$pad->isa('B::PADLIST') || $pad->MAX < 1;
	for my $value ($pad->ARRAYelt(1)->ARRAY) {
		$value = $value->RV if $value->isa('B::IV') && $value->FLAGS & B::SVf_ROK();
		read_code($value, '__ANON__') if $value->isa('B::CV');
	}
	return;
}

sub name_of {
	my ($code) = @_;

	if ($code->can('NAME_HEK') && defined $code->NAME_HEK) {
		my $stash = $code->STASH;
		return ($stash->can('NAME') ? $stash->NAME . '::' : '') . $code->NAME_HEK;
	}
	my $glob = $code->GV;
	return '' if !$glob->can('NAME');
	return $glob->STASH->NAME . '::' . $glob->NAME;
}

# caller knows statements that are no operation of their own: "if (...) { call() }" has one, of the "if". What Perl
# itself goes by is the last one that was one: [operation, statement it is in] (pp_ctl.c, pp_caller: closest_cop).
sub read_statements {
	my ($top, $name) = @_;
	my @left = ([$top, undef]);

	while (my $next = shift @left) {
		my ($op, $statement) = @$next;
		next if !$$op;
		if ($op->can('pmreplroot') && ref $op->pmreplroot && $op->pmreplroot->isa('B::OP')) {
			push @left, [$op->pmreplroot, $statement];
		}
		if ($op->can('code_list') && ref $op->code_list) {
			push @left, [$op->code_list, $statement];
		}
		next if !($op->flags & B::OPf_KIDS());
		for (my $kid = $op->first; $$kid; $kid = $kid->sibling) {
			if ($kid->isa('B::COP') && $kid->name ne 'null') {
				$statement = $kid;
				$lines{"$name\t" . $kid->file}{$kid->line} = 1;
			}
			elsif ($kid->isa('B::COP') && $statement && $statement->line != $kid->line) {
				$nearer{join "\t", $name, $kid->file, $kid->line, $statement->line} = 1;
			}
			push @left, [$kid, $statement];
		}
	}
	return;
}

1;

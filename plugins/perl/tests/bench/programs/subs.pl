# SPDX-License-Identifier: Apache-2.0
# Prints the number of its release, where its subs are and where each begins, "ready", and waits. For
# bench_perl_names.
use strict;
use warnings;
use B;
use CPAN;
use File::Find;
use File::Temp;
use Getopt::Long;
use IO::Socket;
use Math::BigFloat;
use Pod::Man;
use Pod::Usage;
use POSIX;
use Storable;
use Test::More ();
use Text::Wrap;
use Time::Local;

my (%seen, @stashes);

push @stashes, 'main::';
print "release ", int(($] - 5) * 1000 + 0.5), "\n";
while (my $stash = shift @stashes) {
	no strict 'refs';
	for my $name (keys %$stash) {
		if ($name =~ /::$/) {
			push @stashes, "$stash$name" unless $seen{"$stash$name"}++ or $name eq 'main::';
			next;
		}
		my $code = *{"$stash$name"}{CODE} or next;
		my $cv = B::svref_2object($code);
		next if $seen{$$cv}++ or $cv->XSUB or !${$cv->START} or !$cv->START->isa('B::COP');
		print "sub $$cv ${$cv->START}\n";
	}
}
$| = 1;
print "ready\n";
sleep 300;

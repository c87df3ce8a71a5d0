# SPDX-License-Identifier: Apache-2.0
# The same for PSGI servers, without a framework.
use strict;
use warnings;

my %pages = (
	'' => sub { 'Hello' },
	list => sub {
		join "\n", map { sprintf '<li class="%d">row %s</li>', $_ ** 2, $_ } 1 .. $_[0];
	},
	json => sub {
		my %squares = map { $_ => $_ * $_ } 1 .. $_[0];

		'{' . join(',', map { qq("$_":$squares{$_}) } sort { $squares{$b} <=> $squares{$a} } keys %squares) . '}';
	},
);

sub {
	my ($request) = @_;
	my ($page, $number) = $request->{PATH_INFO} =~ m{^/(\w*)/?(\d*)};

	return [404, [], []] if !$pages{$page};
	return [200, ['Content-Type' => 'text/html'], [$pages{$page}->($number || 1)]];
};

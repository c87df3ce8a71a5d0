# SPDX-License-Identifier: Apache-2.0
"""What tests/runtimes/runtimes.py has to know of Perl."""

# perl5.36.0 is a link to perl; perl5.36-x86_64-linux-gnu is the one that is on libperl; debugperl counts what it
# runs, in a run loop of its own.
PATTERN = r"perl|debugperl|perl5\.\d+\.\d+|perl5\.\d+-\w+-linux-gnu"

# A root of another language may have perl-base alone, without this module: no Perl for the tests.
ASK = r"""
use Config;
use Time::HiRes;
open my $maps, '<', '/proc/self/maps' or die;
my $shared = grep { m{/libperl\.so} } <$maps>;
print join(' ', sprintf('%vd', $^V), $shared ? 'libperl' : 'static',
           $Config{useithreads} ? () : 'unthreaded',
           $Config{ccflags} =~ /-DDEBUGGING\b/ || $^X =~ /debugperl/ ? 'debug' : ()), "\n";
"""

PROBE = ["-e", ASK]

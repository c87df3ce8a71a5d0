# SPDX-License-Identifier: Apache-2.0
# Counts the time of its own lines: tests/kit/check_lines.py. Argument: seconds.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);

sub now { return clock_gettime(CLOCK_PROCESS_CPUTIME_ID) }

sub burn {
    my ($seconds) = @_;
    my ($end, $x, @spent, $at, $next) = (now() + $seconds, 0, 0, 0, 0);
    while (now() < $end) {
        $at = now();
        for my $i (1 .. 1_000_000) { $x += $i }                         # line 14 of its own
        $next = now(); $spent[0] += $next - $at; $at = $next;
        for my $i (1 .. 2_000_000) { $x += $i }                         # line 16 of its own
        $next = now(); $spent[1] += $next - $at; $at = $next;
        for my $i (1 .. 3_000_000) { $x ^= $i }                         # line 18 of its own
        $next = now(); $spent[2] += $next - $at;
    }
    return @spent[0 .. 2];
}

my @spent = burn($ARGV[0]);
printf "LINE %d %.4f\n", (14, 16, 18)[$_], $spent[$_] for 0 .. 2;

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Self and total shares of PHP's functions, by us and by Excimer, each in runs of its own of one program, in turns.

For information: Excimer (excimer_timer.c, excimer_os_timer) sets a flag when its time is over, and takes the stack where
the VM next looks at it: at a call, a return or a jump backwards. What C does is its caller's, and what a function did
before it was left is that of where it went to. So C is left out here, too, closures are all one, and a share is within
the margin when it is half a point from the other, or 3 standard deviations of both counts (shares.py).

EBPF_PROFILER_BENCH_RUNS: turns; EBPF_PROFILER_BENCH_SECONDS: of each, about.
"""
import collections
import glob
import os
import re
import shutil
import tempfile

import measure
import backtraces
import benches
import phps
import programs_php
import runs
import shares

RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "10"))
TURNS = str(round(170 * SECONDS))
TOP, POINTS = "Work::all", 0.5
EXCIMER = glob.glob(programs_php.ROOT + "/usr/lib/php/*/excimer.so")


def command(directory, *more):
    """In the root where Excimer is, in which `directory` is too."""
    words = ["-n", "-d", "extension=excimer", "-d", "memory_limit=-1", directory + "/shares.php", TURNS, *more]
    return programs_php.inside(directory, programs_php.PHP, *words)


def name_of(text):
    return "{closure}" if "{closure" in text else text


def below_top(names):
    """Root first, from Work::all on, which is left out where something is below it."""
    return [name_of(n) for n in names[names.index(TOP):]] if TOP in names else []


def by_us(directory):
    path = directory + "/ours.pb.gz"
    profile, done = phps.record(command(directory), path, 499, 300, programs_php.inside(
        directory, programs_php.PHP, "-n", "-r", "sleep(300);"))
    done.check_returncode()
    for sample in runs.process_of(runs.not_of_sleeper(profile.samples, done), runs.is_starter):
        frames = [f for f in sample.frames if backtraces.is_php(f) and f.line]      # C has no line
        yield below_top([f.name for f in frames[::-1]]), sample.count


def by_excimer(directory):
    path = directory + "/excimer.txt"
    phps.run(command(directory, path), 300)     # 1.0.4 may abort in its shutdown, when all is written
    for stack, many in re.findall(r"(.*) (\d+)\n", measure.read_text(path)):
        yield below_top(stack.split(";")), int(many)


def count(seen):
    """Samples by function: self, total, and of those that Work::all calls, wherever below them it was."""
    own, total, called = collections.Counter(), collections.Counter(), collections.Counter()
    for names, many in seen:
        if names:
            own[names[-1]] += many
            total.update(dict.fromkeys(names, many))
            called[names[:2][-1]] += many
    return own, total, called


def main(directory):
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "shares.php"), directory)
    seen = {by_us: [], by_excimer: []}
    for take in [by_us, by_excimer] * RUNS:
        seen[take] += take(directory)
    ours, theirs = map(count, seen.values())
    n, m = sum(ours[0].values()), sum(theirs[0].values())
    for what, here, there in zip(("self", "total", "called by Work::all"), ours, theirs):
        benches.shares_row(f"PHP beside Excimer, {what}", here, n, there, m,
                           lambda a, b: shares.over(a, n, b, m, POINTS))


if __name__ == "__main__":
    measure.begin()
    if not EXCIMER:
        measure.skip("no Excimer: tests/runtimes/install -l php " + programs_php.GROUP)
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o755)
        main(made)

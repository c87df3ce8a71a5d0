#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `diff` finds in real recordings: pairs of runs of one program that are equal, and pairs in which one
function, which has a fifth of the CPU time, was made a quarter dearer. Then `diff --total` of equal work of which a
function has 5 and then 8 % of 2 000 samples: in recordings, and in samples that are drawn independently of each other,
which is the worst that equal work can do: nothing of the machine is in these.

The machine should have nothing else to do: interrupts on behalf of other programs differ from run to run, and the
functions of the kernel that handle them are movers then. Those of the program itself are counted apart.
"""
import collections
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

import measure

sys.path.insert(0, os.path.join(measure.ROOT, "tests", "cli"))
import made  # noqa: E402

PAIRS = int(os.environ.get("EBPF_PROFILER_BENCH_PAIRS", "20"))
SAMPLES = 10000
FREQ = int(os.environ.get("EBPF_PROFILER_BENCH_FREQ", "1999"))


PROGRAM = {"main", "dearer", "first_half", "second_half", "cpu_seconds", "one", "two", "three", "four", "five", "six",
           "seven", "eight", "nine", "ten"}


def record(directory, name, percent):
    path = os.path.join(directory, name + ".otlp.gz")
    measure.record(["-F", str(FREQ), "-o", path], [measure.program("dearer"), str(SAMPLES / FREQ), str(percent)])
    return path


def compare(before, after, *options):
    result = subprocess.run([measure.BINARY, "diff", "--json", *options, before, after], capture_output=True, text=True,
                            check=True)
    return json.loads(result.stdout)


def movers(before, after, *options):
    return compare(before, after, *options)["movers"]


def shares():
    moved, found, inside, samples = [], 0, 0, []
    with tempfile.TemporaryDirectory() as directory:
        for pair in range(PAIRS):
            before, same = record(directory, "before", 0), record(directory, "same", 0)
            equal = compare(before, same)
            samples += [equal["a"]["samples"], equal["b"]["samples"]]
            moved += equal["movers"]
            for mover in equal["movers"]:
                measure.note(f"pair {pair}: {mover['function']}: {mover['self']} {mover['total']}")
            after = record(directory, "after", 25)
            dearer = [mover["self"] for mover in movers(before, after)
                      if mover["function"] == "dearer" and mover["self"]["low"] > 0]
            found += len(dearer)
            inside += sum(change["low"] <= 0.25 / 1.05 - 0.2 <= change["high"] for change in dearer)
            for path in (before, same, after):
                os.unlink(path)
    measure.row("samples of a run, the fewest", min(samples), "")
    measure.row(f"`diff`, {PAIRS} pairs of equal runs: movers", len(moved), "", "<= 1", 1)
    measure.row("of these in the program itself", sum(mover["function"] in PROGRAM for mover in moved), "")
    measure.row(f"`diff`, {PAIRS} pairs with a function of 20 % that is 25 % dearer: found", found, "",
                f">= {PAIRS - 1}", PAIRS - 1, at_least=True)
    measure.row("the true difference is inside its interval", inside, "pairs")


# --- equal work ---------------------------------------------------------------------------------

TRIALS = int(os.environ.get("EBPF_PROFILER_BENCH_TRIALS", "200"))
RECORDED = int(os.environ.get("EBPF_PROFILER_BENCH_RECORDED", "40"))
EQUAL_SAMPLES, LEAVES = 2000, 12
CALLS = {"calls of microseconds": 20_000, "calls of milliseconds": 8_000_000}


def draw(rng, path, shares_of, n):
    profile = made.Pprof()
    root = profile.location("main", "main.c", 1)
    for name, count in collections.Counter(rng.choices(list(shares_of), list(shares_of.values()), k=n)).items():
        profile.sample([profile.location(name, "a.c", 1), root], count)
    return profile.write(path)


def judge(pairs, name):
    """pairs: (before, same, after); how often `name` is found in after, how often anything is in same."""
    found = alarms = n = 0
    for before, same, after in pairs:
        n += 1
        found += any(mover["function"] == name and mover["self"]["low"] > 0 for mover in movers(before, after, "--total"))
        alarms += bool(movers(before, same, "--total"))
    return n, found, alarms


def drawn(directory):
    rng = random.Random(1)
    base = {"dearer": 0.05, **{f"f{i}": 0.95 / LEAVES for i in range(LEAVES)}}
    more = int(EQUAL_SAMPLES * 1.03)
    paths = [os.path.join(directory, name + ".pb.gz") for name in ("before", "same", "after")]
    for _ in range(TRIALS):
        yield (draw(rng, paths[0], base, EQUAL_SAMPLES), draw(rng, paths[1], base, EQUAL_SAMPLES),
               draw(rng, paths[2], {**base, "dearer": 0.08}, more))


def steps_per_second():
    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([measure.program("dearer"), "--work", "100", "5000000", "50"], check=True)
    return 500_000_000 / (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin)


def recorded(directory, steps, speed):
    """Each side runs in turn, so that what the machine does in a minute is in all of them."""
    rounds = max(1, round(speed * EQUAL_SAMPLES / FREQ / steps))
    for _ in range(RECORDED):
        paths = []
        for name, thousandths in (("before", 50), ("same", 50), ("after", 80)):
            path = os.path.join(directory, name + ".otlp.gz")
            measure.record(["-F", str(FREQ), "-o", path],
                           [measure.program("dearer"), "--work", str(rounds), str(steps), str(thousandths)])
            paths.append(path)
        yield paths
        for path in paths:
            os.unlink(path)


def equal_work(kind, pairs):
    n, found, alarms = judge(pairs, "dearer")
    measure.row(f"`diff --total`, equal work, {kind}: a function that goes from 5 to 8 % of {EQUAL_SAMPLES} samples is "
                f"found, of {n} trials", 100 * found / n, "%", ">= 95", 95, at_least=True)
    measure.row(f"pairs of equal runs in which anything is found, of {n}", 100 * alarms / n, "%", "<= 5", 5)


def main():
    measure.begin()
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)      # root gives itself up
        equal_work("samples drawn independently", drawn(directory))
        speed = steps_per_second()
        for kind, steps in CALLS.items():
            equal_work("recorded, " + kind, recorded(directory, steps, speed))
    if PAIRS:
        shares()


if __name__ == "__main__":
    main()

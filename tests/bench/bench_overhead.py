#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much the agent slows a CPU-bound program down. What it takes itself is bench_idle's.

Blocks of units of fixed work, on one CPU, with and without the agent in turn. A unit's time leaves out what it
waited for the CPU while others had it; a block's time is the lower quartile of its units, each long enough to have
its share of the samples. Two neighbouring blocks give a ratio; the value is the median of them, its interval a
bootstrap. A bar inside the interval is neither met nor missed: the noise is the answer. Beside it, by another
method: the share of time that interrupts take from a program that does nothing but look at the clock.
"""
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

import measure

PAIRS = int(os.environ.get("EBPF_PROFILER_BENCH_PAIRS", "7"))
BLOCK = 2.5  # seconds
SETTLE = 1.0  # the agent's start does not count
PERF = shutil.which("perf")


class Units:
    """Runs fixedwork on the last CPU and keeps (begin, end, ns it took) of every unit."""

    def __init__(self, procs):
        self.units = []
        proc = procs.start([measure.program("fixedwork")], {measure.cpu_list()[-1]},
                           stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read, args=(proc.stdout,), daemon=True)
        self.thread.start()

    def read(self, stream):
        for line in stream:
            self.units.append(tuple(map(int, line.split())))

    def block(self):
        """Lower quartile, ns, of the units that lie within the next seconds."""
        start = time.monotonic_ns()
        time.sleep(BLOCK)
        end = time.monotonic_ns()
        took = [took for begin, until, took in list(self.units) if begin >= start and until <= end]
        if len(took) < 10:
            raise SystemExit(f"fixedwork did only {len(took)} units in {BLOCK} s")
        return statistics.quantiles(took, n=4)[0]


def gap_share(seconds):
    """Percent of time that interrupts take from a program."""
    with measure.Procs() as procs:
        proc = procs.start([measure.program("gaps"), str(seconds)], {measure.cpu_list()[-1]},
                           stdout=subprocess.PIPE, text=True)
        gap_ns, time_ns, _ = map(int, proc.communicate()[0].split())
    return 100 * gap_ns / time_ns


def with_agent(freq, work):
    with measure.Procs() as procs, measure.Agent(procs, freq) as agent:
        agent.wait_sampling()
        time.sleep(SETTLE)
        found = work()
        agent.proc.kill()
        return found


def with_perf(freq, work):
    """What the sampling interrupt costs by itself: perf, no stacks, as little as it can do."""
    with measure.Procs() as procs, tempfile.TemporaryDirectory() as directory:
        perf = procs.start([PERF, "record", "-q", "-e", "cpu-clock", "-F", str(freq), "-a",
                            "-o", directory + "/perf.data", "--", "sleep", "60"])
        time.sleep(SETTLE)
        found = work()
        perf.kill()
        return found


def compare(freq, work, ratio, pairs=PAIRS, load=with_agent):
    """One value for each pair of blocks; which comes first alternates."""
    values = []
    for pair in range(pairs):
        if pair % 2:
            loaded, free = load(freq, work), work()
        else:
            free, loaded = work(), load(freq, work)
        values.append(ratio(loaded, free))
    return values


def verdict(value, low, high, bar):
    if high <= bar:
        return "met"
    if low > bar:
        return "missed"
    return f"the noise is larger: {value:.3g} within {low:.3g} to {high:.3g}"


def report(name, values, bar):
    low, high = measure.interval(values)
    value = statistics.median(values)
    print(f"{name}\t{value:.3g}\t%\t<= {bar}\t{verdict(value, low, high, bar)}", flush=True)
    print(f"its 95 % interval\t{low:.3g} to {high:.3g}\t%\t\tfor information", flush=True)
    measure.note(f"{name}: " + " ".join(f"{each:+.3f}" for each in sorted(values)))


def slowdown(freq, bar):
    with measure.Procs() as procs:
        units = Units(procs)
        time.sleep(1)
        report(f"slowdown of a CPU-bound program at {freq} Hz",
               compare(freq, units.block, lambda loaded, free: 100 * (loaded / free - 1)), bar)
        if freq == 999 and PERF:
            values = compare(freq, units.block, lambda loaded, free: 100 * (loaded / free - 1),
                             load=with_perf)
            low, high = measure.interval(values)
            measure.row("for comparison: the same under perf record -F 999 -a without stacks",
                        statistics.median(values), "%")
            print(f"its 95 % interval\t{low:.3g} to {high:.3g}\t%\t\tfor information", flush=True)
    report(f"time that more interrupts take at {freq} Hz",
           compare(freq, lambda: gap_share(2), lambda loaded, free: loaded - free, 4), bar)


def main():
    measure.begin()
    for freq, bar in ((20, 0.1), (999, 2)):
        slowdown(freq, bar)


if __name__ == "__main__":
    main()

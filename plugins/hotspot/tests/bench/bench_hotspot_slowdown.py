#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much slower a JVM is at 99 Hz.

One JVM does units of the same work all the time, on one CPU; blocks of them with and without the agent take
turns, as in bench_overhead.py, whose ways of counting these are. Between agents the JVM is the same, since
two lives of one compile differently by more than is measured here. The noise is what the same gives where both
blocks of a pair are without the agent: the median of how far such a pair is off. Pairs of both sorts take
turns too.
"""
import os
import statistics
import subprocess
import threading
import time

import measure
import bench_overhead
import javas
import benches

HERE = os.path.dirname(os.path.realpath(__file__))

FREQUENCY = 99
PAIRS = int(os.environ.get("EBPF_PROFILER_BENCH_PAIRS", "11"))
RELEASES = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_JAVA", "8 17 25").split()]
WARM_UP = 6  # seconds until the compilers are done
BELOW = "below the noise"


class Units(bench_overhead.Units):
    """The JVM's units instead of fixedwork's."""

    def __init__(self, procs, command):
        self.units = []
        proc = procs.start(command, {measure.cpu_list()[-1]}, stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read, args=(proc.stdout,), daemon=True)
        self.thread.start()


def with_agent(units):
    """A block, sampled and walked."""
    with measure.Procs() as procs, measure.Agent(procs, FREQUENCY, verbose=1) as agent:
        agent.wait_sampling()
        agent.wait_for("hotspot: longer unwinder loaded", 60)
        time.sleep(bench_overhead.SETTLE)
        before = agent.counters()
        found = units.block()
        after = agent.counters()
        walked = after["user frames walked"] - before["user frames walked"]
        return found, walked / max(1, after["samples taken"] - before["samples taken"])


def percent(loaded, free):
    return 100 * (loaded / free - 1)


def pairs(units):
    """([percent with the agent], [percent without], frames of a sample)"""
    slower, noise, frames = [], [], 0
    for number in range(PAIRS):
        blocks = [units.block()]
        if number % 2:
            blocks.append(units.block())
            loaded, frames = with_agent(units)
        else:
            loaded, frames = with_agent(units)
            blocks.append(units.block())
        slower.append(percent(loaded, blocks[number % 2]))
        noise.append(percent(units.block(), units.block()))
    return slower, noise, frames


def report(name, values):
    low, high = measure.interval(values)
    print(f"{name}\t{low:.3g} to {high:.3g}\t%\t\tfor information", flush=True)
    measure.note(f"{name}: " + " ".join(f"{value:+.2f}" for value in sorted(values)))


def measure_runtime(runtime, directory):
    flags = ["-Xmx256m", "-XX:+UseSerialGC", "-cp", directory, "Units"]
    with measure.Procs() as procs:
        units = Units(procs, runtime.argv(flags, directory))
        time.sleep(WARM_UP)
        slower, noise, frames = pairs(units)
    what = f"JDK {javas.major(runtime)}"
    limit = statistics.median(abs(value) for value in noise)
    measure.row(f"slowdown at {FREQUENCY} Hz, {what}, median of {PAIRS} pairs",
                statistics.median(slower), "%", BELOW, limit)
    report("its 95 % interval", slower)
    measure.row("the noise: how far two blocks without the agent differ, median", limit, "%")
    report("their median's 95 % interval", noise)
    measure.row("user frames of a sample", frames, "frames")


if __name__ == "__main__":
    benches.each("JVM", lambda: sorted(javas.find(), key=lambda r: not r.root), javas.major, RELEASES, measure_runtime,
                 lambda directory: javas.compile_java([os.path.join(HERE, "programs", "Units.java")], directory))

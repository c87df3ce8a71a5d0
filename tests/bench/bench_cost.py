#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time of a sample, as a multiple of the least a profiler could do (floor.bpf.c).

Absolute times differ by four between virtual machines, and by more between warm and cold caches. So
ours and the floor take turns on the same CPUs, under the same load, never both at once; a pair gives a
ratio, the value is the median of them. All CPUs are kept busy by the measured program, at the highest
priority, so that next to no sample is of anything else: the kernel's time of all runs is that of the
samples. Warm is 997 Hz and a program that uses nothing but its stack; cold is 20 Hz and a program that
goes over 8 MiB all the time, four times the second-level cache. The floor takes the kernel stack where
there is one, as we do; the bars hold for programs that are in user space and for such in a system call.
"""
import os
import statistics
import subprocess
import time

import measure

PAIRS = int(os.environ.get("EBPF_PROFILER_BENCH_PAIRS", "9"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "0"))  # 0: by frequency
ONLY = os.environ.get("EBPF_PROFILER_BENCH_ONLY", "")  # part of a case's name
EVICT = str(8 << 20)
SETTLE = 1.0
WINDOWS = 15
# name, what coststack is told, bar
PROGRAMS = (
    ("7 frames", ["same", "7"], 1.3),
    ("46 frames of one function", ["same", "46"], None),
    ("46 different frames", ["many"], 1.9),
    ("7 frames and the kernel's", ["kernel", "same", "7"], 1.3),
    ("46 different frames and the kernel's", ["kernel", "many"], 1.9),
)
# name, Hz, bytes the program goes over, seconds of one measurement
CACHES = (("warm, 997 Hz", 997, "0", 1.5), ("cold, 20 Hz", 20, EVICT, 6))


def prefer(proc):
    """At the highest priority: others on the machine have next to no part in what is measured."""
    os.setpriority(os.PRIO_PROCESS, proc.pid, -20)


class Floor:
    """The floor, running."""

    def __init__(self, procs, freq):
        path = measure.program("floor")
        self.command = [path, path + ".bpf.o", str(freq)]
        self.procs = procs

    def __enter__(self):
        self.proc = self.procs.start(self.command, stdout=subprocess.PIPE, stderr=None)
        prefer(self.proc)
        if self.proc.stdout.readline() != b"sampling\n":
            raise SystemExit(f"the floor program failed with {self.proc.wait()}")
        return self

    def __exit__(self, *_):
        self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()


class Ours(measure.Agent):
    def __enter__(self):
        super().__enter__()
        prefer(self.proc)
        self.wait_sampling()
        return self


def run_ns(profiler, seconds):
    """ns of one run of its sampling program: the median of windows, since a host has other guests."""
    time.sleep(SETTLE)
    windows, last = [], measure.bpf_cost(profiler.proc.pid)
    for _ in range(WINDOWS):
        time.sleep(seconds / WINDOWS)
        now = measure.bpf_cost(profiler.proc.pid)
        if now[1] > last[1]:
            windows.append(1e9 * (now[0] - last[0]) / (now[1] - last[1]))
        last = now
    if len(windows) < WINDOWS:
        raise SystemExit(f"it ran in {len(windows)} of {WINDOWS} windows only")
    return statistics.median(windows)


def start_busy(procs, arguments, evict):
    """The measured program on each CPU. Its stack has 4 KiB and more above it for the floor to copy."""
    environment = dict(os.environ, PADDING="x" * 16384)
    for cpu in measure.cpu_list():
        proc = procs.start([measure.program("coststack"), *arguments, evict], {cpu}, env=environment)
        prefer(proc)


def pair(freq, seconds, arguments, evict, floor_first):
    """(ours, floor) in ns."""
    found = {}
    kinds = [lambda procs: Floor(procs, freq), lambda procs: Ours(procs, freq, interval="60s")]
    for kind in kinds if floor_first else reversed(kinds):
        with measure.Procs() as procs:
            with kind(procs) as profiler:
                start_busy(procs, arguments, evict)
                found[type(profiler)] = run_ns(profiler, seconds)
    return found[Ours], found[Floor]


def bench(name, arguments, bar, cache):
    state, freq, evict, seconds = cache
    pairs = []
    for number in range(PAIRS):
        ours, floor = pair(freq, SECONDS or seconds, arguments, evict, number % 2 == 0)
        measure.note(f"{name}, {state}: {ours:.0f} / {floor:.0f} ns = {ours / floor:.3f}")
        pairs.append((ours, floor))
    ratios = [ours / floor for ours, floor in pairs]
    low, high = measure.interval(ratios)
    measure.row(f"{name}, {state}: of the floor, median of {PAIRS} pairs", statistics.median(ratios),
                "x", f"<= {bar}" if bar else "", bar)
    print(f"its 95 % interval\t{low:.3g} to {high:.3g}\tx\t\tfor information", flush=True)
    measure.row("ours", statistics.median(ours for ours, _ in pairs), "ns")
    measure.row("the floor", statistics.median(floor for _, floor in pairs), "ns")


def main():
    measure.begin()
    with measure.bpf_stats():
        for cache in CACHES:
            for name, arguments, bar in PROGRAMS:
                if ONLY in f"{name}, {cache[0]}":
                    bench(name, arguments, bar, cache)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per Python frame: stacks of known depth, in each CPython that is found.

As in bench_bpf.py a frame's price is the slope between two depths. From 3.11 on a call from Python to
Python makes no native frame, so the slope is Python's alone. Before, each call has its native frames,
which are walked too: there the price is that of all frames of a call, divided by their number.
"""
import glob
import os
import statistics
import subprocess
import sys
import tempfile

import measure

SECONDS = "1.2"
RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "5"))
LOW, HIGH = 20, 220
NOTHING = ("samples of the idle task, not recorded", "samples outside the process filter")

PROGRAM = """
import sys
def spin():
    while True:
        pass
def call(depth):
    if depth == 0:
        spin()
    call(depth - 1)
call(int(sys.argv[1]))
"""


def interpreters():
    """[(version, path)], each version once."""
    found = {}
    places = [os.path.expanduser("~/.pyenv/versions/*/bin/python3"), "/usr/bin/python3.[0-9]*"]
    for path in sorted(path for place in places for path in glob.glob(place)):
        run = subprocess.run([path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
                             capture_output=True, text=True, check=False)
        if run.returncode == 0:
            found.setdefault(run.stdout.strip(), path)
    return sorted(found.items(), key=lambda item: [int(part) for part in item[0].split(".")])


def sample_cost(directory, path, depth):
    """(ns of a sample, frames of it). Runs that record nothing are few: the process never sleeps."""
    with measure.Procs() as procs:
        busy = procs.start([path, "-c", PROGRAM, str(depth)])
        counters = measure.record(["-F", "999", "-d", SECONDS, "-p", str(busy.pid), "--force", "-o",
                                   directory + "/x.pb.gz"])
    samples = counters["samples taken"]
    runs = samples + sum(counters[name] for name in NOTHING)
    ns = counters["BPF ns per event, idle ones included"] * runs - 150 * (runs - samples)
    return ns / samples, counters["user frames walked"] / samples


def measure_version(directory, version, path):
    slopes, frames_of_call = [], 1
    for _ in range(RUNS):
        low_ns, low = sample_cost(directory, path, LOW)
        high_ns, high = sample_cost(directory, path, HIGH)
        measure.note(f"{version}: {low:.1f} frames {low_ns:.0f} ns, {high:.1f} frames {high_ns:.0f} ns")
        if high - low < HIGH - LOW - 2:
            sys.exit(f"Python {version}: only {high:.1f} frames were walked")
        slopes.append((high_ns - low_ns) / (high - low))
        frames_of_call = (high - low) / (HIGH - LOW)
    what = "Python frame" if frames_of_call < 1.05 else f"frame, {frames_of_call:.1f} of a call"
    measure.row(f"BPF time per {what}, Python {version}, median of {RUNS} runs",
                statistics.median(slopes), "ns", "<= 200", 200)


def main():
    measure.begin()
    found = interpreters()
    if not found:
        measure.skip("no CPython was found")
    with tempfile.TemporaryDirectory() as directory:
        for version, path in found:
            measure_version(directory, version, path)


if __name__ == "__main__":
    main()

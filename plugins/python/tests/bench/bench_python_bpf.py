#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of Python: stacks of known depth, in a CPython of each minor release.

How is in tests/kit/slopes.py: cost by frames that were walked. From 3.11 on a call from Python to Python makes no
native frame, so the slope is Python's alone. Before, each call has its native frames, which are walked too: there the
price is that of all frames of a call, divided by their number.
EBPF_PROFILER_BENCH_PYTHON: minor releases; EBPF_PROFILER_BENCH_RUNS: turns.
"""
import os

import pythons
import language
import slopes

MINORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_PYTHON", "6 7 8 9 10 11 12 13 14 15").split()]
DEPTHS = 20, 220
FRAMES_PER_RUN = 40
BAR = 200       # ns
PROGRAM = """
import sys
def spin():
    print("ready", flush=True)
    while True:
        pass
def call(depth):
    if depth == 0:
        spin()
    call(depth - 1)
call(int(sys.argv[1]))
"""


def kinds(runtime, _directory):
    yield (f"Python {runtime.version}", BAR, lambda depth: runtime.argv(["-c", PROGRAM, str(depth)]),
           slopes.says(b"ready\n"))


if __name__ == "__main__":
    found = [r for r in pythons.LANGUAGE.find() if not {"freethreaded", "debug"} & set(r.flavors)]
    slopes.bench("python", list(language.first_of_each(found, lambda r: r.numbers[1], MINORS).values()), DEPTHS, kinds,
                 FRAMES_PER_RUN)

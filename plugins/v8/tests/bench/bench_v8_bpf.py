#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of JavaScript: stacks of known depth, interpreted, compiled, and with a builtin between.

How is in tests/kit/slopes.py: cost by frames that were walked.
EBPF_PROFILER_BENCH_NODE: majors; EBPF_PROFILER_BENCH_RUNS: turns.
"""
import os
import shutil

import nodes
import language
import slopes

HERE = os.path.dirname(os.path.realpath(__file__))

MAJORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_NODE", "8 12 18 22 26").split()]
DEPTHS = 50, 400
FRAMES_PER_RUN = 40
BAR = 120       # ns
MODES = (       # what, options, kind
    ("interpreted, 16 functions in turn", ["--no-opt", "--no-sparkplug"], "many"),
    ("compiled, 16 functions in turn", ["--no-turbo-inlining"], "many"),
    ("compiled, one function", ["--no-turbo-inlining"], "one"),
    ("compiled, a builtin between", ["--no-turbo-inlining"], "builtin"),
)
SPARKPLUG = 16  # of this major number on there is such a flag
MAGLEV = 22


def flags_of(runtime, flags):
    major = nodes.major(runtime)
    known = [flag for flag in flags if flag != "--no-sparkplug" or major >= SPARKPLUG]
    return known + (["--no-maglev"] if major >= MAGLEV else [])


def kinds(runtime, directory):
    script = os.path.join(directory, "depth.js")
    for name, flags, kind in MODES:
        words = ["--stack-size=4000", *flags_of(runtime, flags), script, kind]
        yield (f"Node {nodes.major(runtime)}, {name}", BAR,
               lambda depth, words=words: runtime.argv([*words, str(depth)], directory), slopes.says(b"ready\n"))


if __name__ == "__main__":
    slopes.bench("v8", list(language.first_of_each(nodes.find(), nodes.major, MAJORS).values()), DEPTHS, kinds,
                 FRAMES_PER_RUN, prepare=lambda directory: shutil.copy(os.path.join(HERE, "programs", "depth.js"), directory))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The short benches of V8: see tests/kit/benches.py.

EBPF_PROFILER_BENCH_NODE: majors of `attach` and `bpf`. EBPF_PROFILER_BENCH_TSC: where tsc.js is (npm install typescript);
without it a row of `agent` is a skip.
"""
import os

import arrivals
import benches
import beside
import commands
import language
import measure
import names
import nodes
import slopes

PROGRAMS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs")
MAJORS = os.environ.get("EBPF_PROFILER_BENCH_NODE")
TSC = os.environ.get("EBPF_PROFILER_BENCH_TSC")
SOURCE = os.path.join(PROGRAMS, "load.js")
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


def majors(usual):
    return [int(n) for n in (MAJORS or usual).split()]


def bench_agent():
    """Beside TypeScript's compiler, too, again and again, at 99 Hz."""
    beside.rows("a busy Node", ["node", os.path.join(PROGRAMS, "shares.js"), "1000"], 20, 1.5)
    if TSC:
        source = os.path.join(os.path.dirname(TSC), "typescript.d.ts")
        beside.rows("tsc in a loop", ["node", TSC, "--noEmit", "--lib", "esnext,dom", source], 99, 6, 80, loop=True,
                    statuses=(0, 1, 2))
    else:
        measure.skip_row("agent beside tsc in a loop, 99 Hz", "EBPF_PROFILER_BENCH_TSC names no tsc.js")


def bench_attach():
    benches.each("Node", lambda: [r for r in nodes.find() if not r.root], nodes.major, majors("18 26"), lambda runtime, _:
                 arrivals.bench("v8", f"Node {nodes.major(runtime)}", runtime.argv([SOURCE, "500"])))


def rows(runtime, directory):
    major = nodes.major(runtime)
    for what, flags, kind in MODES:
        known = [flag for flag in flags if flag != "--no-sparkplug" or major >= SPARKPLUG]
        known += ["--no-maglev"] if major >= MAGLEV else []
        yield f"Node {major}, {what}", BAR, ["--stack-size=4000", *known, f"{directory}/depth.js", kind]


def bench_bpf():
    found = language.first_of_each(nodes.find(), nodes.major, majors("8 12 18 22 26")).values()
    slopes.bench("v8", list(found), DEPTHS, rows, FRAMES_PER_RUN, program=os.path.join(PROGRAMS, "depth.js"))


def bench_commands():
    commands.each_release("Node", nodes.find(), ["-e", "1"], 99, [18, 20, 22, 26])
    commands.alone("node -e 1", ["node", "-e", "1"], 99)


def bench_names():
    names.bench("v8", "function", 100, 1, 1000)


if __name__ == "__main__":
    benches.main(globals())

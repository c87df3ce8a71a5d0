#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of JavaScript: stacks of known depth, interpreted, compiled, and with a builtin between.

How is in tests/bench/slopes.py: cost by frames that were walked.
EBPF_PROFILER_BENCH_NODE: majors; EBPF_PROFILER_BENCH_RUNS: turns.
"""
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(HERE, "..", "..", "..", "..", "tests", "bench")]
import measure  # noqa: E402
import nodes  # noqa: E402
import slopes  # noqa: E402

MAJORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_NODE", "8 12 18 22 26").split()]
DEPTHS = 50, 400
FRAMES_PER_RUN = 40
LOADED = r"v8: unwinder loaded in (\d+) ms, (\d+) frames per run"
BAR = 120       # ns
MODES = (       # what, options, kind
    ("interpreted, 16 functions in turn", ["--no-opt", "--no-sparkplug"], "many"),
    ("compiled, 16 functions in turn", ["--no-turbo-inlining"], "many"),
    ("compiled, one function", ["--no-turbo-inlining"], "one"),
    ("compiled, a builtin between", ["--no-turbo-inlining"], "builtin"),
)
SPARKPLUG = 16  # of this major number on there is such a flag
MAGLEV = 22


def chosen():
    found = {}
    for runtime in nodes.find():
        found.setdefault(nodes.major(runtime), runtime)
    return [found[major] for major in MAJORS if major in found]


def flags_of(runtime, flags):
    major = nodes.major(runtime)
    known = [flag for flag in flags if flag != "--no-sparkplug" or major >= SPARKPLUG]
    return known + (["--no-maglev"] if major >= MAGLEV else [])


def measure_mode(agent, native, runtime, directory, mode):
    name, flags, kind = mode
    what = f"Node {nodes.major(runtime)}, {name}"
    script = os.path.join(directory, "depth.js")
    options = ["--stack-size=4000", *flags_of(runtime, flags), script, kind]
    with measure.Procs() as procs:
        pair = slopes.Pair(agent, procs, DEPTHS, lambda depth: runtime.argv([*options, str(depth)], directory), what,
                           slopes.says(b"ready\n"))
        slopes.measure_pair(pair, native, BAR)


def main():
    measure.begin()
    found = chosen()
    if not found:
        measure.skip("no Node was found")
    with tempfile.TemporaryDirectory() as directory, measure.Procs() as procs, slopes.sampling_agent(procs) as agent:
        os.chmod(directory, 0o755)
        script = shutil.copy(os.path.join(HERE, "programs", "depth.js"), directory)
        native = slopes.native_pair(agent, procs, DEPTHS)
        slopes.measure_load(agent, found[0].argv([script, "one", "10"], directory), LOADED, "frames", FRAMES_PER_RUN)
        for runtime in found:
            for mode in MODES:
                measure_mode(agent, native, runtime, directory, mode)


if __name__ == "__main__":
    main()

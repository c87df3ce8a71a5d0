#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of Perl: stacks of known depth, of subs, of closures, and of subs in loops and blocks.

How is in tests/bench/slopes.py: cost by frames that were walked. A call from Perl to Perl makes no native frame, so the
slope is Perl's alone.
EBPF_PROFILER_BENCH_PERL: minor releases; EBPF_PROFILER_BENCH_RUNS: turns.
"""
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(HERE, "..", "..", "..", "..", "tests", "bench")]
import measure  # noqa: E402
import perls  # noqa: E402
import slopes  # noqa: E402

MINORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_PERL", "32 36 44").split()]
DEPTHS = 50, 450
CONTEXTS_PER_RUN = 144
LOADED = r"perl: unwinder loaded in (\d+) ms, (\d+) frames per run"
BAR = 100       # ns
KINDS = {
    "one": "one sub", "many": "16 subs in turn", "closures": "closures", "loops": "a sub in a loop in a block",
}


def chosen():
    """Of each release one: static, where there is one."""
    found = {}
    for runtime in sorted(perls.one_of_each(perls.find()), key=lambda r: "static" not in r.flavors):
        found.setdefault(perls.minor(runtime), runtime)
    return [found[minor] for minor in MINORS if minor in found]


def measure_kind(agent, native, runtime, directory, kind):
    what = f"Perl 5.{perls.minor(runtime)}, {KINDS[kind]}"
    script = os.path.join(directory, "depth.pl")
    with measure.Procs() as procs:
        pair = slopes.Pair(agent, procs, DEPTHS, lambda depth: runtime.argv([script, kind, str(depth)], directory), what,
                           slopes.says(b"ready\n"))
        slopes.measure_pair(pair, native, BAR)


def main():
    measure.begin()
    found = chosen()
    if not found:
        measure.skip("no Perl was found")
    with tempfile.TemporaryDirectory() as directory, measure.Procs() as procs, slopes.sampling_agent(procs) as agent:
        os.chmod(directory, 0o755)
        script = shutil.copy(os.path.join(HERE, "programs", "depth.pl"), directory)
        native = slopes.native_pair(agent, procs, DEPTHS)
        slopes.measure_load(agent, found[0].argv([script, "one", "10"], directory), LOADED, "contexts", CONTEXTS_PER_RUN)
        for runtime in found:
            for kind in KINDS:
                measure_kind(agent, native, runtime, directory, kind)


if __name__ == "__main__":
    main()

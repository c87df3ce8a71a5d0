#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of Perl: stacks of known depth, of subs, of closures, and of subs in loops and blocks.

How is in tests/kit/slopes.py: cost by frames that were walked. A call from Perl to Perl makes no native frame, so the
slope is Perl's alone.
EBPF_PROFILER_BENCH_PERL: minor releases; EBPF_PROFILER_BENCH_RUNS: turns.
"""
import os
import shutil

import perls
import language
import slopes

HERE = os.path.dirname(os.path.realpath(__file__))

MINORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_PERL", "32 36 44").split()]
DEPTHS = 50, 450
CONTEXTS_PER_RUN = 144
BAR = 100       # ns
KINDS = {
    "one": "one sub", "many": "16 subs in turn", "closures": "closures", "loops": "a sub in a loop in a block",
}


def chosen():
    """Of each release one: static, where there is one."""
    found = sorted(perls.one_of_each(perls.find()), key=lambda r: "static" not in r.flavors)
    return list(language.first_of_each(found, perls.minor, MINORS).values())


def kinds(runtime, directory):
    script = os.path.join(directory, "depth.pl")
    for kind, what in KINDS.items():
        yield (f"Perl 5.{perls.minor(runtime)}, {what}", BAR,
               lambda depth, kind=kind: runtime.argv([script, kind, str(depth)], directory), slopes.says(b"ready\n"))


if __name__ == "__main__":
    slopes.bench("perl", chosen(), DEPTHS, kinds, CONTEXTS_PER_RUN, "contexts",
                 lambda directory: shutil.copy(os.path.join(HERE, "programs", "depth.pl"), directory))

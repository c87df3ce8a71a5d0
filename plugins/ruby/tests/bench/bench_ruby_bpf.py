#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of Ruby: stacks of known depth, of methods and of blocks.

How is in tests/kit/slopes.py: cost by frames that were walked. A call from Ruby to Ruby makes no native frame, so the
slope is Ruby's alone. Depths are below what two runs of the unwinder walk.
EBPF_PROFILER_BENCH_RUBY: releases; EBPF_PROFILER_BENCH_RUNS: turns.
"""
import os
import shutil

import rubies
import language
import slopes

HERE = os.path.dirname(os.path.realpath(__file__))

RELEASES = [tuple(map(int, text.split(".")))
            for text in os.environ.get("EBPF_PROFILER_BENCH_RUBY", "2.7 3.1 3.4").split()]
DEPTHS = 50, 450
FRAMES_PER_RUN = 168
KINDS = {
    "one": ("one method", 50), "many": ("16 methods in turn", 70),
    # Of nine frames a level of blocks (bar: 35) is climbed ten times.
    "blocks": ("a method with four blocks, one in the other", 50 + 35 * 10 // 9),
}


def chosen():
    found = [r for r in rubies.one_of_each(rubies.find()) if "yjit" not in r.flavors]
    return list(language.first_of_each(found, lambda r: r.numbers[:2], RELEASES).values())


def kinds(runtime, directory):
    script = os.path.join(directory, "depth.rb")
    for kind, (what, bar) in KINDS.items():
        yield (f"Ruby {runtime.version}, {what}", bar,
               lambda depth, kind=kind: runtime.argv([rubies.PLAIN, script, kind, str(depth)], directory),
               slopes.says(b"ready\n"))


if __name__ == "__main__":
    slopes.bench("ruby", chosen(), DEPTHS, kinds, FRAMES_PER_RUN, "frames",
                 lambda directory: shutil.copy(os.path.join(HERE, "programs", "depth.rb"), directory))

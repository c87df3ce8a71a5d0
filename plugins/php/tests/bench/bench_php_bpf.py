#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of PHP: stacks of known depth, of functions and of closures.

How is in tests/kit/slopes.py: cost by frames that were walked. A call from PHP to PHP makes no native frame, so the
slope is PHP's alone. Depths are below what two runs of the unwinder walk.
EBPF_PROFILER_BENCH_PHP: releases; EBPF_PROFILER_BENCH_RUNS: turns.
"""
import os
import shutil

import phps
import language
import slopes

HERE = os.path.dirname(os.path.realpath(__file__))

RELEASES = [tuple(map(int, text.split("."))) for text in os.environ.get("EBPF_PROFILER_BENCH_PHP", "7.4 8.2 8.4 8.6").split()]
DEPTHS = 50, 450
FRAMES_PER_RUN = 64
KINDS = {"one": ("one function", 45), "many": ("16 functions in turn", 60), "closures": ("closures, each an object", 80)}


def chosen():
    found = [r for r in phps.one_of_each(phps.find()) if not r.flavors]
    return list(language.first_of_each(found, lambda r: r.numbers[:2], RELEASES).values())


def kinds(runtime, directory):
    script = os.path.join(directory, "depth.php")
    for kind, (what, bar) in KINDS.items():
        yield (f"PHP {runtime.version}, {what}", bar,
               lambda depth, kind=kind: runtime.argv([*phps.PLAIN, script, kind, str(depth)], directory),
               slopes.says(b"ready\n"))


if __name__ == "__main__":
    slopes.bench("php", chosen(), DEPTHS, kinds, FRAMES_PER_RUN, "frames",
                 lambda directory: shutil.copy(os.path.join(HERE, "programs", "depth.php"), directory))

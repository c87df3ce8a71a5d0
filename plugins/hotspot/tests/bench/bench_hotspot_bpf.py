#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of Java: stacks of known depth, interpreted and compiled, in each JVM that is found.

How is in tests/kit/slopes.py. EBPF_PROFILER_BENCH_JAVA: releases; EBPF_PROFILER_BENCH_RUNS: turns.
"""
import glob
import os
import re
import sys

import measure
import chains
import javas
import language
import runs
import slopes

HERE = os.path.dirname(os.path.realpath(__file__))

RELEASES = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_JAVA", "8 17 21 25").split()]
DEPTHS = 50, 500
DEEP = 1000
FRAMES_PER_RUN = 40
# What, options, the tier that its methods must have been compiled at, bar
NO_INLINING = ["-XX:-BackgroundCompilation", "-XX:+PrintCompilation", "-XX:CompileCommand=quiet",
               "-XX:CompileCommand=dontinline,Depth::*"]
MODES = (
    ("interpreted", ["-Xint"], 0, 120),
    ("compiled by C1", [*NO_INLINING, "-XX:TieredStopAtLevel=1"], 1, 160),
    ("compiled by C2", NO_INLINING, 4, 160),
)
KINDS = {"many": "16 methods in turn", "one": "one method"}
METHODS = {"many": 16, "one": 1}


def chosen():
    """One JVM of each release, those of root file systems first."""
    found = sorted(javas.find(), key=lambda r: not r.root)
    return list(language.first_of_each(found, javas.major, RELEASES).values())


def compile_programs(directory):
    try:
        javas.compile_java([os.path.join(HERE, "programs", "Depth.java"),
                            *glob.glob(os.path.join(javas.PROGRAMS, "*.java"))], directory)
    except javas.Skipped as reason:
        measure.skip(str(reason))


def wait_compiled(kind, tier):
    """Until a JVM is ready; then it must have said that it compiled all of the kind's methods at this tier."""
    def wait(proc):
        lines = list(iter(proc.stdout.readline, b"ready\n"))
        if proc.poll() is not None:
            sys.exit(f"{kind}: it ended with {proc.returncode}")
        compiled = set(re.findall(rf" {tier} +Depth::({kind}\d*) \(", b"".join(lines).decode()))
        if tier and len(compiled) != METHODS[kind]:
            sys.exit(f"{kind}: compiled at tier {tier} are only {sorted(compiled)}")
    return wait


def kinds(runtime, directory):
    for name, flags, tier, bar in MODES:
        for kind, what in KINDS.items():
            words = [*flags, "-cp", directory, "Depth", kind]
            yield (f"JDK {javas.major(runtime)}, {name}, {what}", bar,
                   lambda depth, words=words: runtime.argv([*words, str(depth)], directory), wait_compiled(kind, tier))


def check_deep(runtime, directory):
    """1000 frames are walked to the root."""
    for name, flags, _, _ in MODES[::2]:
        base = runtime.argv([*flags, "-cp", directory, "Depth", "many", str(DEEP), "3"], directory)
        profile, _ = javas.record(base, os.path.join(directory, "x.pb.gz"), sleeper=javas.sleeper(
            runtime.argv([], directory), directory))
        samples = [s for s in runs.process_of(profile.samples, runs.is_starter) if len(s.frames) > DEEP // 2
                   or any(f.name.startswith("[truncated") for f in s.frames)]
        whole = [s for s in samples if not chains.why_incomplete(s.frames)
                 and sum(f.name.startswith("Depth.many") for f in s.frames) == DEEP]
        counts = [sum(s.count for s in of) for of in (whole, samples)]
        measure.row(f"{DEEP} frames deep, JDK {javas.major(runtime)}, {name}: whole, of {counts[1]} samples",
                    100 * counts[0] / max(1, counts[1]), "%", ">= 99.5", 99.5, True)


if __name__ == "__main__":
    slopes.bench("hotspot", chosen(), DEPTHS, kinds, FRAMES_PER_RUN, prepare=compile_programs, after=check_deep)

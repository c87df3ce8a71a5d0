#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The short benches of HotSpot: see tests/kit/benches.py.

EBPF_PROFILER_BENCH_JAVA: releases of `bpf`; `attach` and `first` take the first of them.
"""
import glob
import os
import re
import shutil
import sys
import tempfile

import arrivals
import benches
import beside
import chains
import commands
import first
import javas
import language
import measure
import names
import runs
import slopes

PROGRAMS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs")
RELEASES = os.environ.get("EBPF_PROFILER_BENCH_JAVA")
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
KINDS = {"many": ("16 methods in turn", 16), "one": ("one method", 1)}      # and how many methods


def releases(usual):
    return [int(n) for n in (RELEASES or usual).split()]


def compile_programs(directory, *paths):
    javas.compile_java([os.path.join(PROGRAMS, path) for path in paths], directory)


def by_root(is_first):
    """Those of root file systems first, or last."""
    return sorted(javas.find(), key=lambda r: bool(r.root) != is_first)


def bench_agent():
    if not shutil.which("javac"):
        measure.skip("no javac (package default-jdk-headless)")
    with tempfile.TemporaryDirectory() as directory:
        compile_programs(directory, "Units.java")
        beside.rows("a busy JVM", ["java", "-cp", directory, "Units"], 20, 1.5)


def attach_to(runtime, directory):
    # It works for two seconds, then waits.
    units = runtime.argv(["-Xmx64m", "-XX:+UseSerialGC", "-cp", directory, "Units", "500"], directory)
    arrivals.bench("hotspot", f"JVM {javas.major(runtime)}", units)


def bench_attach():
    benches.each("JVM", lambda: by_root(True), javas.major, releases("17")[:1], attach_to,
                 lambda directory: compile_programs(directory, "Units.java"))


# --- BPF: stacks of known depth ------------------------------------------------------------------------

def wait_compiled(kind, tier):
    """Until a JVM is ready; then it must have said that it compiled all of the kind's methods at this tier."""
    def wait(proc):
        lines = list(iter(proc.stdout.readline, b"ready\n"))
        if proc.poll() is not None:
            sys.exit(f"{kind}: it ended with {proc.returncode}")
        compiled = set(re.findall(rf" {tier} +Depth::({kind}\d*) \(", b"".join(lines).decode()))
        if tier and len(compiled) != KINDS[kind][1]:
            sys.exit(f"{kind}: compiled at tier {tier} are only {sorted(compiled)}")
    return wait


def rows(runtime, directory):
    for name, flags, tier, bar in MODES:
        for kind, (what, _) in KINDS.items():
            yield (f"JDK {javas.major(runtime)}, {name}, {what}", bar, [*flags, "-cp", directory, "Depth", kind],
                   wait_compiled(kind, tier))


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


def bench_bpf():
    found = language.first_of_each(by_root(True), javas.major, releases("8 17 21 25")).values()
    slopes.bench("hotspot", list(found), DEPTHS, rows, FRAMES_PER_RUN, after=check_deep, prepare=lambda directory:
                 compile_programs(directory, "Depth.java", *glob.glob(os.path.join(javas.PROGRAMS, "*.java"))))


# --- names -------------------------------------------------------------------------------------------

def bench_commands():
    commands.each_release("Java", javas.find(), ["-version"], 98, [17, 25])


def first_of(runtime, directory):
    javas.build(directory)
    first.bench(f"JVM {javas.major(runtime)}", javas.command(runtime, directory, str(first.SECONDS)))


def bench_first():
    benches.each("JVM", lambda: by_root(False), javas.major, releases("17")[:1], first_of)


def bench_names():
    names.bench("hotspot", "method", 100, 1, 1000)


if __name__ == "__main__":
    benches.main(globals())

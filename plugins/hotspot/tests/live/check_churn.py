#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Classes of one shape that take each other's addresses (programs/Churn.java): none has another's name.

    check_churn.py [--seconds N] [--major N] [--full]

Each runs on a thread of its own, which it prints, so each frame of theirs has one right name: that one,
or none where the class was gone before it was named. Interpreted alone, compiled at once, and that in a
code cache that is too small for all of it. The oldest and the newest release in each way, those between in one
of them in turn; --full: all in each.
Exit status: 0, 1 when a name is wrong, 77 when nothing can be profiled.
"""
import argparse
import collections
import glob
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import chains  # noqa: E402
import javas  # noqa: E402

SKIP = 77
FREQUENCY = 999
FEWEST_CLASSES, FEWEST_NAMES = 100, 50
METHODS = {"run", "turn", "<init>"}
# Of all else -Xcomp would compile for seconds.
COMPILED = ["-Xcomp", "-XX:CompileCommand=compileonly,Churn*.*"]
WAYS = {"interpreted": ["-Xint"], "compiled": COMPILED,
        "small_heap": [*COMPILED, "-XX:ReservedCodeCacheSize=4m", "-XX:+UseCodeCacheFlushing"]}


def ran(output):
    """{thread: class}, without numbers of threads that two had."""
    found, twice = {}, set()
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word == "RAN":
            thread, _, name = rest.partition(" ")
            (twice.add if int(thread) in found else lambda _: None)(int(thread))
            found[int(thread)] = name
    return {thread: name for thread, name in found.items() if thread not in twice}


def judge(samples, classes):
    """(right names, Counter of wrong ones)"""
    right, wrong = 0, collections.Counter()
    for sample in samples:
        name = classes.get(sample.labels.get("tid"))
        for frame in sample.frames:
            if not name or not frame.name.startswith("Churn$Work"):
                continue
            if chains.class_of(frame) == name and chains.method_of(frame) in METHODS:
                right += sample.count
            else:
                wrong[name, frame.name] += sample.count
    return right, wrong


def check(runtime, way, directory, seconds):
    argv = runtime.argv([*WAYS[way], "-cp", directory, "Churn", str(seconds)], directory)
    profile, done = javas.record(argv, os.path.join(directory, "churn.pb.gz"), FREQUENCY,
                                 sleeps=javas.sleeper(runtime.argv([], directory), directory))
    if done.returncode:
        raise javas.Failed(f"exit status {done.returncode}: {done.stdout[-300:]} {done.stderr[-800:]}")
    classes = ran(done.stdout)
    right, wrong = judge(javas.process_of(profile.samples), classes)
    print(f"  {len(classes)} classes, {right} names are right, {sum(wrong.values())} are not")
    for (name, said), count in wrong.most_common(3):
        print(f"    {count}: {said[:80]!r} where {name} ran")
    return not wrong and len(classes) >= FEWEST_CLASSES and right >= FEWEST_NAMES


def choose(found, full):
    """(runtime, ways)"""
    for at, runtime in enumerate(found):
        is_end = runtime in (found[0], found[-1])
        yield runtime, list(WAYS) if full or is_end else [list(WAYS)[at % len(WAYS)]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--major", type=int)
    parser.add_argument("--full", action="store_true", default=bool(os.environ.get("EBPF_PROFILER_TEST_FULL")))
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        return SKIP
    good = True
    with tempfile.TemporaryDirectory() as directory:
        try:
            javas.compile_java(sorted(glob.glob(os.path.join(javas.PROGRAMS, "*.java"))), directory)
            for runtime, ways in choose(javas.one_of_each(javas.find()), options.full):
                if options.major in (None, javas.major(runtime)):
                    for way in ways:
                        print(f"[ RUN      ] {runtime.name} {way}", flush=True)
                        if not check(runtime, way, directory, options.seconds):
                            print(f"[  FAILED  ] {runtime.name} {way}", flush=True)
                            good = False
        except javas.Skipped as reason:
            print(reason)
            return SKIP
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A class that is redefined while it runs (programs/Redefine.java): each version's lines with its own calls.

    check_redefine.py [--seconds N] [--major N] [--full]

The two versions of Work.turn call different methods from different lines, so that the line of a frame tells
which version it was named by, and its callee which one it is. Methods that run on after they were redefined
are the elder version's. --full: with each compiler alone and with none, too.
Exit status: 0, 1 when a line is wrong, 77 when nothing can be profiled.
"""
import argparse
import collections
import glob
import os
import re
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import chains  # noqa: E402
import javas  # noqa: E402
import runs  # noqa: E402

SKIP = 77
FREQUENCY = 999
FEWEST, FEWEST_EACH = 200, 10  # frames of Work.turn, and of each version
FEWEST_REDEFINED = 20
HIGHER = 1000           # lines of the second version
SOURCE = os.path.join(javas.PROGRAMS, "Redefine.java")
AGENT = "Premain-Class: Redefine\nCan-Redefine-Classes: true\n"
WAYS = {"tiered": [], "interpreted": ["-Xint"], "c1": ["-XX:TieredStopAtLevel=1"], "no_inlining": ["-XX:-Inline"]}


def build(directory):
    """Both versions, and the jar of the agent; its path."""
    second = os.path.join(directory, "second")
    os.mkdir(second)
    with open(SOURCE, encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(second, "Redefine.java"), "w", encoding="utf-8") as file:
        file.write("\n" * HIGHER + text.replace("Redefine.one(", "Redefine.two("))
    programs = [path for path in glob.glob(os.path.join(javas.PROGRAMS, "*.java")) if path != SOURCE]
    javas.compile_java([os.path.join(second, "Redefine.java"), *programs], second)
    javas.compile_java([SOURCE, *programs], directory)
    os.rename(os.path.join(second, "Redefine$Work.class"), os.path.join(directory, "Redefine$Work.2"))
    jar = os.path.join(directory, "agent.jar")
    with zipfile.ZipFile(jar, "w") as made:
        made.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n" + AGENT)
    return jar


def judge(samples):
    """(Counter of frames of Work.turn by version, Counter of wrong ones)"""
    right, wrong = collections.Counter(), collections.Counter()
    for sample in samples:
        for callee, frame in zip(sample.frames, sample.frames[1:]):
            version = {"Redefine.one": 1, "Redefine.two": 2}.get(callee.name)
            if not version:
                continue
            if frame.name == "Redefine$Work.turn" and (frame.line > HIGHER) == (version == 2):
                right[version] += sample.count
            elif frame.name == "Redefine$Work.turn" or chains.is_java(frame):
                wrong[callee.name, f"{frame.name}:{frame.line}"] += sample.count
    return right, wrong


def check(runtime, way, directory, jar, seconds):
    argv = runtime.argv([*WAYS[way], "-javaagent:" + jar, "-cp", directory, "Redefine", str(seconds)], directory)
    profile, done = javas.record(argv, os.path.join(directory, "redefine.pb.gz"), FREQUENCY,
                                 sleeps=javas.sleeper(runtime.argv([], directory), directory))
    if done.returncode:
        raise javas.Failed(f"exit status {done.returncode}: {done.stdout[-300:]} {done.stderr[-800:]}")
    times = int((re.search(r"^REDEFINED (\d+)$", done.stdout, re.M) or [0, 0])[1])
    right, wrong = judge(javas.process_of(profile.samples))
    print(f"  redefined {times} times, {right[1]} and {right[2]} lines are right, {sum(wrong.values())} are not")
    for (callee, caller), count in wrong.most_common(3):
        print(f"    {count}: {callee} below {caller}")
    enough = sum(right.values()) >= FEWEST and min(right[1], right[2]) >= FEWEST_EACH
    return not wrong and times >= FEWEST_REDEFINED and enough


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--major", type=int)
    parser.add_argument("--full", action="store_true", default=bool(os.environ.get("EBPF_PROFILER_TEST_FULL")))
    options = parser.parse_args()
    ways = list(WAYS) if options.full else ["tiered"]
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        return SKIP
    good = True
    with tempfile.TemporaryDirectory() as directory:
        try:
            jar = build(directory)
            for runtime in javas.one_of_each(javas.find()):
                for way in ways if options.major in (None, javas.major(runtime)) else ():
                    name = runs.name_of(runtime.name, way)
                    print(f"[ RUN      ] {name}", flush=True)
                    is_good = check(runtime, way, directory, jar, options.seconds)
                    print(f"[ {'      OK' if is_good else '  FAILED'} ] {name}", flush=True)
                    good = good and is_good
        except javas.Skipped as reason:
            print(reason)
            return SKIP
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

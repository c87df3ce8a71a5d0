#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Classes of one shape that take each other's addresses (programs/Churn.java): none has another's name.

    check_churn.py [--major N], and the flags of tests/kit/language.py

Each runs on a thread of its own, which it prints, so each frame of theirs has one right name: that one,
or none where the class was gone before it was named. Interpreted alone, compiled at once, and that in a
code cache that is too small for all of it. By default the newest release; --full: all.
"""
import collections
import sys

import chains
import javas
import language

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


class Churn(javas.Repeated):
    seconds = 4, 4
    ways = WAYS

    def command(self, case, seconds):
        return case.runtime.argv([*WAYS[case.label], "-cp", self.directory, "Churn", str(seconds)], self.directory)

    def check(self, run):
        classes = ran(run.text)
        right, wrong = judge(self.samples_of(run), classes)
        print(f"  {len(classes)} classes, {right} names are right, {sum(wrong.values())} are not")
        for (name, said), count in wrong.most_common(3):
            print(f"    {count}: {said[:80]!r} where {name} ran")
        if wrong or len(classes) < FEWEST_CLASSES or right < FEWEST_NAMES:
            raise language.Failed("names are wrong" if wrong else "too few to tell")



if __name__ == "__main__":
    sys.exit(language.main(Churn))

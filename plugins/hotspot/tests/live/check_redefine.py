#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A class that is redefined while it runs (programs/Redefine.java): each version's lines with its own calls.

    check_redefine.py [--major N], and the flags of tests/kit/language.py

The two versions of Work.turn call different methods from different lines, so that the line of a frame tells
which version it was named by, and its callee which one it is. Methods that run on after they were redefined
are the elder version's. By default the newest release; --full: all.
"""
import collections
import re
import sys

import chains
import javas
import language

FEWEST, FEWEST_EACH = 200, 10  # frames of Work.turn, and of each version
FEWEST_REDEFINED = 20
WAYS = {"tiered": [], "interpreted": ["-Xint"], "c1": ["-XX:TieredStopAtLevel=1"], "no_inlining": ["-XX:-Inline"]}


def judge(samples):
    """(Counter of frames of Work.turn by version, Counter of wrong ones)"""
    right, wrong = collections.Counter(), collections.Counter()
    for sample in samples:
        for callee, frame in zip(sample.frames, sample.frames[1:]):
            version = {"Redefine.one": 1, "Redefine.two": 2}.get(callee.name)
            if not version:
                continue
            if frame.name == "Redefine$Work.turn" and (frame.line > javas.HIGHER) == (version == 2):
                right[version] += sample.count
            elif frame.name == "Redefine$Work.turn" or chains.is_java(frame):
                wrong[callee.name, f"{frame.name}:{frame.line}"] += sample.count
    return right, wrong


class Redefined(javas.Repeated):
    seconds = 3, 3
    ways = WAYS

    def prepare(self):
        super().prepare()
        self.jar = javas.build_redefined(self.directory)

    def command(self, case, seconds):
        words = [*WAYS[case.label], "-javaagent:" + self.jar, "-cp", self.directory, "Redefine", str(seconds)]
        return case.runtime.argv(words, self.directory)

    def check(self, run):
        times = int((re.search(r"^REDEFINED (\d+)$", run.text, re.M) or [0, 0])[1])
        right, wrong = judge(self.samples_of(run))
        print(f"  redefined {times} times, {right[1]} and {right[2]} lines are right, {sum(wrong.values())} are not")
        for (callee, caller), count in wrong.most_common(3):
            print(f"    {count}: {callee} below {caller}")
        if wrong:
            raise language.Failed("lines are wrong")
        if times < FEWEST_REDEFINED or sum(right.values()) < FEWEST or min(right[1], right[2]) < FEWEST_EACH:
            raise language.Failed("too few to tell")



if __name__ == "__main__":
    sys.exit(language.main(Redefined))

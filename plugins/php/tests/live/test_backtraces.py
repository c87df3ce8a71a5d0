#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What judges PHP's stacks (backtraces.py), on stacks made of what the burner says in each PHP of this machine: those are
true, and each with one fault is not."""
import functools
import random
import re
import sys
import unittest

import backtraces
import phps
import changes
import language
import stacks
from backtraces import Frame
from verdicts import TRUE

C = Frame("zend_call_function", "php")
ROOT = [Frame("execute_ex", "php"), Frame("main", "php"), Frame("__libc_start_main", "libc.so.6"), Frame("_start", "php")]
STACKS = 80     # of a PHP
DEEPEST = 100


def name_of(step):
    """As a profile has it."""
    if not step.name.startswith("{closure"):
        return step.name
    line = re.findall(r"\d+", step.name)
    return "{closure:%s:%s}" % (step.file, line[0] if line else 1)


def frames_of(steps):
    """Leaf first: native frames where C calls."""
    found = []
    for step, callee in zip(steps, [*steps[1:], None]):
        found.append(Frame(name_of(step), "", step.file, step.line))
        text = backtraces.text_of_file(step.file)
        mark = callee and text and text.marks.get(step.line, {}).get(backtraces.bare(callee.name))
        if callee and (callee.file and not step.file or mark == "!"):
            found.append(C)
    return [*found[::-1], *ROOT]


@functools.cache
def known_stacks(ways=("",)):
    """[(runtime's name, judge, steps)]"""
    found, pick = [], random.Random(1)
    for runtime in language.looked_at(phps.one_of_each(phps.find())):
        for options in ((), phps.opcache(runtime)):
            judge = backtraces.Judge(phps.ask(runtime, options=options))
            stacks_of = [steps for _, steps in judge.known.stacks if len(steps) <= DEEPEST]
            found += [(runtime.name, judge, steps) for steps in pick.sample(stacks_of, min(STACKS, len(stacks_of)))]
    return found


class TheJudge(unittest.TestCase, changes.Changed):
    never = backtraces.NEVER, "Burn\\nowhere", "(unreadable function)", "{closure:/elsewhere.php:1}"

    def setUp(self):
        if not known_stacks():
            self.skipTest("no PHP here")

    def true_stacks(self):
        for _, judge, steps in known_stacks():
            frames = frames_of(steps)
            # Of a recursion's frames each is like the others: one more or less is as true.
            own = [i for i, frame in enumerate(frames)
                   if frame.source and "eval()" not in frame.source and frames.count(frame) == 1]
            if len(own) > 3:
                yield frames, own[:-1], lambda other, judge=judge: judge.judge(other) == TRUE

    def test_each_is_true(self):
        for name, judge, steps in known_stacks():
            frames = frames_of(steps)
            self.assertEqual(judge.judge(frames), TRUE, f"{name}: {judge.text_of(frames)}")
            self.assertEqual(judge.judge(frames[:-3]), stacks.NO_ROOT)

    def test_native_frames_where_c_calls(self):
        for _, judge, steps in known_stacks():
            frames = frames_of(steps)
            for at, frame in enumerate(frames[:-len(ROOT) - 1]):
                if frames[at - 1].name in judge.known.anywhere:
                    continue
                if frame == C and not any("yield from" in reason for reason in self.texts(frames[at - 1:at + 2])):
                    self.assertNotEqual(judge.judge(frames[:at] + frames[at + 1:]), TRUE, judge.text_of(frames))
                elif frame.source.endswith("calls.php") and frames[at + 1].source.endswith("calls.php"):
                    self.assertNotEqual(judge.judge(frames[:at + 1] + [C] + frames[at + 1:]), TRUE, judge.text_of(frames))

    @staticmethod
    def texts(frames):
        for frame in frames:
            text = backtraces.text_of_file(frame.source)
            yield "".join(text.lines[frame.line - 1:frame.line + 1]) if text else ""

    def test_what_is_in_the_text(self):
        judge = known_stacks()[0][1]
        steps = next(steps for _, steps in judge.known.stacks if steps[-2].name == "Burn\\turn_flow" or
                     any(step.name == "Burn\\turn_reflection" for step in steps))
        base = frames_of(steps[:4])
        calls = steps[3]
        base = [Frame(calls.name, "", calls.file, calls.line), *base[1:]]
        self.assertEqual(judge.judge(base), TRUE)
        self.assertNotEqual(judge.judge([Frame("strrev", ""), *base]), TRUE)

    def test_lines_of_spin(self):
        judge = backtraces.Judge(known_stacks()[0][1].known)
        text = backtraces.text_of_file(backtraces.PROGRAMS + "/burn.php")
        first = next(n for n, line in enumerate(text.lines) if line.startswith("function spin("))
        loops = [n + 1 for n in range(first, first + 15) if "for (" in text.lines[n]]
        judge.spun.update({loops[0]: 500, loops[1]: 500, first + 2: 30})
        self.assertEqual(list(judge.why_not_spun()), [])
        judge.spun[loops[0]] += 500
        self.assertNotEqual(list(judge.why_not_spun()), [])


if __name__ == "__main__":
    sys.exit(unittest.main())

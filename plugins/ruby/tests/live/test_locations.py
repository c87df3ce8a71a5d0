#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What judges Ruby's stacks (locations.py), on stacks made of what the burner says in each Ruby of this machine: those
are true, and each with one fault is not."""
import random
import sys
import unittest

import locations
import language
import rubies
import verdicts
from locations import Frame

NATIVE = Frame("rb_ary_each", "libruby.so")
ROOT = [Frame("main", "ruby"), Frame("__libc_start_main", "libc.so.6"), Frame("_start", "ruby")]
STACKS = 50     # of a Ruby


def frames_of(judge, steps):
    """Leaf first, as a profile has them: native frames where C calls."""
    found = []
    for i, step in enumerate(steps):
        name = locations.Node(step, "").names()[0]
        callee, lines = steps[i + 1:i + 2], judge.marks.get((step.file, step.line), {})
        if step.is_c:
            found.append(Frame(name, "", step.file if step.file.startswith(locations.INTERNAL) else "", 0))
        else:
            found.append(Frame(name, "", step.file, step.line))
        native = callee and not callee[0].is_c and step.is_c
        if native or callee and not step.is_c and not callee[0].is_c and "!" in lines.values():
            found.append(NATIVE)
    return [*found[::-1], *ROOT]


def replaced(frames, at, **what):
    return [*frames[:at], frames[at]._replace(**what), *frames[at + 1:]]


def faults_of(frames, at):
    """(what is wrong, frames): at: of a Ruby frame that is called, and calls."""
    yield "no caller", frames[:at + 1] + ROOT
    yield "another line", replaced(frames, at, line=frames[at].line + 5000)
    yield "another file", replaced(frames, at, source="/elsewhere.rb")
    yield "another name", replaced(frames, at, name="Burn.never")
    yield "no class", replaced(frames, at, name="Other#" + frames[at].name)
    yield "no root", frames[:-3]
    yield "twice", frames[:at] + [frames[at]] + frames[at:]
    yield "unreadable", replaced(frames, at, name="(unreadable)", source="")
    yield "never named", replaced(frames, at, name="[ruby: unknown function]", source="")


class TheJudge(unittest.TestCase):
    def check(self, runtime):
        known = rubies.ask(runtime)
        judge, chosen = locations.Judge(known), random.Random(1)
        for _, steps in chosen.sample(known.stacks, min(STACKS, len(known.stacks))):
            frames = frames_of(judge, steps)
            if len(frames) > 200 or any("|" in frame.name for frame in frames) or judge.judge(frames) == locations.STARTING:
                continue
            self.assertEqual(judge.judge(frames), verdicts.TRUE, locations.Judge.text_of(frames))
            # Not one of a recursion: that calls itself.
            inner = [i for i in range(1, len(frames) - 4) if frames[i].source.startswith(locations.PROGRAMS) and
                     frames[i].name not in (frames[i - 1].name, frames[i + 1].name, steps[0].name)]
            for what, wrong in faults_of(frames, chosen.choice(inner)) if inner else ():
                self.assertNotEqual(judge.judge(wrong), verdicts.TRUE, f"{what}: {locations.Judge.text_of(wrong)}")

    def test_each_ruby(self):
        for runtime in language.looked_at(rubies.one_of_each(rubies.find())):
            with self.subTest(runtime.name):
                self.check(runtime)

    def test_native_frames_where_c_calls(self):
        runtime = next(iter(rubies.one_of_each(rubies.find())), None)
        if not runtime:
            self.skipTest("no Ruby here")
        judge = locations.Judge(rubies.ask(runtime))
        _, steps = next(s for s in judge.known.stacks if s[0] == "nested" and len(s[1]) > 8)
        frames = frames_of(judge, steps)
        without = [frame for frame in frames if frame != NATIVE]
        self.assertEqual(judge.judge(frames), verdicts.TRUE)
        self.assertIn("without native frames", judge.judge(without))
        at = next(i for i, (a, b) in enumerate(zip(frames, frames[1:])) if a.source and b.source and i + 3 < len(frames))
        self.assertIn("with these between", judge.judge([*frames[:at + 1], NATIVE, *frames[at + 1:]]))


if __name__ == "__main__":
    sys.exit(unittest.main())

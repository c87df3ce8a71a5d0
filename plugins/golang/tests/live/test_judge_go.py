#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""judge_go.py over stacks that are made up."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "..", "tests", "live")]
import judge_go  # noqa: E402
import stacks  # noqa: E402
import verdicts  # noqa: E402

SAID = """VERSION go1.26.8
SCENARIO deep
STACK main.spin main.recurse{3} main.deep
SCENARIO growing
MAY ... main.grown
STACK runtime.* ... runtime.morestack main.grow+ main.grown
CPU 4.5
"""


def frames(text):
    return [stacks.Frame(name, "burner") for name in text.split()]


class Judging(unittest.TestCase):
    def setUp(self):
        self.judge = judge_go.Judge(SAID)

    def reason(self, text):
        return self.judge.judge(frames(text), 0)

    def is_true(self, text):
        self.assertEqual(self.reason(text), verdicts.TRUE, text)

    def test_whole_stacks_are_true_and_seen(self):
        self.assertEqual(len(list(self.judge.problems())), 2)
        self.is_true("main.spin main.recurse main.recurse main.recurse main.deep main.main.func1 runtime.goexit.abi0")
        self.assertEqual(list(self.judge.problems()), ["no sample of growing has a whole stack of its"])
        self.is_true("runtime.memmove runtime.newstack runtime.morestack.abi0 main.grow main.grow main.grown runtime.goexit")
        self.assertEqual(list(self.judge.problems()), [])

    def test_the_runtime_may_be_above(self):
        self.is_true("runtime.asyncPreempt2 runtime.asyncPreempt main.recurse main.recurse main.deep runtime.goexit")
        self.is_true("runtime.asyncPreempt main.spin main.recurse main.recurse main.recurse main.deep runtime.goexit")
        self.is_true("main.deep runtime.goexit")
        self.is_true("runtime.mallocgc main.grow main.grown runtime.goexit")

    def test_signals_are_the_runtimes(self):
        user = frames("main.spin main.recurse main.recurse main.recurse main.deep runtime.goexit")
        handler = [*frames("runtime.sigprof runtime.sigtramp"), stacks.Frame("libc.so.6+0x3c050", "libc.so.6")]
        self.assertEqual(self.judge.judge(handler + user, 0), verdicts.TRUE)

    def test_frames_must_not_be_missing_or_more(self):
        for text in ("main.spin main.recurse main.recurse main.deep runtime.goexit",
                     "main.spin main.deep runtime.goexit", "main.recurse{4} main.spin main.deep runtime.goexit",
                     "main.spin main.recurse main.recurse main.recurse main.recurse main.deep runtime.goexit",
                     "main.grow main.grown main.deep runtime.goexit", "main.other runtime.goexit"):
            self.assertEqual(self.reason(text), judge_go.NO_STACK, text)
        self.assertEqual(len(list(self.judge.problems())), 2)

    def test_stacks_must_end_at_a_root(self):
        self.assertEqual(self.reason("main.spin main.recurse main.recurse main.recurse main.deep"), stacks.NO_ROOT)
        self.assertEqual(self.reason("runtime.gcDrain runtime.systemstack"), stacks.NO_ROOT)

    def test_errors_are_named(self):
        broken = frames("main.spin") + [stacks.Frame("[truncated: no rule]", "")]
        self.assertEqual(self.judge.judge(broken, 0), "[truncated: no rule]")
        self.assertTrue(verdicts.is_incomplete(self.judge.judge(broken, 0)))

    def test_the_runtimes_own_are_true(self):
        self.is_true("runtime.futex runtime.notesleep runtime.schedule runtime.mcall.abi0")
        self.is_true("runtime.usleep runtime.sysmon runtime.mstart1 runtime.mstart")
        self.is_true("pthread_create burner+0x10 runtime.asmcgocall runtime.newm runtime.mstart")
        self.assertEqual(self.reason("start_thread clone3"), judge_go.MOMENT)

    def test_what_it_said(self):
        self.assertEqual((self.judge.cpu, self.judge.version), (4.5, "go1.26.8"))
        self.assertEqual(list(judge_go.Judge("").problems()), ["it has no scenario"])
        sample = stacks.Sample(frames("main.grow main.grown runtime.goexit"), 1, {})
        self.assertEqual(self.judge.scenario_of(sample), "growing")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""judge_go.py and source_go.py over stacks that are made up."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # this is a source tree
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..", "..", "tests", "kit"))
import judge_go  # noqa: E402
import source_go  # noqa: E402
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
        self.assertEqual(len(list(self.judge.problems(("growing",)))), 1)
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

    def test_starts_are_the_runtimes(self):
        self.is_true("runtime.mallocgc main.init.1 runtime.doInit1 runtime.doInit runtime.main runtime.goexit")

    def test_a_librarys_start_is_a_moment(self):
        text = "fmt.Println main.main main.goMain _cgoexp_9f_goMain runtime.cgocallbackg crosscall2 goMain main"
        frames_ = [*frames(text), stacks.Frame("__libc_start_main", "libc.so.6")]
        self.assertEqual(self.judge.judge(frames_, 0), judge_go.MOMENT)
        self.assertEqual(self.judge.judge([*frames("main.spin"), *frames_], 0), judge_go.NO_STACK)

    def test_a_plugins_main_is_its_modules(self):
        self.is_true("burner.spin burner.recurse burner.recurse burner.recurse burner.deep runtime.goexit")


# Lines count from 1: `package main` is the first.
GO = """package main

// spin( in a comment is no call.
func spin(n int) (r int) {
\tfor i := 0; i < n; i++ {
\t\tr += i

\t\tr *= 3
\t}
\treturn r
}

func recurse(n int, f func(int) int) int {
\tif n == 0 {
\t\treturn spin(1)
\t}
\tm := map[int]int{}
\tm[n]++
\treturn recurse(n-1, f) + f(n)
}

func deep() {
\tprintln("spin(")
\tdefer func() {
\t\tfunc() { spin(2) }()
\t}()
\trecurse(3, func(n int) int { return spin(n) })
\tgo spin(4)
\ttime.Now()
\tC.work()
}
"""


class Lines(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "a.go"), "w", encoding="utf-8") as file:
                file.write(GO)
            self.source = source_go.Source(directory)
        self.judge = judge_go.Judge(SAID, self.source)

    def lines(self, name, callee):
        """On which it may call that."""
        return [line for line in range(40) if self.source.why_wrong(name, "/x/a.go", line, callee) is None]

    def test_functions_are_found(self):
        found = {name: (f.first, f.last) for name, f in self.source.functions.items()}
        self.assertEqual(found, {"main.spin": (4, 11), "main.recurse": (13, 20), "main.deep": (22, 31), "main.deep.func1": (24, 26),
                                 "main.deep.func1.1": (25, 25), "main.deep.func2": (27, 27)})

    def test_callers_are_on_lines_that_call(self):
        for name, callee, expected in (("main.recurse", "main.spin", [15]), ("main.recurse", "main.recurse", [19]),
                                       ("main.recurse", "main.deep.func2", [19]), ("main.deep.func2", "main.spin", [27]),
                                       ("main.deep.func1", "main.deep.func1.1", [25]), ("main.deep.func1.1", "main.spin", [25]),
                                       ("main.recurse", "runtime.mapassign_fast64", [18]), ("main.spin", "runtime.morestack", [4]),
                                       ("main.deep.gowrap1", "main.spin", [24, 28, 30]), ("main.deep", "main._Cfunc_work", [27, 30, 31])):
            self.assertEqual(self.lines(name, callee), expected, (name, callee))
        self.assertEqual(self.lines("main.deep", "time.Now"), [27, 29, 31])     # where what was deferred runs

    def test_what_was_interrupted_is_on_any_line_of_code(self):
        for callee in (None, "runtime.asyncPreempt", "runtime.sigpanic", source_go.INTERRUPT):
            self.assertEqual(self.lines("main.spin", callee), [4, 5, 6, 8, 9, 10, 11])

    def test_files_count(self):
        self.assertIn("not in a.go", self.source.why_wrong("main.recurse", "b.go", 15, "main.spin"))
        self.assertIsNone(self.source.why_wrong("main.unheard", "b.go", 15, "main.spin"))

    def stack(self, *lines):
        names = ["main.spin", *["main.recurse"] * (len(lines) - 2), "main.deep"]
        frames_ = [stacks.LineFrame(name, "burner", "/x/a.go", line) for name, line in zip(names, lines)]
        return [*frames_, stacks.LineFrame("runtime.goexit", "burner", "asm.s", 1)]

    def test_a_wrong_line_is_not_true(self):
        self.assertEqual(self.judge.judge(self.stack(8, 15, 19, 19, 27), 0), verdicts.TRUE)
        for lines in ((12, 15, 19, 19, 27), (8, 16, 19, 19, 27), (8, 15, 19, 18, 27), (8, 15, 19, 19, 28)):
            reason = self.judge.judge(self.stack(*lines), 0)
            self.assertTrue(reason.startswith(judge_go.NO_LINE), reason)
            self.assertFalse(verdicts.is_incomplete(reason))

    def test_a_line_that_is_missing_is_told(self):
        self.assertFalse(self.judge.has_no_line(self.stack(8, 15, 19, 19, 27)))
        self.assertTrue(self.judge.has_no_line(self.stack(8, 15, 0, 19, 27)))
        verdict = verdicts.Verdict(self.judge, [stacks.Sample(self.stack(0, 15, 19, 19, 27), 300, {})])
        self.assertIn("300 samples without a line where they were interrupted", list(verdict.problems(99)))


if __name__ == "__main__":
    unittest.main()

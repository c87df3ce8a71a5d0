#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of JavaScript stacks must itself be right: over stacks as they are, and changed in each way that a
profiler could be wrong."""
import os
import tempfile
import unittest

import calls  # and with it where the kit is
import changes
from verdicts import TRUE

Frame = calls.Frame
ROOT = Frame("start_thread", "libc.so.6")
MAIN = 77           # the thread that runs JavaScript


def builtin(name):
    return Frame(name, "node")


class Program(changes.Changed, unittest.TestCase):
    """A program of two files, written here."""
    never = "never", "absent"
    SOURCES = {
        "one.js": """//@ one
function leaf(x) { //= leaf
    if (x) {
        return 1;
    }
    return helper(); //> helper
}

class Shape {
    get side() { //= get Shape.side
        return leaf(1); //> leaf
    }
}

function turn(list) { //= turn turn
    list.sort(compared); //> compared!
    list.map( //> ~mapping?
        (x) => leaf(x)); //= ~mapping > leaf
    return shape.side + //> side?
        across(list); //> c_across!
}

function deep(n) { //= deep # deep=3
    return n ? deep(n - 1) : leaf(0); //> deep leaf
}

function compared(a, b) { //= compared
    return leaf(a); //> leaf
}

function helper() { //= helper
    return 3;
}

function never() { //= never
    return 4;
}

drive(() => 5); //> drive
""",
        "two.js": """//@ two
function drive(work) { //= drive entry
    work(); //> @turn deep
}
""",
        "addon.c": """//@ two
/*= c_across > leaf! */
""",
    }

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        for name, text in cls.SOURCES.items():
            with open(os.path.join(cls.directory.name, name), "w", encoding="utf-8") as file:
                file.write(text)
        cls.truth = calls.Truth(cls.directory.name)
        cls.judge = calls.Judge(calls.Said("THREAD main 77\nCPU 1"), cls.truth, {MAIN: "main"})

    def frames(self, text):
        """Leaf first: NAME:LINE of one.js, NAME:LINE@two, a builtin as [NAME], C of the addon as <NAME>."""
        found = []
        for word in text.split():
            if word[0] == "[":
                found.append(builtin(word[1:-1]))
            elif word[0] == "<":
                found.append(Frame(word[1:-1], calls.ADDON))
            else:
                name, _, line = word.rpartition(":")
                line, _, file = line.partition("@")
                name = name.replace("_", " ") if name.startswith("get") else name
                found.append(Frame(name, "", f"/x/{file or 'one'}.js", int(line)))
        return found

    def judged(self, text, thread=MAIN):
        return self.judge.judge([*self.frames(text), ROOT], thread)

    RIGHT = [
        "drive:3@two",
        "leaf:3 compared:28 [ArraySort] turn:16 drive:3@two",
        "[Math] compared:28 [ArraySort] turn:16 drive:3@two",
        "leaf:3 (anonymous):18 turn:17 drive:3@two",
        "leaf:3 (anonymous):18 [Builtins_JSEntry] [v8::Call] [Builtins_CEntry_Return1] [ArrayMap] turn:17 drive:3@two",
        "leaf:3 (anonymous):18 [ArrayMap] turn:17 drive:3@two",
        "leaf:3 list.map:18 turn:17 drive:3@two",
        "leaf:4 get_side:11 turn:19 drive:3@two",
        "leaf:4 get_Shape.side:11 turn:19 drive:3@two",
        "leaf:4 Shape.side:11 [LoadIC] turn:19 drive:3@two",
        "leaf:4 [ArgumentsAdaptorTrampoline] side:11 turn:19 drive:3@two",
        "leaf:4 [Call] <c_across> [HandleApiCall] turn:20 drive:3@two",
        "helper:32 leaf:6 deep:24 deep:24 deep:24 drive:3@two",
        "(anonymous):39",
        "[epoll]",
    ]
    WRONG = [  # stack, what is said of it
        ("leaf:3 turn:16 drive:3@two", "does not call leaf"),
        ("leaf:3 compared:28 turn:16 drive:3@two", "gap: turn calls compared, but with nothing between"),
        ("leaf:3 compared:28 [ArraySort] turn:17 drive:3@two", "wrong line"),
        ("leaf:3 [ArraySort] compared:28 [ArraySort] turn:16 drive:3@two", "between"),
        ("leaf:30 compared:28 [ArraySort] turn:16 drive:3@two", "no line of leaf"),
        ("leaf:3 compared:28 [ArraySort] turn:16", "root missing"),
        ("leaf:3 set_side:11 turn:19 drive:3@two", "no such function"),
        ("leaf:3 Square.side:11 turn:19 drive:3@two", "no such function"),
        ("leaf:3 other.words:18 turn:17 drive:3@two", "no such function"),
        ("helper:32 leaf:6 deep:24 deep:24 drive:3@two", "2 of deep"),
        ("helper:32 leaf:6 deep:24 deep:24 deep:24 deep:24 drive:3@two", "4 of deep"),
        ("never:36 drive:3@two", "never runs"),
        ("leaf:4 turn:20 drive:3@two", "gap: no C between turn and leaf"),
        ("leaf:3 (anonymous):18 [Builtins_JSEntry] [Builtins_CEntry_Return1] [ArrayMap] turn:17 drive:3@two", "gap: no C++"),
        ("leaf:3 (anonymous):18 [Builtins_JSEntry] turn:17 drive:3@two", "gap: no C++"),
        ("leaf:3 compared:28 [Builtins_CEntry_Return1] [ArraySort] turn:16 drive:3@two", "gap: no C++"),
        ("leaf:4 <c_across> turn:20 drive:3@two", "between"),
        ("leaf:4 [Call] <c_across> [HandleApiCall] turn:19 drive:3@two", "wrong line"),
        ("leaf:3 gone:2@three drive:3@two", "no such function"),
        ("leaf:3 [InterpreterEntryTrampoline] drive:3@two", "unknown: an interpreted"),
    ]

    def true_stacks(self):
        for text in self.RIGHT:
            frames = [*self.frames(text), ROOT]
            own = [at for at, frame in enumerate(frames) if self.judge.is_own(frame)]
            if len(own) > 1:
                yield frames, own, lambda other: self.judge.judge(other, MAIN) == TRUE

    def test_wrappers_of_a_module(self):
        def judged(name, source):
            frames = self.frames("drive:3@two")
            return self.judge.judge([Frame(name, "", source, 0), *frames, ROOT], MAIN)

        self.assertEqual(judged("(js-to-wasm)", "wasm://wasm/2f72470e"), TRUE)
        self.assertIn("no such function", judged("(js-to-wasm)", "/x/one.mjs"))
        self.assertIn("no such function", judged("0", "wasm://wasm/2f72470e"))

    def test_right_ones(self):
        for text in self.RIGHT:
            with self.subTest(text=text):
                expected = calls.NONE_OF_ITS if text == "[epoll]" else TRUE
                self.assertEqual(self.judged(text), expected)

    def test_wrong_ones(self):
        for text, why in self.WRONG:
            with self.subTest(text=text):
                self.assertIn(why, self.judged(text))

    def test_other_threads_run_no_script(self):
        self.assertEqual(self.judged("[MarkCompact]", 78), TRUE)
        self.assertIn("thread without JavaScript", self.judged("drive:3@two", 78))
        anywhere = calls.Judge(calls.Said(""), self.truth, None)
        self.assertEqual(anywhere.judge([*self.frames("drive:3@two"), ROOT], 78), TRUE)

    def test_incomplete_ones(self):
        frames = self.frames("drive:3@two")
        for more, why in (([], "native root missing"), ([Frame("[truncated: x]", "")], "[truncated: x]"),
                          ([Frame("0x7f00", ""), ROOT], "unknown: code")):
            self.assertEqual(self.judge.judge([*frames, *more], MAIN), why)

    def test_lines_on_demand(self):
        """A caller at its function's first line, where V8 has no table and the profile says so."""
        leaf, turn, drive = self.frames("get_side:11 turn:15 drive:3@two")
        marked = turn._replace(signature="turn" + calls.FALLBACK)
        lazy = calls.Judge(calls.Said(""), self.truth, {MAIN: "main"}, lazy=True)
        self.assertEqual(lazy.judge([leaf, marked, drive, ROOT], MAIN), TRUE)
        self.assertNotEqual(lazy.judge([leaf, turn, drive, ROOT], MAIN), TRUE)
        self.assertNotEqual(self.judge.judge([leaf, marked, drive, ROOT], MAIN), TRUE)

    def test_leaf_without_a_line(self):
        self.assertTrue(self.judge.has_no_line(self.frames("leaf:0 drive:3@two")))
        self.assertFalse(self.judge.has_no_line(self.frames("leaf:3 drive:3@two")))
        self.assertFalse(self.judge.has_no_line(self.frames("[Call] leaf:0")))

    def test_scenarios(self):
        def scenario(text):
            return self.judge.scenario_of(calls.stacks.Sample(self.frames(text), 1, {}))
        self.assertEqual(scenario("compared:28 [ArraySort] turn:16 drive:3@two"), "two")
        self.assertEqual(scenario("[epoll]"), "others")

    def test_what_cannot_be_the_truth(self):
        for text in ("function a() { //= a > b\n}\n", "function a() { //= a\n}\nfunction a() { //= a\n}\n",
                     "function a() { //= a\n"):
            with self.subTest(text=text), tempfile.TemporaryDirectory() as directory:
                with open(os.path.join(directory, "a.js"), "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertRaises(ValueError, calls.Truth, directory)


if __name__ == "__main__":
    unittest.main()

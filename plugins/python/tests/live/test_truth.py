#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of Python stacks must itself be right: over profiles made here, true ones and not."""
import json
import os
import random
import subprocess
import sys
import tempfile
import types
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "..", "tests", "kit")]
import pythons  # noqa: E402
import runs  # noqa: E402
import stacks  # noqa: E402
import truth  # noqa: E402
from test_stacks import write_profile  # noqa: E402
from truth import Frame  # noqa: E402

WORKLOAD = os.path.join(HERE, "workload.py")
EVAL = "_PyEval_EvalFrameDefault"


def native(*names):
    return [Frame(name, "python3", "", 0) for name in names]


ROOT = [Frame("start_thread", "libc.so.6", "", 0), Frame("clone3", "libc.so.6", "", 0)]


def traced():
    scenarios = ["recursion", "callbacks", "classes"]
    done = subprocess.run([sys.executable, WORKLOAD, "trace", "0", *scenarios],
                          capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout.split("TRUTH ", 1)[1])


class Maker:
    """True stacks, as a profiler would show them, out of the truth."""

    def __init__(self, data):
        self.data, self.random = data, random.Random(3)

    def frame(self, function, line=None):
        name, source, _, lines = self.data["functions"][function]
        return Frame(name, "", source, line or self.random.choice(lines))

    def stack(self, leaf):
        """Leaf first; a C function is a native frame."""
        parent, function, via = leaf
        frames = [self.frame(function)]
        while parent >= 0:
            frames += native(via) if via else []
            parent, function, line, via = self.data["nodes"][parent]
            frames.append(self.frame(function, line))
        return frames + native("pymain_run_python") + ROOT

    def leaf(self, name):
        """The deepest stack whose leaf is that function."""
        stacks = [self.stack(leaf) for leaf in self.data["leaves"]
                  if self.data["functions"][leaf[1]][0] == name]
        stacks = [s for s in stacks if any(f.name == "worker" for f in s)]
        return max(stacks, key=len)


class Judging(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = traced()
        cls.maker = Maker(cls.data)
        cls.known = truth.Truth(cls.data, (3, 11, 2), WORKLOAD,
                                truth.long_lines_of(WORKLOAD, WORKLOAD))

    def judge(self, frames):
        """By way of a file."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(write_profile([(frames, 1, {})]))
            file.flush()
            sample, = stacks.read_profile(file.name, stacks.LineProfile).samples
        self.assertEqual(sample.frames, frames)
        parts = truth.Sample(sample.frames)
        outcome = self.known.judge(parts)
        return self.known.judge_order(parts) if outcome == truth.TRUE else outcome

    def test_what_was_traced_is_true(self):
        for leaf in self.data["leaves"]:
            frames = self.maker.stack(leaf)
            outcome = self.known.judge(truth.Sample(frames))
            self.assertIn(outcome, (truth.TRUE, truth.OUTSIDE, truth.AT_A_CALL),
                          truth.text_of(frames))
            if outcome == truth.AT_A_CALL:
                self.assertIn((frames[0].source, frames[0].line), self.known.long_lines)

    def test_kernel_frames_at_the_leaf_do_not_matter(self):
        frames = [Frame("do_syscall_64", "[kernel.kallsyms]", "", 0), *self.maker.leaf("spin")]
        self.assertEqual(self.judge(frames), truth.TRUE)

    def expect(self, outcome, frames):
        self.assertEqual(self.judge(frames), outcome, truth.text_of(frames))

    def deep(self):
        """spin descend{61} recursion worker ... with the line of spin in its loop"""
        frames = self.maker.leaf("descend")
        at = next(i for i, f in enumerate(frames) if f.name != "descend")
        line = min(line for _, line in self.known.long_lines)
        spin = next(i for i, f in enumerate(self.data["functions"]) if f[0] == "spin")
        return [self.maker.frame(spin), frames[0]._replace(line=line), *frames[1:]], at + 1

    def test_one_frame_too_few_or_too_many(self):
        frames, end = self.deep()
        self.expect(truth.TRUE, frames)
        self.expect("no such chain", frames[:2] + frames[3:])
        self.expect("no such chain", frames[:2] + frames[2:3] + frames[2:])
        self.expect(truth.AT_A_CALL, frames[1:])
        self.expect("no such chain", frames[:end] + frames[end + 1:])
        self.expect("root missing", frames[:end])

    def test_a_wrong_line(self):
        frames, _ = self.deep()
        self.expect("wrong line", [frames[0]._replace(line=1), *frames[1:]])
        next_line = frames[1]._replace(line=frames[1].line + 1)
        self.expect("wrong line", [frames[0], next_line, *frames[2:]])
        self.expect("wrong line", [*frames[:9], frames[9]._replace(line=0), *frames[10:]])

    def test_a_wrong_name_or_file(self):
        frames, _ = self.deep()
        self.expect("no such function: spun", [frames[0]._replace(name="spun"), *frames[1:]])
        self.expect("no such function: spin", [frames[0]._replace(source="x.py"), *frames[1:]])
        self.expect("[unknown]", [frames[0]._replace(name="[unknown]"), *frames[1:]])

    def test_a_missing_root(self):
        frames, _ = self.deep()
        module = max(i for i, f in enumerate(frames) if truth.is_python(f))
        self.expect("root missing", frames[:module] + frames[module + 1:])
        self.expect("native root missing", frames[:module + 1])
        error = Frame("[truncated: stack memory unreadable]", "", "", 0)
        self.expect(error.name, frames[:module + 1] + [error])

    def test_native_frames_between(self):
        frames, _ = self.deep()
        self.expect("C functions between Python frames", frames[:1] + native("call") + frames[1:])
        self.expect("the interpreter's own frame", frames[:1] + native(EVAL) + frames[1:])
        self.expect(truth.TRUE, native(EVAL) + frames)
        frames = self.maker.leaf("by_remainder")
        self.expect(truth.TRUE, frames)
        self.expect("C functions between Python frames", frames[:1] + frames[2:])

    def test_code_of_no_file(self):
        frames, _ = self.deep()
        address = Frame("0x7f0012345678", "", "", 0)
        self.expect("unnamed code", [address] + frames)
        self.expect("unnamed code", frames[:1] + [address] + frames[1:])

    def test_without_python(self):
        self.expect(truth.WITHOUT_PYTHON, native("PyObject_Malloc") + ROOT)

    def result(self, samples, cpu_start=0.1, cpu_threads=0.001):
        count = sum(n for _, n, _ in samples)
        return {"cpu_start": cpu_start, "cpu_threads": cpu_threads,
                "cpu_total": count / truth.FREQUENCY,
                "cpu": {"recursion": count / truth.FREQUENCY}, "stderr": ""}

    def problems(self, samples, **changes):
        with tempfile.NamedTemporaryFile() as file:
            file.write(write_profile(samples))
            file.flush()
            read = stacks.read_profile(file.name, stacks.LineProfile).samples
        verdict = truth.Verdict(self.known, dict(self.result(samples), **changes), read)
        return list(verdict.problems())

    def test_a_run_as_a_whole(self):
        main, other = {"pid": 7, "tid": 7}, {"pid": 7, "tid": 8}
        frames, end = self.deep()
        start = native("_PyImport_Init") + ROOT
        right = [(frames, 1000, main), (start, 50, main)]
        self.assertEqual(self.problems(right), [])
        self.assertEqual(self.problems(right + [(frames[1:], 5, main), (start, 2, other)]), [])
        slow = right + [(start, 13, other)]  # its threads take long to start
        self.assertEqual(self.problems(slow, cpu_threads=0.02), [])
        for label, samples, changes in [
                ("5 % without leaf", right + [(frames[1:], 50, main)], {}),
                ("all without leaf", [(frames[1:], 1000, main), (start, 50, main)], {}),
                ("native only", [(start, 1000, main)], {}),
                ("next to nothing", [(frames, 20, main)], {}),
                ("too much before the start", [(frames, 1000, main), (start, 200, main)], {}),
                ("a thread without Python", right + [(start, 30, other)], {}),
                ("and it did not start slowly", slow + [(start, 30, other)], {"cpu_threads": 0.02}),
                ("slow threads, and no leaf", slow + [(frames[1:], 50, main)], {"cpu_threads": 0.02}),
                ("a thread without root", right + [(frames[:end], 30, other)], {}),
                ("samples lost", right, {"cpu_total": 4.0}),
                ("samples twice", right, {"cpu_total": 1.0}),
                ("a scenario unseen", right, {"cpu": {"calls": 0.5, "recursion": 2.0}})]:
            with self.subTest(label=label):
                self.assertNotEqual(self.problems(samples, **changes), [])


class Cases(unittest.TestCase):
    def test_names_are_what_the_counter_of_tests_reads(self):
        runtime = pythons.language.runtimes.Runtime("python", "3.15.0a1+", ("static", "jit"), "sid",
                                                "/usr/bin/python3.15")
        self.assertRegex(pythons.Case(runtime, "deep").name, r"^\w+$")

    def test_a_workload_that_dies_is_no_success(self):
        for text, error in [("", runs.Failed), ("skip: none\n", runs.Skipped)]:
            done = types.SimpleNamespace(stdout=text, stderr="", returncode=1)
            with self.assertRaises(error):
                truth.said(done, "RESULT", "burn")


if __name__ == "__main__":
    unittest.main()

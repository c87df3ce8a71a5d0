#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of Java stacks must itself be right: over stacks that a JVM shows of the burner, as they
are and changed in each way that a profiler could be wrong."""
import os
import tempfile
import unittest

import chains  # and with it where the kit is
import changes
import javas
import language

ROOT = chains.Frame("start_thread", "libc.so.6")
SCENARIOS = ("many", "inlined", "deep500", "thrown", "lambdas", "sorted", "multiply")
OBSERVE = 40        # times, 20 ms apart: hundreds of stacks, for which a busy machine gives tens
NOT_RUN = 0x7fffffff  # a thread id that nobody has


class Grammar(unittest.TestCase):
    CASES = [  # chain, calls, anywhere, right
        ("a b c", "a", False, True),
        ("a b c", "a b c", False, True),
        ("a b c", "a c", False, False),
        ("a b c", "b c", False, False),
        ("a b c", "b c", True, True),
        ("a b c", "a b c d", False, False),
        ("a b{3} c", "a b b b c", False, True),
        ("a b{3} c", "a b b c", False, False),
        ("a b{3} c", "a b b b b", False, False),
        ("a b{+} c", "a b b b b c", False, True),
        ("a b{+} c", "a c", False, False),
        ("a l$* c", "a l$x$0 c", False, True),
    ]

    def test_chains(self):
        for chain, calls, anywhere, right in self.CASES:
            with self.subTest(chain=chain, calls=calls):
                self.assertEqual(chains.is_chain(chains.parse_chain(chain), calls.split(), anywhere), right)


class Incomplete(unittest.TestCase):
    CASES = [  # frame, why
        (chains.Frame("[truncated: frame unreadable]", ""), "[truncated: frame unreadable]"),
        (chains.Frame("[hotspot: unknown function]", ""), "unknown: [hotspot: unknown function]"),
        (chains.Frame("[call_stub]", ""), None),
        (chains.Frame("0x7f00", ""), "unknown: code"),
        (chains.Frame(chains.HEAP_FRAMES, ""), None),
        (chains.Frame("[gap: no unwind rule]", ""), None),
        (chains.Frame("a.B.c", ""), None),
    ]

    def test_reasons(self):
        for frame, why in self.CASES:
            with self.subTest(frame=frame.name):
                self.assertEqual(chains.why_incomplete([frame, ROOT]), why)
        self.assertEqual(chains.why_incomplete([chains.Frame("a.B.c", "")]), "native root missing")


@unittest.skipUnless(language.FULL, "skip: a JVM that watches itself is for --full: how far it has started, load decides")
class Observed(changes.Changed, unittest.TestCase):
    """Without a profiler: what the JVM says of its own threads."""
    never = "Burner.never", "Burner.absent"

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        found = next((r for r in javas.runtimes.find("hotspot") if not r.root or os.geteuid() == 0), None)
        if not found:
            raise unittest.SkipTest("no Java here")
        try:
            javas.build(directory.name)
        except javas.Skipped as reason:
            raise unittest.SkipTest(str(reason))
        done = javas.run(found.argv(["-Dobserve=" + str(OBSERVE), "-cp", directory.name, "Burner", "0",
                                     *SCENARIOS], directory.name))
        cls.said = chains.Said(done.stdout)
        cls.numbers = {name: number for number, name in cls.said.threads.items()}
        library = javas.Library(directory.name)
        seen = [chains.stacks.Sample(frames, 1, {}) for _, frames in cls.said.seen]
        cls.judge = chains.Judge(cls.said, library.code(found, seen), set(library.own))

    def judged(self, name, frames):
        return self.judge.judge([*frames, ROOT], self.numbers.get(name, NOT_RUN))

    def true_stacks(self):
        """
        Those in the midst of their work, of the burner's own methods alone: a stack trace has no
        signatures, which tell the JDK's overloads apart, and not what the VM does in between.
        """
        return [(frames, range(len(frames)), lambda other, name=name: self.judged(name, other) == chains.TRUE)
                for name, frames in self.said.seen
                if frames and self.judged(name, frames) == chains.TRUE
                and all(chains.class_of(f) in self.judge.own for f in frames)
                and any(f.name.endswith(".turn") for f in frames[1:])]

    def test_most_are_true(self):
        seen = [(name, frames) for name, frames in self.said.seen if name in SCENARIOS and frames]
        wrong = [(self.judged(*one), chains.text_of(one[1])) for one in seen
                 if self.judged(*one) != chains.TRUE]
        # Called by the VM: in a profile native frames are between.
        wrong = [one for one in wrong if not one[0].endswith((".<clinit>", "Exception.<init>"))]
        self.assertGreater(len(seen), len(SCENARIOS))
        self.assertLess(len(wrong), len(seen) * 0.1, wrong[:3])


if __name__ == "__main__":
    unittest.main()

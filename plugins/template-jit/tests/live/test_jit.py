#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The toy JIT under the unwinder that is to be copied for a real one, built outside the tree. Needs
root and bpf().

    test_jit.py [NAME...]
"""
import glob
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
PLUGIN = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(PLUGIN, "..", "..", "tests", "live"))
import outside  # noqa: E402
import counting  # noqa: E402
import stacks  # noqa: E402

FILES = {"program.jit", "stubs.jit"}
# The functions of programs/jit.c, and its stubs.
NAMES = {"outer", "glue", "middle", "twist", "turn", "inner", "heat", "glow", "finish", "bounce", "busy",
         "skip", "deep", "gap_inner", "gap_outer", "entry_stub", "call_stub"}


class Jit(outside.Case):
    unwinders = {"jit": PLUGIN}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if os.uname().machine != "x86_64":
            raise unittest.SkipTest("the toy JIT makes machine code for x86-64")
        cls.jit = outside.compile_program(os.path.join(cls.dir, "jit"), "-pthread",
                                          *glob.glob(os.path.join(HERE, "..", "programs", "*.c")))

    def check_mode(self, *mode, threshold="99.5", frequency="833"):
        """Samples of the first milliseconds are native: its plugin is not attached yet."""
        self.check(self.jit, *mode, threshold=threshold, frequency=frequency)
        with open(self.out, "rb") as file:
            profile = stacks.Profile(stacks.gzip.decompress(file.read()))
        named = {frame.name for sample in profile.samples for frame in sample.frames if not frame.file}
        self.assertFalse({name for name in named if not name.startswith(("0x", "["))} - NAMES)

    def samples_of(self, function):
        """Those of what was recorded that have this function."""
        return [sample for sample in stacks.read_profile(self.out).samples
                if any(frame.name == function for frame in sample.frames)]

    def count(self, text, counter):
        return int(next(line.split()[0] for line in text.splitlines() if counter in line))

    def test_code_that_moves(self):
        self.check_mode("plain")

    def test_inlined_functions_have_files_and_lines(self):
        self.check_mode("plain")
        found = {line for line in outside.lines_in(self.out) if line[1] in FILES}
        for expected in (("glow", "program.jit", 82, 80), ("heat", "program.jit", 42, 40),
                         ("inner", "program.jit", 31, 30), ("inner", "program.jit", 32, 30)):
            self.assertIn(expected, found)

    def test_code_in_pages_of_its_own(self):
        self.check_mode("anywhere")

    def test_code_that_was_mapped_a_moment_ago(self):
        self.check_mode("fresh", threshold="99")

    def test_turns(self):
        for turns in ("3", "40"):
            with self.subTest(turns=turns):
                self.check_mode("turns", turns)

    def test_turns_that_run_out_of_tail_calls_skip_native_frames(self):
        self.check_mode("apart", "40")
        text = self.record(self.jit, "2", "apart", "40")
        found = sum(sample.count for sample in self.samples_of("apart"))
        self.assertGreater(found, 50, text)
        self.assertGreater(self.count(text, "jit: native frames skipped for want of tail calls"), 2 * found)
        self.assertEqual(self.count(text, "jit: anchors told"), 0)

    def test_deep_stacks(self):
        # A walk of 1 200 frames takes a millisecond where both threads of a core are busy: no tick comes meanwhile.
        self.check_mode("deep", "1000", "200", threshold="99", frequency="199")

    def test_code_without_unwind_rules_is_a_gap(self):
        self.check_mode("gap")
        text = self.record(self.jit, "2", "gap")
        samples = self.samples_of("gap_inner")
        found = sum(sample.count for sample in samples)
        without = sum(sample.count for sample in samples if not any(map(stacks.is_gap, sample.frames)))
        self.assertGreater(found, 50, text)
        self.assertGreater(self.count(text, "jit: anchors told"), found)
        self.assertFalse(counting.is_missed(without, found, 99), text)
        said = re.search(r"(?m)^stacks: \d+\.\d+ % complete \((\d+\.\d+) % with a gap\)", text)
        whole = sum(sample.weight_ns for sample in stacks.read_profile(self.out).samples)
        self.assertAlmostEqual(float(said[1]), 100 * sum(sample.weight_ns for sample in samples) / whole, delta=1, msg=text)

    def advice_about(self, mode):
        """What doctor says while the JIT runs in this mode: (status, detail, fix), the pid cut off."""
        with subprocess.Popen([self.jit, "60", mode], stdout=subprocess.PIPE, text=True) as program:
            try:
                program.stdout.readline()  # it runs
                doctor = outside.run(outside.BINARY, "doctor", "--json", env=self.environment)
            finally:
                program.kill()
        self.assertEqual(doctor.returncode, 0, doctor.stderr)
        rows = [row for row in json.loads(doctor.stdout) if row["check"] == "jit"]
        return [(row["status"], row["detail"].partition(": ")[2], row["fix"]) for row in rows
                if str(program.pid) in row["detail"].partition(":")[0].split()]

    def test_doctor_has_its_advice(self):
        self.assertEqual(self.advice_about("plain"), [("ok", "nothing to advise", "")])
        (status, found, fix), = self.advice_about("anywhere")
        self.assertEqual(status, "info")
        self.assertIn("pages of its own", found)
        self.assertIn("plain", fix)

    def test_layout_that_does_not_hold_is_refused(self):
        changed = outside.compile_program(
            os.path.join(self.dir, "jit_9"), "-pthread", "-DJIT_VERSION=9",
            *glob.glob(os.path.join(HERE, "..", "programs", "*.c")))
        text = self.record(changed, "1", "plain")
        self.assertRegex(text, r"jit: pid \d+: version 9 is not known, its frames stay native")


if __name__ == "__main__":
    outside.main()

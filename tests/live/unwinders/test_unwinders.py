#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Language unwinders built outside the tree and what the profiler makes of them. Needs root and bpf().

    test_unwinders.py [NAME...]

toy, the template (plugins/template), marks the frames of an interpreter; leap is entered for code
without unwind rules (leap/). EBPF_PROFILER_BUILD is the build directory whose headers they are built with.
"""
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
LIVE = os.path.join(HERE, "..")
sys.path.insert(0, LIVE)
import outside  # noqa: E402    and with it where the kit is
import counting  # noqa: E402
import stacks  # noqa: E402
from outside import BINARY, BUILD, ROOT, lines_in, run  # noqa: E402

TEMPLATE = os.path.join(ROOT, "plugins", "template")
# Percent of the time of a program that maps a page every 2 ms: what that costs differs by ten between machines.
MOVES = "15"


def compile_program(directory, name, *flags, output=None):
    sources = os.path.join(TEMPLATE, "tests") if name == "toy" else LIVE
    return outside.compile_program(os.path.join(directory, output or name),
                                   os.path.join(sources, "programs", name + ".c"), *flags)


class Case(outside.Case):
    unwinders = {"toy": TEMPLATE, "leap": os.path.join(HERE, "leap")}


def changed_template(directory, *changes):
    """A copy of plugins/template with (file, old text, new text) exchanged."""
    source = os.path.join(directory, "changed")
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(TEMPLATE, source)
    for name, old, new in changes:
        path = os.path.join(source, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if old not in text:
            raise RuntimeError(f"{name} has no {old}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
    return source


UNBOUNDED = ("toy_unwind.bpf.c", "(off & (TOY_FRAME_BYTES - 8))", "off")


class Check(Case):
    def check_plugin(self, *changes, status=0):
        directory = tempfile.mkdtemp(dir=self.dir)
        built = run(os.path.join(ROOT, "tests", "abi", "build_unwinder"), BUILD, directory,
                    "toy=" + changed_template(self.dir, *changes))
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        result = run(BINARY, "plugins", "--check", os.path.join(directory, "toy.so"))
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout

    def test_good_one(self):
        text = self.check_plugin()
        self.assertRegex(text, r"(?m)^ok +descriptor +toy 1\.0: unwinder, ABI 1\.\d+$")
        self.assertRegex(text, r"(?m)^ok +probe +not this program \(EP_NOT_MINE\)")
        self.assertRegex(text, r"(?m)^ok +BPF +toy_unwind: .* \d+ frames per run$")

    def test_program_that_the_verifier_refuses(self):
        text = self.check_plugin(UNBOUNDED, status=1)
        self.assertRegex(text, r"(?m)^fail +BPF +toy_unwind: .*: the kernel says: ")

    def test_program_that_is_missing(self):
        self.assertIn("No such file", self.check_plugin(
            ("toy.c", 'program = "toy_unwind"', 'program = "other"'), status=1))

    def test_probe_that_claims_everything(self):
        self.assertIn("its runtime", self.check_plugin(
            ("toy.c", "return EP_NOT_MINE;", "about = top = run = (struct ep_symbol){0, 1};"),
            status=1))


class Listing(Case):
    def test_plugins_are_listed(self):
        listing = run(BINARY, "plugins", env=self.environment).stdout
        self.assertRegex(listing, r"(?m)^toy +1\.0 +unwinder +1\.\d+ +ok ")
        self.assertRegex(listing, r"(?m)^leap +1\.0 +unwinder +1\.\d+ +ok ")


class Mark(Case):
    """toy: marked native frames are replaced by what they interpret."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.toy = compile_program(cls.dir, "toy")

    def test_mixed_stacks_are_in_order(self):
        for rounds in ("1", "6", "150"):
            with self.subTest(rounds=rounds):
                self.check(self.toy, rounds)

    def test_a_thousand_frames_and_two_hundred_native_ones(self):
        self.check(self.toy, "100", "deep")

    def test_static_program(self):
        self.check(compile_program(self.dir, "toy", "-static", output="toy_static"), "4")

    def test_interpreter_that_is_ready_late(self):
        # Ready after 300 ms, asked again after 2, 4, 8, ... ms: native frames until then.
        self.check(self.toy, "4", "late", threshold="75", seconds="3")
        # The interpreter runs from the begin: what it called is never shown without the reason.
        silent = [sample for sample in stacks.read_profile(self.out).samples
                  if stacks.is_complete(sample.frames)
                  and {"toy_run", "bounce"} <= {stacks.bare(frame.name) for frame in sample.frames}
                  and "outer" not in {frame.name for frame in sample.frames}]
        self.assertEqual([[frame.name for frame in sample.frames] for sample in silent], [])

    def test_frames_have_files_and_lines(self):
        self.check(self.toy, "3")
        found = lines_in(self.out)
        for expected in (("outer", "outer.toy", 11, 10), ("inner", "inner.toy", 21, 20),
                         ("busy", "busy.toy", 31, 30)):
            self.assertIn(expected, found)

    def test_dump_has_them_in_one_stack(self):
        for _ in range(10):
            with subprocess.Popen([self.toy, "1000", "2"], stdout=subprocess.DEVNULL) as process:
                time.sleep(0.05)
                text = run(BINARY, "dump", "-p", str(process.pid), env=self.environment).stdout
                process.kill()
            self.assertRegex(text, r"(?m)^thread \d+ toy$")
            # Each round is two functions of the language, entered from native code.
            self.assertRegex(text, r"(?s)native  toy  bounce\n(?:toy  inner  inner\.toy:\d+\n)"
                                   r"toy  outer  outer\.toy:\d+\n.*native  toy  main\n")

    def test_program_is_loaded_when_it_is_needed(self):
        without = self.record("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
        self.assertNotIn("unwinder loaded", without)
        with_toy = self.record(self.toy, "1")
        self.assertRegex(with_toy, r"toy: unwinder loaded in \d+ ms, \d+ frames per run")
        self.assertNotIn("leap: unwinder loaded", with_toy)

    def test_unknown_version_degrades_to_native_frames(self):
        changed = compile_program(self.dir, "toy", "-DTOY_VERSION=7", output="toy_7")
        text = self.record(changed, "1", "2")
        self.assertRegex(text, r"toy: pid \d+: version 7 is not known, its frames stay native")
        names = {frame.name for sample in stacks.read_profile(self.out).samples
                 for frame in sample.frames}
        self.assertIn("toy_run", names)
        self.assertNotIn("inner", names)


class Refused(Case):
    """A plugin that fails disables itself, with one line; the profiler goes on."""

    def test_frames_stay_native(self):
        built = run(os.path.join(ROOT, "tests", "abi", "build_unwinder"), BUILD, self.plugins,
                    "toy=" + changed_template(self.dir, UNBOUNDED))
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        text = self.record(compile_program(self.dir, "toy"), "1", "3")
        self.assertEqual(text.count("toy: its unwinder cannot be loaded, its frames stay native"), 1)
        samples = stacks.read_profile(self.out).samples
        complete = sum(s.count for s in samples if stacks.is_complete(s.frames))
        self.assertGreater(complete, 0.95 * sum(s.count for s in samples))
        self.assertIn("toy_run", {frame.name for s in samples for frame in s.frames})


def other_leap(directory):
    """leap under another name, for code that begins in another way: it is offered leap's, too."""
    source = os.path.join(directory, "jump_source")
    os.mkdir(source)
    for name in os.listdir(os.path.join(HERE, "leap")):
        with open(os.path.join(HERE, "leap", name), encoding="utf-8") as file:
            text = file.read()
        text = text.replace("0xbb4958ull", "0xffffffull").replace('.name = "leap"', '.name = "jump"')
        for word in ("leap_bpf", "leap_shared"):
            text = text.replace(word, word.replace("leap", "jump"))
        with open(os.path.join(source, name.replace("leap", "jump")), "w", encoding="utf-8") as file:
            file.write(text)
    return source


class Enter(Case):
    """leap: native to language and back by tail calls."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if os.uname().machine != "x86_64":
            raise unittest.SkipTest("leap is machine code for x86-64")
        cls.leap = compile_program(cls.dir, "leap")

    def test_native_and_language_in_turns(self):
        for leaps in ("1", "3", "9"):
            with self.subTest(leaps=leaps):
                self.check(self.leap, leaps)

    def test_code_that_moves(self):
        """To a new page every 2 ms: in one exact range, mapped or not, and without any."""
        for where in ("heap", "anonymous"):
            with self.subTest(where=where):
                self.check(self.leap, "3", where, aside=MOVES)

    def test_many_frames_of_a_language_leave_room_for_native_ones(self):
        self.check(self.leap, "1", "page", "1024")

    def test_program_asks_for_a_refresh(self):
        self.check(self.leap, "3", "untold", threshold="97")

    def test_anonymous_code_is_offered_in_turn(self):
        built = run(os.path.join(ROOT, "tests", "abi", "build_unwinder"), BUILD, self.plugins,
                    "jump=" + other_leap(self.dir))
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        try:
            self.check(self.leap, "2", "anonymous", aside=MOVES)
            self.assertIn("jump: unwinder loaded", self.record(self.leap, "1", "2", "anonymous"))
        finally:
            os.remove(os.path.join(self.plugins, "jump.so"))

    def test_too_many_turns_end_in_an_error(self):
        self.record(self.leap, outside.SECONDS, "30")
        samples = [s for s in stacks.read_profile(self.out).samples
                   if [f.name for f in stacks.without_kernel(s.frames)[:1]] == ["spin"]]
        found = collections.Counter()
        for sample in samples:
            found[tuple("leap" if frame.name == NO_NAME else frame.name
                        for frame in stacks.without_kernel(sample.frames))] += sample.count
        # The calls may be out in either unwinder: what came before the program's turn takes some of them, too.
        whole = ["spin", "swing"] + ["leap", "swing"] * 30
        wrong = {names: n for names, n in found.items() if len(names) < 2 + 2 * 9 or
                 list(names) != whole[:len(names) - 1] + ["[truncated: out of tail calls]"]}
        count = sum(found.values())
        self.assertGreater(count, 50)
        self.assertFalse(counting.is_missed(sum(wrong.values()), count, 98), f"of {count} samples: {wrong}")


# Where others have the CPUs a program of a second may be gone before it is named: others judge names.
NO_NAME = "[leap: unknown function]"


class Both(Case):
    def test_one_process_with_both(self):
        """The interpreter calls C through code that only leap unwinds."""
        if os.uname().machine != "x86_64":
            self.skipTest("leap is machine code for x86-64")
        both = compile_program(self.dir, "leap", "-DWITH_TOY", output="both")
        self.check(both, "4")


class Every(Case):
    """One unwinder that marks, is entered, and uses every service and helper there is."""
    unwinders = {"every_service": os.path.join(ROOT, "tests", "abi", "every_service")}

    def test_stacks(self):
        self.check(compile_program(self.dir, "toy"), "100")  # more frames than in one run
        self.assertIn(("inner", "inner.toy", 21, 20), lines_in(self.out))

    def test_both_ways_in_one_plugin(self):
        if os.uname().machine != "x86_64":
            self.skipTest("leap is machine code for x86-64")
        self.check(compile_program(self.dir, "leap", "-DWITH_TOY", output="both"), "4")

    def test_conformance(self):
        result = run(BINARY, "plugins", "--check", os.path.join(self.plugins, "every_service.so"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("every_unwind", result.stdout)


if __name__ == "__main__":
    outside.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of live stacks must itself be right: over profiles made here, good ones and bad."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.append(os.path.join(HERE, "..", "cli"))
import made  # noqa: E402
import stacks  # noqa: E402
from stacks import Frame  # noqa: E402


def write_profile(samples, period_ns=0):
    """samples: [(frames, count, {label: text or number})], each of period_ns"""
    profile, files, locations = made.Pprof(period=period_ns), {"": 0}, {}
    for frames, count, labels in samples:
        for frame in frames:
            if frame.file not in files:
                files[frame.file] = profile.mapping("/lib/" + frame.file)
            if frame not in locations:
                locations[frame] = profile.location(
                    frame.name, getattr(frame, "source", ""), getattr(frame, "line", 0), files[frame.file],
                    0x2000 + len(locations), system_name=getattr(frame, "signature", None))
        profile.sample([locations[frame] for frame in frames], count, labels.items())
    return profile.bytes()


def prog(*names):
    return [Frame(name, "prog") for name in names]


ROOT = [Frame("libc.so.6+0x271ca", "libc.so.6"), Frame("__libc_start_main", "libc.so.6"),
        Frame("_start", "prog")]
THREAD = [Frame("libc.so.6+0x89000", "libc.so.6"), Frame("libc.so.6+0x10a000", "libc.so.6")]
KERNEL = [Frame("do_read", "[kernel.kallsyms]"), Frame("entry", "[kernel.kallsyms]")]
QSORT = [Frame("libc.so.6+0x3f2aa", "libc.so.6"), Frame("qsort_r", "libc.so.6")]
ERROR = [Frame("[truncated: stack memory unreadable]", "")]
LIBC_READ = [Frame("read", "libc.so.6")]


class Grammar(unittest.TestCase):
    CASES = [  # line, frames, matches
        ("spin a main", prog("spin", "a", "main") + ROOT, True),
        ("spin a main", prog("spin", "b", "main") + ROOT, False),
        ("spin a main", prog("spin", "main") + ROOT, False),
        ("spin a main", prog("spin", "a", "a", "main") + ROOT, False),
        ("spin a main", prog("spin", "a", "main") + ERROR, False),
        ("spin a main", prog("spin", "a") + ERROR, False),
        ("spin a main", prog("spin", "a", "main", "extra") + ROOT, False),
        ("spin a main", KERNEL + prog("spin", "a", "main") + ROOT, True),
        ("spin work", prog("spin", "work") + THREAD, True),
        ("cb LIBC sort main", prog("cb") + QSORT + prog("sort", "main") + ROOT, True),
        ("cb LIBC sort main", prog("cb", "sort", "main") + ROOT, False),
        ("cb ?LIBC sort main", prog("cb", "sort", "main") + ROOT, True),
        ("cb ... main", prog("cb", "x", "y", "main") + ROOT, True),
        ("cb ... main", prog("cb", "main") + ROOT, True),
        ("cb ... sort main", prog("cb", "x", "main") + ROOT, False),
        ("down{3} main", prog("down", "down", "down", "main") + ROOT, True),
        ("down{3} main", prog("down", "down", "main") + ROOT, False),
        ("down{3} main", prog("down", "down", "down", "down", "main") + ROOT, False),
        ("down+ main", prog("down", "down", "main") + ROOT, True),
        ("KERNEL LIBC a main", KERNEL + LIBC_READ + prog("a", "main") + ROOT, True),
        ("KERNEL LIBC a main", LIBC_READ + prog("a", "main") + ROOT, False),
        ("spin SIGRETURN spin main", prog("spin") + LIBC_READ + prog("spin", "main") + ROOT, True),
        ("spin SIGRETURN spin main", prog("spin") + QSORT + prog("spin", "main") + ROOT, False),
        ("spin GAP main", prog("spin", "[gap: unwind tables not loaded]", "main") + ROOT, True),
        ("spin main", prog("spin", "[gap: unwind tables not loaded]", "main") + ROOT, False),
        ("x|y? main", prog("yz", "main") + ROOT, True),
        ("n::f<int> main", prog("n::f<int>(int (*)(int)) const", "main") + ROOT, True),
        ("f main", prog("f.constprop.0.cold", "main") + ROOT, True),
    ]

    def test_each_line(self):
        for line, frames, wanted in self.CASES:
            with self.subTest(line=line, frames=frames):
                self.assertEqual(stacks.Pattern("STACK " + line).matches(frames), wanted)

    def test_a_sample_on_the_way_is_aside(self):
        pattern = stacks.Pattern("STACK spin a b main")
        for frames, wanted in [(prog("a", "b", "main"), True), (prog("main"), True),
                               (LIBC_READ + prog("main"), True), (prog("spin", "b", "main"), False),
                               (prog("a", "main"), False), (prog("other", "main"), False)]:
            with self.subTest(frames=frames):
                self.assertEqual(pattern.matches_aside(frames + ROOT), wanted)

    def test_completeness(self):
        for frames, wanted in [(prog("a", "main") + ROOT, True), (prog("a") + ERROR, False),
                               (prog("a", "main"), False), (prog("w") + THREAD, True),
                               (KERNEL, True), (KERNEL + prog("a"), False)]:
            with self.subTest(frames=frames):
                self.assertEqual(stacks.is_complete(frames), wanted)


class Checker(unittest.TestCase):
    GOOD = prog("spin", "a", "main") + ROOT

    def check(self, samples, truth="STACK spin a main\n", options=(), period_ns=10**9 // 499):
        with tempfile.TemporaryDirectory() as directory:
            profile, text = os.path.join(directory, "p.pb.gz"), os.path.join(directory, "truth")
            with open(profile, "wb") as file:
                file.write(write_profile(samples, period_ns))
            with open(text, "w", encoding="utf-8") as file:
                file.write(truth)
            run = subprocess.run([sys.executable, os.path.join(HERE, "..", "live", "check_stacks.py"), *options,
                                  "--pprof", profile, "--truth", text],
                                 capture_output=True, text=True, check=False)
            return run.returncode, run.stdout + run.stderr

    def test_all_right(self):
        status, output = self.check([(self.GOOD, 1000, {"comm": "prog"})])
        self.assertEqual(status, 0, output)
        self.assertIn("matching  100.00 %", output)

    def test_the_threshold_decides(self):
        bad = prog("spin") + ERROR
        for count, wanted in [(17, 0), (18, 1)]:    # of 1000 at 99.5 %: counting.py
            status, output = self.check([(self.GOOD, 1000 - count, {}), (bad, count, {})])
            self.assertEqual(status, wanted, output)

    def test_too_many_aside(self):
        status, output = self.check([(self.GOOD, 900, {}), (prog("main") + ROOT, 100, {})])
        self.assertEqual(status, 1, output)

    def test_the_start_of_a_program_is_aside_for_as_long_as_it_says(self):
        start = ([Frame(name, "ld-linux-x86-64.so.2") for name in ("_dl_relocate_object", "_start")], 100, {})
        for seconds, wanted in [("0.200", 0), ("0.020", 1)]:
            truth = f"STACK spin a main\nSTART {seconds}\nCPU 2.004\n"
            status, output = self.check([(self.GOOD, 900, {}), start], truth)
            self.assertEqual(status, wanted, output)

    def test_a_stack_that_is_never_seen(self):
        status, output = self.check([(self.GOOD, 900, {})], "STACK spin a main\nSTACK spin b main\n")
        self.assertEqual(status, 1, output)
        self.assertIn("almost never seen", output)

    def test_a_label_that_is_missing(self):
        samples = [(self.GOOD, 900, {"thread_name": "one"})]
        self.assertEqual(self.check(samples, options=["--labels", "thread_name=one"])[0], 0)
        self.assertEqual(self.check(samples, options=["--labels", "thread_name=two"])[0], 1)

    def test_samples_of_the_profiler_are_left_out(self):
        own = (prog("fork", "cli"), 500, {"comm": "ebpf-profiler"})
        self.assertEqual(self.check([(self.GOOD, 900, {"comm": "prog"}), own])[0], 0)

    def test_cpu_time_that_is_missing(self):
        for used, wanted in [("2.0", 0), ("2.5", 1), ("1.5", 1)]:
            status, output = self.check([(self.GOOD, 998, {})], f"STACK spin a main\nCPU {used}\n")
            self.assertEqual(status, wanted, output)

    def test_cpu_time_is_the_weight(self):
        truth = "STACK spin a main\nCPU 2.0\n"
        for count, period_ns, wanted in [(910, 2200000, 0), (998, 1000000, 1), (499, 4000000, 0)]:
            status, output = self.check([(self.GOOD, count, {})], truth, period_ns=period_ns)
            self.assertEqual(status, wanted, output)

    def test_a_known_gap_is_a_skip_until_it_is_closed(self):
        bad = (prog("spin") + [Frame("[truncated: no rule]", "")], 100, {})
        gap = ["--known-gap", "no rule"]
        status, output = self.check([(self.GOOD, 900, {}), bad], options=gap)
        self.assertEqual(status, 77, output)
        self.assertIn("skip: known gap: 100 samples", output)
        self.assertEqual(self.check([(self.GOOD, 900, {})], options=gap)[0], 1)
        other = (prog("spin") + ERROR, 100, {})
        self.assertEqual(self.check([(self.GOOD, 900, {}), bad, other], options=gap)[0], 1)

    def test_no_samples_are_a_failure(self):
        self.assertEqual(self.check([])[0], 1)


if __name__ == "__main__":
    unittest.main()

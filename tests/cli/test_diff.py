#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`diff` over profiles that are made up here. Needs no privileges.

    test_diff.py [NAME...]      EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import base64
import collections
import contextlib
import fcntl
import gzip
import json
import os
import pty
import random
import struct
import subprocess
import tempfile
import termios
import unittest

import made

BINARY = os.environ.get("EBPF_PROFILER_BINARY", "build/core/cli/ebpf-profiler")
PLUGINS = os.environ.get("EBPF_PROFILER_PLUGINS_DIR", "build/plugins/together")
HOSTILE = "<script>\x1b[31m\u202e"


def run(*arguments, **options):
    return subprocess.run([BINARY, "diff", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="surrogateescape", timeout=120, check=False, **options)


class Diff(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="ebpf-profiler-test-")
        self.addCleanup(directory.cleanup)
        self.dir = directory.name
        os.chmod(self.dir, 0o777)   # who is root becomes nobody
        self.before = self.write("before.pb.gz", {"hot": 2000, "cold": 7000, "old": 1000})
        self.after = self.write("after.pb.gz", {"hot": 2500, "cold": 6900, HOSTILE: 600})

    def write(self, name, counts, seconds=0, **more):
        profile = made.Pprof(**more)
        profile.header += made.number(9, 10**18) + made.number(10, seconds * 10**9) if seconds else b""
        root = profile.location("main", "main.c", 3)
        for function, count in counts.items():
            profile.sample([profile.location(function, "a.c", 1), root], count)
        path = profile.write(os.path.join(self.dir, name))
        os.chmod(path, 0o644)
        return path

    def test_json(self):
        result = json.loads(run("--json", self.before, self.after).stdout)
        fates = {mover["function"]: mover["fate"] for mover in result["movers"]}
        self.assertEqual(fates, {"hot": "stays", "old": "gone", HOSTILE.replace("\x1b", "?"): "new"})
        hot = next(mover for mover in result["movers"] if mover["function"] == "hot")
        self.assertTrue(0 < hot["self"]["low"] < 0.05 < hot["self"]["high"], hot)
        self.assertEqual(hot["self"]["samples"], [2000, 2500])

    def test_fail_above(self):
        for percent, status in (("0", 6), ("2", 6), ("8", 0), ("90%", 0), ("x", 2)):
            result = run("-X", "script", "--fail-above", percent, self.before, self.after)
            self.assertEqual(result.returncode, status, (percent, result.stderr))
        self.assertIn("hot takes at least", run(self.before, self.after, "--fail-above", "2", "-X", "script").stderr)

    def test_equal_work_that_takes_longer(self):
        """One function of a fixed number of requests became dearer: per second all others seem to take less."""
        work = {f"f{i}": 400 for i in range(17)}
        before = self.write("fast.pb.gz", {**work, "slow": 200}, seconds=10)
        after = self.write("slow.pb.gz", {**work, "slow": 700}, seconds=13)
        result = json.loads(run("--json", "--total", before, after).stdout)
        self.assertEqual([mover["function"] for mover in result["movers"] if mover["self"]["moved"]], ["slow"])
        slow = result["movers"][0]["self"]
        self.assertEqual((slow["a"], slow["b"], slow["weight"]), (2e9, 7e9, [2 * 10**9, 7 * 10**9]))
        self.assertTrue(slow["low"] < 5e9 < slow["high"], slow)
        text = run("--total", before, after).stdout
        self.assertIn("CPU time of whole recordings, for equal work\n", text)
        self.assertRegex(text, r"(?m)^    2\.00 s    7\.00 s    \+5\.00  \(\+4\.\d\d to \+5\.\d\d\) +2\.86 %   9\.33 %  slow$")
        self.assertRegex(run("--absolute", before, after).stdout,
                         "(?m)^B took 1.30 times as long as A: if both did the same work, compare with --total$")
        self.assertNotIn("times as long", text)
        self.assertRegex(run(before, after).stdout, r"(?m)^    2\.86 %    9\.33 %    \+6\.48  \(.*\) +2\.00 s   7\.00 s  slow$")

    def test_power_of_total(self):
        """Of 2 000 samples that are independent of each other: the worst that equal work can do."""
        rng, found, alarms, trials = random.Random(1), 0, 0, 60
        base = {"hot": 0.05, **{f"f{i}": 0.95 / 12 for i in range(12)}}

        def recorded(name, shares, n):
            return self.write(name, collections.Counter(rng.choices(list(shares), list(shares.values()), k=n)))
        for trial in range(trials):
            before, same = recorded("a.pb.gz", base, 2000), recorded("b.pb.gz", base, 2000)
            after = recorded("c.pb.gz", {**base, "hot": 0.08 * 2060 / 2000}, 2060)
            found += any(mover["function"] == "hot" and mover["self"]["low"] > 0
                         for mover in json.loads(run("--json", "--total", before, after).stdout)["movers"])
            alarms += bool(json.loads(run("--json", "--total", before, same).stdout)["movers"])
        self.assertGreaterEqual(found, trials * 0.65)
        self.assertLessEqual(alarms, trials * 0.1)

    def test_what_is_more_has_a_unit(self):
        for options, says in (([], "points more than before, above the 2 of"), (["--total"], "s more than before, above the 2 of"),
                              (["--absolute"], "% of one CPU more than before, above the 2 of")):
            result = run(*options, "--fail-above", "2", *(self.write(name, counts, seconds=100) for name, counts in (
                ("b.pb.gz", {"hot": 2000, "cold": 7000}), ("a.pb.gz", {"hot": 3000, "cold": 7000}))))
            self.assertEqual(result.returncode, 6, result.stderr)
            self.assertRegex(result.stderr, r"\Aebpf-profiler: hot takes at least \d+\.\d\d ?" + says)
        self.assertEqual(run("--total", "--fail-above", "300ms", self.before, self.after).returncode, 6)
        self.assertIn("--fail-above takes CPU time with --total, like 0.5s, not '2%'",
                      run("--fail-above", "2%", "--total", self.before, self.after).stderr)
        self.assertIn("leave one out", run("--absolute", "--total", self.before, self.after).stderr)

    def test_too_few_samples_are_no_success(self):
        few, some = self.write("few.pb.gz", {"hot": 2, "cold": 4}), self.write("some.pb.gz", {"hot": 9, "cold": 9})
        result = run(few, some)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"(?m)^the least change that these samples can show: [67]\d\.\d\d points of a new function")
        result = run("--fail-above", "10", few, some)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertRegex(result.stderr, r"\Aebpf-profiler: 6 and 18 samples can show a change of [67]\d\.\d\d points at the "
                         r"least, not the 10 of --fail-above: record longer[^\n]*\n\Z")
        self.assertEqual(run("--fail-above", "90", few, some).returncode, 0)
        one = self.write("one.pb.gz", {"hot": 1})
        result = run("--fail-above", "0", one, one)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("1 and 1 samples can show no change at all", result.stderr)
        self.assertIn("these samples are too few to show any change\n", run(one, one).stdout)
        self.assertEqual(run("--fail-above", "0.5", self.before, self.before).returncode, 0)

    def test_80_columns(self):
        lines = self.on_terminal(80, self.before, self.after).splitlines()
        self.assertTrue(any(line.endswith("  hot") for line in lines), lines)
        table = [line for line in lines if " %  " in line and " points" not in line]
        self.assertLessEqual(max(map(len, table)), 80, lines)

    def on_terminal(self, columns, *arguments):
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen([BINARY, "diff", *arguments], stdout=follower, stderr=subprocess.PIPE) as process:
            os.close(follower)
            said = b""
            with contextlib.suppress(OSError):      # a follower that is closed
                while chunk := os.read(leader, 65536):
                    said += chunk
            self.assertEqual(process.wait(), 0)
        os.close(leader)
        return said.decode().replace("\x1b[1m", "").replace("\x1b[0m", "")

    def test_filters_are_of_both(self):
        result = json.loads(run("--json", "-I", "hot|cold", self.before, self.after).stdout)
        self.assertEqual((result["a"]["samples"], result["b"]["samples"]), (9000, 9400))

    def test_several_files_of_a_side(self):
        result = json.loads(run("--json", "--base", self.before, "--base", self.before, self.after).stdout)
        self.assertEqual((result["a"]["samples"], result["b"]["samples"]), (20000, 10000))

    def test_what_cannot_be_compared(self):
        other = self.write("heap.pb.gz", {"hot": 2000}, unit="bytes", kind="alloc_space")
        bad = os.path.join(self.dir, "bad.pb.gz")
        with open(bad, "w", encoding="utf-8") as file:
            file.write("nothing of the kind\x00")
        for arguments, status in (([self.before, other], 1), ([self.before, bad], 1), ([self.before], 2),
                                  ([self.before, os.path.join(self.dir, "none")], 1),
                                  (["-I", "nothing", self.before, self.after], 5)):
            result = run(*arguments)
            self.assertEqual(result.returncode, status, (arguments, result.stderr))
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)

    def test_a_page_that_fails_is_not_there(self):
        page, text = os.path.join(self.dir, "diff.html"), os.path.join(self.dir, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("this is no profile\n")
        os.chmod(text, 0o644)
        self.assertEqual(run(self.before, text, "-o", page).returncode, 1)
        self.assertFalse(os.path.exists(page))

    def test_a_page_has_both(self):
        if not all(os.path.exists(os.path.join(PLUGINS, name + ".so")) for name in ("html", "otlp_file")):
            self.skipTest("the page's plugin is not built")
        page = os.path.join(self.dir, "diff.html")
        result = run(self.before, self.after, "-o", page)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn('id="profile"', text)
        self.assertIn('id="profile-base"', text)
        for mark, name in (('id="profile">', self.after), ('id="profile-base">', self.before)):   # each by its name
            carried = text[text.index(mark) + len(mark):].split("</script>")[0]
            message = gzip.decompress(base64.b64decode(carried))
            self.assertIn(b"ebpf_profiler.title", message)
            self.assertIn(name.encode(), message)
        self.assertEqual(run(self.before, self.after, "-o", page).returncode, 1)     # it exists
        self.assertEqual(run(self.before, self.after, "-o", page, "--force").returncode, 0)
        self.assertEqual(json.loads(run("--json", self.before, page).stdout)["b"]["samples"], 10000)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`diff` over profiles that are made up here. Needs no privileges.

    test_diff.py [NAME...]      EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import json
import os
import subprocess
import tempfile
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

    def write(self, name, counts, **more):
        profile = made.Pprof(**more)
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
        self.assertEqual(run(self.before, self.after, "-o", page).returncode, 1)     # it exists
        self.assertEqual(run(self.before, self.after, "-o", page, "--force").returncode, 0)
        self.assertEqual(json.loads(run("--json", self.before, page).stdout)["b"]["samples"], 10000)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts that judge the rest: check-layers and count_tests.py must be able to say no."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


def run(script, *arguments):
    done = subprocess.run([sys.executable, os.path.join(ROOT, script), *arguments],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


class CheckLayers(unittest.TestCase):
    CASES = [  # file, what it includes, allowed
        ("core/elf/a.c", "core/base/vec.h", True),
        ("core/elf/a.c", "core/proc/maps.h", True),
        ("core/elf/a.c", "core/unwind/x.h", False),
        ("core/base/a.c", "core/elf/file.h", False),
        ("core/trace/a.c", "core/agent/agent.h", False),
        ("core/agent/a.c", "core/config/config.h", True),
        ("core/plugin/a.c", "core/config/config.h", False),
        ("core/proc/a.c", "bpf/shared.h", True),
        ("core/proc/a.c", "bpf/maps.bpf.h", False),
        ("core/walk/a.c", "bpf/native.bpf.h", True),
        ("core/walk/a.c", "bpf/maps.bpf.h", False),
        ("core/unwind/a.c", "bpf/native.bpf.h", False),
        ("core/proc/a.c", "ebpf-profiler/abi.h", True),
        ("exporters/pprof/a.c", "ebpf-profiler/abi.h", True),
        ("exporters/pprof/a.c", "core/base/vec.h", True),
        ("exporters/pprof/a.c", "core/trace/x.h", False),
        ("exporters/pprof/a.c", "exporters/otlp/x.h", False),
        ("exporters/pprof/a.c", "bpf/shared.h", False),
        ("exporters/pprof/a.c", "own.h", True),
        ("include/ebpf-profiler/a.h", "core/base/vec.h", False),
        ("include/ebpf-profiler/a.h", "ebpf-profiler/abi.h", True),
        ("bpf/a.bpf.c", "core/base/vec.h", False),
        ("core/new/a.c", "core/base/vec.h", False),
    ]

    def test_each_rule(self):
        for path, included, allowed in self.CASES:
            with self.subTest(path=path, included=included), tempfile.TemporaryDirectory() as tree:
                target = included
                if included.startswith("ebpf-profiler/"):
                    target = "include/" + included
                if included == "own.h":
                    target = os.path.dirname(path) + "/own.h"
                for name, text in ((target, ""), (path, f'#include "{included}"\n')):
                    os.makedirs(os.path.join(tree, os.path.dirname(name)), exist_ok=True)
                    with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                        file.write(text)
                status, output = run("scripts/check-layers", tree)
                self.assertEqual(status, 0 if allowed else 1, output)

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as tree:
            self.assertEqual(run("scripts/check-layers", tree)[0], 1)


class CountTests(unittest.TestCase):
    def count(self, *records):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "unit.json")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in records)
            status, output = run("tools/count_tests.py", path)
            return status, output.splitlines()

    def test_outcomes_are_summed(self):
        status, lines = self.count({"name": "p / a", "result": "OK", "stdout": ""},
                                   {"name": "p / b", "result": "SKIP", "stdout": "skip: not root\n"})
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed, 1 skipped"))
        self.assertIn("skip: not root", lines[0])

    def test_cmocka_functions_are_counted(self):
        text = "[       OK ] x\n[  SKIPPED ] y\n[  FAILED  ] z\n[  FAILED  ] z\n"
        status, lines = self.count({"name": "a", "result": "FAIL", "stdout": text})
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 1 skipped"))

    def test_a_crash_is_a_failure(self):
        status, lines = self.count({"name": "a", "result": "FAIL", "stdout": "[       OK ] x\n"})
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_no_tests_are_a_failure(self):
        self.assertEqual(self.count()[1][-1], "0 passed, 1 failed, 0 skipped")

    def test_only_skips_are_no_success(self):
        self.assertEqual(self.count({"name": "a", "result": "SKIP"})[0], 1)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The scripts that judge the rest, check-layers and count_tests.py, must be able to say no; `profile`
and `test` find their way to root.
"""
import json
import os
import shutil
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
        ("plugins/a/a.c", "core/agent/x.h", False),
        ("plugins/a/tests/unit/a.c", "core/agent/x.h", True),
        ("plugins/a/tests/unit/a.c", "plugins/a/a.h", True),
        ("plugins/a/a.c", "plugins/a/tests/unit/a.h", False),
        ("core/agent/a.c", "plugins/a/tests/unit/a.h", False),
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

    NAMES = [  # file, a line of it, allowed; there is a language snake
        ("core/elf/a.c", "/* as Snake does */", False),
        ("core/elf/a.c", "static int snake_find(void);", False),
        ("core/elf/a.c", "#define SNAKE 1", False),
        ("core/elf/a.c", "/* snakes, cobrasnake, snake3 */", True),
        ("core/elf/a.c", '"/usr/bin/snake"', True),
        ("core/elf/a.c", "plugins/snake/tests", False),
        ("core/elf/a.c", "/* the template, put together */", True),
        ("bpf/a.bpf.c", "/* snake */", False),
        ("exporters/otlp/a.c", "/* snake */", False),
        ("exporters/otlp/frame_type.c", '"snake"', True),
        ("scripts/a", "# snake", False),
        ("tests/unit/a.py", "# snake", False),
        ("tests/unit/test_snake.c", "", False),
        ("tests/live/snake/a.c", "", False),
        ("tests/replay/fixtures/snake-3.bin", b"\xff", False),
        ("tests/replay/fixtures/any.bin", b"snake\xff", True),
        ("include/ebpf-profiler/a.h", '/* "snake" */', True),
        ("plugins/snake/tests/unit/test_snake.c", "/* snake */", True),
        ("plugins/other/a.c", "/* snake */", True),
        ("docs/a.md", "snake", True),
    ]

    def test_no_language_is_named_outside_its_directory(self):
        for path, text, allowed in self.NAMES:
            with self.subTest(path=path, text=text), tempfile.TemporaryDirectory() as tree:
                for name, content in (("plugins/snake/snake.c", b""), ("plugins/template/a.c", b""),
                                      ("plugins/together/a.c", b""),
                                      (path, text if isinstance(text, bytes) else text.encode())):
                    os.makedirs(os.path.join(tree, os.path.dirname(name)), exist_ok=True)
                    with open(os.path.join(tree, name), "wb") as file:
                        file.write(content)
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

    def test_skips_of_unittest_are_counted(self):
        text = "Ran 3 tests in 0.1s\n\nOK (skipped=2)\n"
        status, lines = self.count({"name": "a", "result": "OK", "stderr": text},
                                   {"name": "b", "result": "OK", "stderr": "OK\n"})
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed, 1 skipped"))

    def test_a_crash_is_a_failure(self):
        status, lines = self.count({"name": "a", "result": "FAIL", "stdout": "[       OK ] x\n"})
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_a_failed_case_is_shown_with_what_it_printed_last(self):
        lots = "".join(f"line {i}\n" for i in range(100))
        text = ("[ RUN      ] x\nof x\n[       OK ] x\n"
                f"[ RUN      ] y\n{lots}why y failed\n[   FAILED ] y\n"
                "[ RUN      ] z\nof z\n[       OK ] z\n[  FAILED  ] y\n")
        _, lines = self.count({"name": "a", "result": "FAIL", "stdout": text},
                              {"name": "b", "result": "SKIP", "stdout": "skip: not root\n"})
        self.assertEqual(lines[:2], ["skipped: unit: b: skip: not root", "failed: unit: a.y"])
        self.assertEqual(lines[2], "    line 72")
        self.assertEqual(lines[-3:-1], ["    why y failed", "    [   FAILED ] y"])
        self.assertEqual(len(lines), 2 + 30 + 1)

    def test_a_failed_program_is_shown_with_what_it_printed_last(self):
        text = "x" * 5000 + "\n" + "[ RUN      ] y\nof y\n"
        _, lines = self.count({"name": "a", "result": "TIMEOUT", "stdout": text},
                              {"name": "b", "result": "FAIL"})
        self.assertEqual(lines, ["failed: unit: a: TIMEOUT", "    " + "x" * 300,
                                 "    [ RUN      ] y", "    of y", "failed: unit: b: FAIL",
                                 "0 passed, 2 failed, 0 skipped"])

    def test_no_tests_are_a_failure(self):
        self.assertEqual(self.count()[1][-1], "0 passed, 1 failed, 0 skipped")

    def test_only_skips_are_no_success(self):
        self.assertEqual(self.count({"name": "a", "result": "SKIP"})[0], 1)


class Door(unittest.TestCase):
    """profile and test in a tree of their own, with fakes of what would install, build and profile."""

    FAKES = {
        "tree/scripts/deps": "echo deps",
        "tree/scripts/build": "echo build",
        "tree/build/core/cli/ebpf-profiler":
            'while [ "$1" != -o ]; do shift; done; echo profiled >"$2"; echo "options $*"',
        "bin/id": "echo $FAKE_UID",
        "bin/sudo": 'echo "sudo $*"; FAKE_UID=0 SUDO_UID=1234 SUDO_GID=5678 exec "$@"',
        "bin/chown": 'echo "chown $*"',
        "bin/hostname": "echo example",
        "bin/meson": "exit 1",
    }
    TOOLS = ("sh", "dirname", "date", "env", "mktemp", "rm", "cp", "python3", "seq")

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = directory.name
        for name, text in self.FAKES.items():
            self.write(name, text)
        for name in ("scripts/common.sh", "scripts/profile", "scripts/test", "tools/count_tests.py"):
            os.makedirs(os.path.dirname(self.path("tree", name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), self.path("tree", name))
        for tool in self.TOOLS:
            os.symlink(shutil.which(tool), self.path("bin", tool))
        os.mkdir(self.path("work"))

    def path(self, *parts):
        return os.path.join(self.top, *parts)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(self.path(name), 0o755)

    def call(self, script, *arguments, uid=1000, **environment):
        done = subprocess.run([self.path("tree/scripts", script), *arguments], cwd=self.path("work"),
                              env={"PATH": self.path("bin"), "FAKE_UID": str(uid), **environment},
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    def test_root_needs_no_sudo(self):
        os.remove(self.path("bin/sudo"))
        status, output, errors = self.call("profile", "-F", "49", uid=0)
        self.assertEqual((status, output[:2]), (0, ["deps", "build"]), errors)
        self.assertRegex(output[2], r"^options -o profile-example-[-0-9]+\.pb\.gz -F 49$")
        self.assertEqual(len(output), 3)
        self.assertEqual(len(os.listdir(self.path("work"))), 1)

    def test_a_user_calls_sudo_and_owns_the_profile(self):
        status, output, errors = self.call("profile", "-d", "1 s")
        script = self.path("tree/scripts/profile")
        self.assertEqual(status, 0, errors)
        self.assertEqual(output[:3], [f"sudo env {script} -d 1 s", "deps", "build"])
        self.assertRegex(output[3], r" -d 1 s$")
        self.assertRegex(output[4], r"^chown -h 1234:5678 profile-example-[-0-9]+\.pb\.gz$")
        self.assertEqual(errors[0],
                         "profile: profiling the whole machine needs root: calling sudo")
        self.assertEqual(sum("sudo" in line for line in errors), 1)

    def test_sudo_keeps_the_build_directory(self):
        os.rename(self.path("tree/build"), self.path("else where"))
        status, output, errors = self.call("profile", EBPF_PROFILER_BUILD=self.path("else where"))
        self.assertEqual(status, 0, errors)
        self.assertIn("EBPF_PROFILER_BUILD=" + self.path("else where"), output[0])

    def test_without_sudo_it_is_one_sentence(self):
        os.remove(self.path("bin/sudo"))
        for script in ("profile", "test"):
            status, output, errors = self.call(script)
            self.assertEqual((status, output, len(errors)), (1, [], 1), errors)
            self.assertIn("run it as root, for example by su -c", errors[0])

    def test_only_live_tests_need_root(self):
        self.assertIn("sudo env", self.call("test")[1][0])
        self.assertIn("sudo env", self.call("test", "abi", "live")[1][0])
        self.assertIn("sudo env", self.call("test", "--full", "fuzz")[1][0])
        self.assertEqual(self.call("test", "abi", "fuzz")[1][0], "deps")
        self.assertEqual(self.call("test", "nonsense")[:2], (2, []))

    def test_root_builds_apart_in_a_users_tree(self):
        if os.geteuid() != 0:
            self.skipTest("a tree of another user can only be made by root")
        os.chown(self.path("tree"), 1234, 5678)
        os.rename(self.path("tree/build"), self.path("tree/build-root"))
        self.assertEqual(self.call("profile", uid=0)[0], 0)


if __name__ == "__main__":
    unittest.main()

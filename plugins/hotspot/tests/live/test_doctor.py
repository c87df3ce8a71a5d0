#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`doctor` and JVMs that run: what it says of DebugNonSafepoints, in one runtime of each release."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import javas
import runs

SKIP = 77
SECONDS = 60  # for all of them to start
DIAGNOSTIC = "-XX:+UnlockDiagnosticVMOptions"
OPTIONS = {"default": [], "off": [DIAGNOSTIC, "-XX:-DebugNonSafepoints"],
           "on": [DIAGNOSTIC, "-XX:+DebugNonSafepoints"]}


def pids_of(row):
    return {int(word) for word in row["detail"].partition(":")[0].split() if word.isdigit()}


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.found = javas.one_of_each(javas.find())
        if not cls.found:
            raise unittest.SkipTest("no Java here")
        try:
            javas.compile_java([os.path.join(javas.PROGRAMS, "Sleeper.java")], cls.directory)
        except javas.Skipped as reason:
            raise unittest.SkipTest(str(reason))

    def start(self, runtime, options):
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            runtime.argv([*options, "-cp", self.directory, "Sleeper"], self.directory),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=javas.LANGUAGE.environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def ask(self):
        done = javas.run([runs.profiler(), "doctor", "--json"])
        self.assertEqual(done.returncode, 0, done.stdout[-1000:] + done.stderr[-1000:])
        return [row for row in json.loads(done.stdout) if row["check"] == "hotspot"]

    def rows_of(self, process):
        """When it is no longer starting."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and process.poll() is None:
            rows = [row for row in self.ask() if process.pid in pids_of(row)]
            if rows and not any("still starting" in row["detail"] for row in rows):
                return rows
            time.sleep(0.2)
        return self.fail(f"{process.args}: not seen by doctor, exit {process.poll()}")

    def test_says_what_the_flag_is(self):
        for release in sorted(set(javas.RELEASES) - {javas.major(r) for r in self.found}):
            print(f"  no JVM of this release here\n[  SKIPPED ] hotspot_{release}")
        for runtime in self.found:
            for name, options in OPTIONS.items():
                with self.subTest(runtime=runtime.name, options=name):
                    process = self.start(runtime, options)
                    row, = self.rows_of(process)
                    process.kill()
                    process.wait()
                    print(f"[       OK ] {runtime.name} {name}: {row['status']}")
                    if name == "on":
                        self.assertEqual((row["status"], row["fix"]), ("ok", ""))
                        self.assertIn("nothing to advise", row["detail"])
                        continue
                    self.assertEqual(row["status"], "info")
                    self.assertIn("DebugNonSafepoints is off", row["detail"])
                    for words in (DIAGNOSTIC + " -XX:+DebugNonSafepoints", "CompiledMethodLoad"):
                        self.assertIn(words, row["fix"])

    def test_those_that_are_told_the_same_share_a_row(self):
        both = [self.start(self.found[-1], OPTIONS["off"]) for _ in range(2)]
        rows = [self.rows_of(process) for process in both]
        row, = self.rows_of(both[0])
        self.assertEqual(len(rows[1]), 1)
        self.assertLessEqual({process.pid for process in both}, pids_of(row))


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skip: reading processes in root file systems of their own needs root")
        sys.exit(SKIP)
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JVMs that come and go: embedded in a C program, with another JVM at the same path in a container,
many short lives, and an end by a signal."""
import collections
import os
import subprocess
import unittest

import javas
import language
import runs

SCENARIOS = ("many", "inlined", "turns", "deep500", "lambdas", "reflected", "allocating")
SECONDS = "3"
SHORT_LIVES = 6


class Lifetimes(language.Lifetimes):
    kind = javas.Javas

    @classmethod
    def runtimes(cls):
        return javas.find()

    def java(self, runtime, *arguments, way=None):
        return javas.command(runtime, self.directory, *arguments, way=way)

    def check_stacks(self, runtime, samples, output, threshold=language.THRESHOLD):
        self.judged(self.check.judge_of(runtime, output, samples), samples, threshold)

    def embedded(self, program, runtime):
        """The command for a JVM of this runtime within the program, or None where that fails."""
        home = os.path.dirname(os.path.dirname(os.path.realpath(runtime.root + runtime.program)))
        for place in ("lib/server", "lib/amd64/server"):
            library = os.path.join(home, place, "libjvm.so")
            command = [program, library, "-Djava.class.path=" + self.directory,
                       "-Dnatives=" + self.directory, "--", "Burner"]
            if os.path.exists(library) and javas.run([*command, "0", "inlined"]).returncode == 0:
                return command
        return None

    def test_embedded_in_a_c_program(self):
        program = os.path.join(self.directory, "embed")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-o", program,
                        os.path.join(javas.PROGRAMS, "embed.c"), "-ldl"], check=True)
        for runtime in sorted(self.found, key=lambda r: bool(r.root)):
            command = self.embedded(program, runtime)
            if command:
                break
        else:
            self.skipTest("no JVM that can be loaded here")
        profile, done = self.record([*command, SECONDS, *SCENARIOS])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_stacks(runtime, runs.process_of(profile.samples, runs.is_starter), done.stdout)

    def test_another_at_the_same_path(self):
        """Two root file systems that have different JVMs by the same name, at the same time."""
        by_path = collections.defaultdict(list)
        for runtime in self.found:
            if runtime.root:
                by_path[os.path.realpath(runtime.root + runtime.program)[len(runtime.root):]] += [runtime]
        both = next((found[:2] for found in by_path.values() if len(found) > 1), None)
        if not both:
            self.skipTest("no two JVMs with the same path")
        # The elder has the smaller pid: they were started one after the other.
        samples, texts = self.record_both([self.java(runtime, SECONDS, *SCENARIOS, way="container") for runtime in both],
                                          "java")
        for runtime, own, text in zip(both, samples, texts):
            self.assertIn("CPU ", text)
            self.check_stacks(runtime, own, text)

    def test_short_lives(self):
        runtime = self.found[-1]
        samples, text = self.record_short_lives(self.java(runtime, "0.3", "inlined", "many", "lambdas"), SHORT_LIVES, "java")
        self.check_stacks(runtime, samples, text, language.STARTED_THRESHOLD)

    def test_ends_by_a_signal(self):
        runtime = self.found[0]
        profile, done = self.record(["timeout", "-s", "KILL", "3", *self.java(runtime, "60", *SCENARIOS)])
        self.check_stacks(runtime, runs.process_of(profile.samples, runs.is_starter), done.stdout,
                          language.STARTED_THRESHOLD)


if __name__ == "__main__":
    unittest.main()

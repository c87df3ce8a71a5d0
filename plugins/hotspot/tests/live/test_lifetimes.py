#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JVMs that come and go: embedded in a C program, with another JVM at the same path in a container,
many short lives, and an end by a signal."""
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import chains  # noqa: E402
import check_hotspot  # noqa: E402
import javas  # noqa: E402

SCENARIOS = ("many", "inlined", "turns", "deep500", "lambdas", "reflected", "allocating")
SECONDS = "3"
SHORT_LIVES = 6


class Lifetimes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        try:
            javas.build(cls.directory)
        except javas.Skipped as reason:
            raise unittest.SkipTest(str(reason))
        cls.found = javas.find()
        if not cls.found:
            raise unittest.SkipTest("no Java here")
        cls.library = javas.Library(cls.directory)

    def record(self, command):
        try:
            return javas.record(command, os.path.join(self.directory, "out.pb.gz"), sleeps=javas.sleeper(
                self.found[-1].argv([], self.directory), self.directory))
        except javas.Skipped as reason:
            self.skipTest(str(reason))

    def java(self, runtime, *arguments, way=None):
        return runtime.argv([*javas.options_of(runtime), "-Dnatives=" + self.directory, "-cp",
                             self.directory, "Burner", *arguments], self.directory, way)

    def check(self, runtime, samples, output, threshold=check_hotspot.THRESHOLD, fewest=200):
        judge = chains.Judge(chains.Said(output), self.library.code(runtime, samples),
                             set(self.library.own))
        verdict = check_hotspot.Verdict(judge, samples)
        below = list(verdict.problems(threshold, fewest))
        if below:
            print(f"{self.id()}: below its bar: {'; '.join(below)}", flush=True)
            verdict.print_wrong()
        problems = list(verdict.slack_problems(threshold, fewest))
        self.assertEqual(problems, [], runtime.name)

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
        self.check(runtime, javas.process_of(profile.samples), done.stdout)

    def test_another_at_the_same_path(self):
        """Two root file systems that have different JVMs by the same name, at the same time."""
        by_path = collections.defaultdict(list)
        for runtime in self.found:
            if runtime.root:
                by_path[os.path.realpath(runtime.root + runtime.program)[len(runtime.root):]] += [runtime]
        both = next((found[:2] for found in by_path.values() if len(found) > 1), None)
        if not both:
            self.skipTest("no two JVMs with the same path")
        script, outputs = "", []
        for number, runtime in enumerate(both):
            outputs.append(os.path.join(self.directory, f"said{number}"))
            script += f'eval "$C{number}" >{outputs[-1]} & '
            command = self.java(runtime, SECONDS, *SCENARIOS, way="container")
            script = f"C{number}='{' '.join(command)}'; " + script
        profile, _ = self.record(["sh", "-c", script + "wait"])
        self.check_both(profile, both, outputs)

    def check_both(self, profile, both, outputs):
        by_process = collections.defaultdict(list)
        for sample in profile.samples:
            if sample.labels.get("comm") == "java" and not javas.is_starter(sample):
                by_process[sample.labels["pid"]].append(sample)
        largest = sorted(by_process.values(), key=lambda own: -sum(s.count for s in own))[:2]
        self.assertEqual(len(largest), 2, "two JVMs")
        for runtime, output in zip(both, outputs):
            with open(output, encoding="utf-8") as file:
                said = file.read()
            if "skip:" in said:
                self.skipTest(said.strip())
            self.assertIn("CPU ", said)
        # The elder has the smaller pid: they were started one after the other.
        largest.sort(key=lambda own: own[0].labels["pid"])
        for runtime, own, output in zip(both, largest, outputs):
            with open(output, encoding="utf-8") as file:
                self.check(runtime, own, file.read())

    def test_short_lives(self):
        runtime = self.found[-1]
        command = " ".join(self.java(runtime, "0.3", "inlined", "many", "lambdas"))
        script = f"i=0; while [ $i -lt {SHORT_LIVES} ]; do {command}; i=$((i+1)); done"
        profile, done = self.record(["sh", "-c", script])
        samples = [s for s in javas.not_of_sleeper(profile.samples, done)
                   if s.labels.get("comm") == "java" and not javas.is_starter(s)]
        self.check(runtime, samples, done.stdout, check_hotspot.STARTUP_THRESHOLD)

    def test_ends_by_a_signal(self):
        runtime = self.found[0]
        command = self.java(runtime, "60", *SCENARIOS)
        profile, done = self.record(["timeout", "-s", "KILL", "3", *command])
        self.check(runtime, javas.process_of(profile.samples), done.stdout,
                   check_hotspot.STARTUP_THRESHOLD)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        sys.exit(javas.runs.SKIP)
    unittest.main()

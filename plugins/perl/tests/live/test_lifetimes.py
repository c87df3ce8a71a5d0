#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perls that come and go: embedded in a C program, two in a process, different ones at the same path in containers,
many short lives, children of a server, an end by a signal."""
import collections
import glob
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import callers  # noqa: E402
import check_perl  # noqa: E402
import perls  # noqa: E402
import runs  # noqa: E402
from verdicts import Verdict  # noqa: E402

SECONDS = 3
SHORT_LIVES = 8
QUIET = "--but=fleeting,signals,timers,forks"   # for an interpreter that is not alone
SOME = "--only=closures,deep1000,turns40,ties,text,methods"
ASK = "use Config; print join ' ', $Config{archlibexp}, $Config{libperl}, $Config{ccflags};"


class Lifetimes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.found = perls.one_of_each(perls.find())
        if not cls.found:
            raise unittest.SkipTest("no Perl here")

    def record(self, command):
        try:
            return perls.record(command, os.path.join(self.directory, "out.pb.gz"),
                                sleeps=perls.sleeper(self.found[-1]))
        except runs.Skipped as reason:
            self.skipTest(str(reason))

    def check(self, known, samples, said, threshold=check_perl.THRESHOLD, fewest=200):
        verdict = Verdict(callers.Judge(known, said), samples)
        below = list(verdict.problems(threshold, fewest))
        if below:
            print(f"{self.id()}: below its bar: {'; '.join(below)}", flush=True)
            verdict.print_wrong()
        self.assertEqual(list(verdict.slack_problems(threshold, fewest)), [])

    # --- embedded ---

    def embed(self):
        """(the program that has libperl in it, the host's Perl), or a skip."""
        for runtime in self.found:
            if runtime.root or "libperl" not in runtime.flavors:
                continue
            words = perls.run([runtime.program, "-e", ASK]).stdout.split()
            headers = os.path.join(words[0], "CORE")
            library = sorted(glob.glob("/usr/lib/*-linux-gnu/" + words[1]))
            if not os.path.exists(headers + "/perl.h") or not library:
                continue
            program = os.path.join(self.directory, "embed")
            flags = [flag for flag in words[2:] if flag.startswith("-D")]
            subprocess.run([os.environ.get("CC", "cc"), "-O2", *flags, "-I" + headers, "-o", program,
                            os.path.join(callers.PROGRAMS, "embed.c"), library[0], "-lpthread"], check=True)
            return program
        self.skipTest("no libperl with headers on this machine")

    def check_embedded(self, mode):
        program = self.embed()
        done = perls.run([program, mode, perls.BURNER, "0", "--observe", QUIET])
        self.assertEqual(done.returncode, 0, done.stderr[-800:])
        known = callers.Said(done.stdout)
        profile, done = self.record([program, mode, perls.BURNER, str(SECONDS), QUIET])
        self.assertEqual(done.returncode, 0, done.stderr[-800:])
        said = callers.Said(done.stdout)
        said.started *= 2
        self.check(known, perls.samples_of(profile), said)

    def test_two_interpreters_in_threads(self):
        self.check_embedded("threads")

    def test_two_interpreters_in_turn(self):
        self.check_embedded("turns")

    def test_a_sub_called_by_c(self):
        self.check_embedded("handler")

    # --- others ---

    def test_another_at_the_same_path(self):
        """Two root file systems that have different Perls by the same name, at the same time."""
        by_path = collections.defaultdict(list)
        for runtime in self.found:
            if runtime.root:
                by_path["libperl" in runtime.flavors].append(runtime)
        both = by_path[False][:2]
        if len(both) < 2:
            self.skipTest("no two Perls with the same path")
        outputs = [os.path.join(self.directory, f"said{i}") for i in range(2)]
        script = "".join(f"{shlex.join(perls.burner(runtime, SECONDS, SOME, way='container'))} >{output} & "
                         for runtime, output in zip(both, outputs))
        profile, _ = self.record(["sh", "-c", script + "wait"])
        by_process = collections.defaultdict(list)
        for sample in profile.samples:
            if str(sample.labels.get("comm")).startswith("perl") and not runs.is_starter(sample):
                by_process[sample.labels["pid"]].append(sample)
        largest = sorted(by_process.values(), key=lambda own: -sum(s.count for s in own))[:2]
        self.assertEqual(len(largest), 2, "two Perls")
        said = []
        for output in outputs:
            with open(output, encoding="utf-8") as file:
                text = file.read()
            if "skip:" in text:
                self.skipTest(text.strip())
            said.append(callers.Said(text))
        known = [perls.ask(runtime, SOME) for runtime in both]
        for own in largest:     # which is which, the stacks tell: each must be one of the two's
            verdicts = [Verdict(callers.Judge(k, s), own) for k, s in zip(known, said)]
            best = max(range(2), key=lambda i: verdicts[i].true)
            self.check(known[best], own, said[best])

    def test_short_lives(self):
        runtime = self.found[-1]
        command = shlex.join(perls.burner(runtime, 0.3, SOME))
        script = f"i=0; while [ $i -lt {SHORT_LIVES} ]; do {command}; i=$((i+1)); done"
        profile, done = self.record(["sh", "-c", script])
        said = callers.Said(done.stdout)
        said.started *= SHORT_LIVES
        samples = [s for s in runs.not_of_sleeper(profile.samples, done)
                   if str(s.labels.get("comm")).startswith("perl") and not runs.is_starter(s)]
        self.check(perls.ask(runtime, SOME), samples, said, check_perl.STARTUP_THRESHOLD, fewest=100)

    def test_children_of_a_server(self):
        """Each lives for some milliseconds; what it runs was compiled before the fork."""
        runtime = self.found[-1]
        profile, done = self.record(perls.burner(runtime, SECONDS, "--only=forks"))
        said = callers.Said(done.stdout)
        parent = max((s for s in profile.samples if s.labels.get("pid") not in said.forked),
                     key=lambda s: s.count).labels.get("pid")
        samples = [s for s in profile.samples if s.labels.get("pid") in said.forked and parent not in said.forked]
        self.check(perls.ask(runtime, "--only=forks"), samples, said)

    def test_ends_by_a_signal(self):
        runtime = self.found[0]
        profile, done = self.record(["timeout", "-s", "KILL", "3", *perls.burner(runtime, 60, SOME)])
        self.check(perls.ask(runtime, SOME), perls.samples_of(profile), callers.Said(done.stdout),
                   check_perl.STARTUP_THRESHOLD)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        sys.exit(runs.SKIP)
    unittest.main()

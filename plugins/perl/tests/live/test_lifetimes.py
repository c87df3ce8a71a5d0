#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perls that come and go: embedded in a C program, two in a process, different ones at the same path in containers,
many short lives, children of a server, an end by a signal."""
import collections
import glob
import os
import subprocess
import unittest

import callers
import check_perl
import perls
import language
from verdicts import Verdict

SECONDS = 3
SHORT_LIVES = 8
QUIET = "--but=fleeting,signals,timers,forks"   # for an interpreter that is not alone
SOME = "--only=closures,deep1000,turns40,ties,text,methods"
ASK = "use Config; print join ' ', $Config{archlibexp}, $Config{libperl}, $Config{ccflags};"


class Lifetimes(language.Lifetimes):
    kind = check_perl.Perls

    @classmethod
    def runtimes(cls):
        return perls.one_of_each(perls.find())

    def check_stacks(self, known, samples, said, threshold=language.THRESHOLD, fewest=200):
        self.judged(callers.Judge(known, said), samples, threshold, fewest)

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
        self.check_stacks(known, perls.samples_of(profile), said)

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
        largest, texts = self.record_both([perls.burner(runtime, SECONDS, SOME, way="container") for runtime in both],
                                          "perl")
        said, known = list(map(callers.Said, texts)), [perls.ask(runtime, SOME) for runtime in both]
        for own in largest:     # which is which, the stacks tell: each must be one of the two's
            verdicts = [Verdict(callers.Judge(k, s), own) for k, s in zip(known, said)]
            best = max(range(2), key=lambda i: verdicts[i].true)
            self.check_stacks(known[best], own, said[best])

    def test_short_lives(self):
        runtime = self.found[-1]
        samples, text = self.record_short_lives(perls.burner(runtime, 0.3, SOME), SHORT_LIVES, "perl")
        said = callers.Said(text)
        said.started *= SHORT_LIVES
        self.check_stacks(perls.ask(runtime, SOME), samples, said, language.STARTED_THRESHOLD, fewest=100)

    def test_children_of_a_server(self):
        """Each lives for some milliseconds; what it runs was compiled before the fork."""
        runtime = self.found[-1]
        profile, done = self.record(perls.burner(runtime, SECONDS, "--only=forks"))
        said = callers.Said(done.stdout)
        parent = max((s for s in profile.samples if s.labels.get("pid") not in said.forked),
                     key=lambda s: s.count).labels.get("pid")
        samples = [s for s in profile.samples if s.labels.get("pid") in said.forked and parent not in said.forked]
        self.check_stacks(perls.ask(runtime, "--only=forks"), samples, said)

    def test_ends_by_a_signal(self):
        runtime = self.found[0]
        profile, done = self.record(["timeout", "-s", "KILL", "3", *perls.burner(runtime, 60, SOME)])
        self.check_stacks(perls.ask(runtime, SOME), perls.samples_of(profile), callers.Said(done.stdout),
                   language.STARTED_THRESHOLD)


if __name__ == "__main__":
    unittest.main()

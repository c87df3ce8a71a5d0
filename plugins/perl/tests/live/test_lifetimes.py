#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perls that come and go: embedded in a C program, two in a process, different ones at the same path in containers,
many short lives, children of a server, commands of some milliseconds, an end by a signal."""
import collections
import glob
import os
import subprocess
import unittest

import callers
import check_perl
import perls
import language
import runs
from verdicts import Verdict

SECONDS = 3
SHORT_LIVES = 8
QUIET = "--but=fleeting,signals,timers,forks"   # for an interpreter that is not alone
SOME = "--only=closures,deep1000,turns40,ties,text,methods"
COMMAND = ["-MPOSIX", "-MData::Dumper", "-e"]
# Of each sub that is there at the end: its name, as caller says it, and the files and lines of its statements.
KNOWN = r"""
use B; my ($name, %seen);
sub B::COP::known { print join("\t", $name, $_[0]->file, $_[0]->line), "\n" }
sub B::OBJECT::known {}
sub look {
    my ($stash) = @_;
    no strict "refs";
    return if $seen{$stash}++;
    print "$stash\n";
    for my $key (keys %{"${stash}::"}) {
        if ($key =~ /^(.+)::$/) { look($stash eq "main" ? $1 : "${stash}::$1"); next }
        next if !defined &{"${stash}::$key"};
        my $code = B::svref_2object(\&{"${stash}::$key"});
        next if !$code->GV->can("EGV");
        $name = $code->GV->EGV->STASH->NAME . "::" . $code->GV->EGV->NAME;
        print "$name\n";
        B::walkoptree($code->ROOT, "known") if ${$code->ROOT};
    }
}
look("main");
"""
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

    def test_commands_that_are_gone_when_their_names_are_read(self):
        """What names are made of comes with their samples: no name is missing, and no sub is said to be at another's line."""
        hosts = [runtime for runtime in self.found if not runtime.root]
        if not hosts:
            self.skipTest("no Perl of this machine's own")
        command = [hosts[-1].program, *COMMAND]
        asked = perls.run([*command, KNOWN])
        self.assertEqual(asked.returncode, 0, asked.stderr[-800:])
        known = {tuple(line.split("\t")) for line in asked.stdout.splitlines()}
        self.assertIn(("Exporter::import",), known)
        loop = runs.shlex.join([*command, "1"])
        # The keeper is there when the first one is long over.
        profile, _ = self.record(["sh", "-c", f"{loop}; sleep 1; i=0; while [ $i -lt 150 ]; do {loop}; i=$((i+1)); done"])
        samples = [s for s in profile.samples if str(s.labels.get("comm")).startswith("perl")]
        wrong, missing = collections.Counter(), 0
        for sample in samples:
            names = {frame.name for frame in sample.frames}
            missing += sample.count * bool(names & {"(freed sub)", "(require)", "BEGIN", "[perl: unknown function]"})
            wrong.update(frame for frame in sample.frames if self.is_wrong(frame, known))
        self.assertFalse(wrong, str(wrong))
        self.assertGreater(sum(s.count for s in samples), 100)
        self.assertLessEqual(missing, 0.03 * sum(s.count for s in samples))

    @staticmethod
    def is_wrong(frame, known):
        """A sub or package that is not there, a line that is not the sub's, a file that is not there."""
        package, _, name = frame.name.rpartition("::")
        if frame.name.startswith("require "):
            return not os.path.exists(frame.name.split(" ", 1)[1])
        if name == "BEGIN":
            return (package,) not in known
        if not package or not frame.source.endswith(".pm"):    # of C, or of what is thrown away
            return False
        place = (frame.name, frame.source, str(frame.line))
        return (frame.name,) not in known or (frame.line and place not in known)

    def test_ends_by_a_signal(self):
        runtime = self.found[0]
        profile, done = self.record(["timeout", "-s", "KILL", "3", *perls.burner(runtime, 60, SOME)])
        self.check_stacks(perls.ask(runtime, SOME), perls.samples_of(profile), callers.Said(done.stdout),
                   language.STARTED_THRESHOLD)


if __name__ == "__main__":
    unittest.main()

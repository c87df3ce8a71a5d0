#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/burner.rb in every Ruby of this machine and judges each stack (locations.py).

Flags, output and exit status: tests/kit/language.py. By default the newest; --full: all, and all ways
to run them of each. The share of the collector is compared with GC.total_time.
"""
import glob
import shutil
import sys

import locations
import rubies
import counting
import language

ATTACHING_SECONDS = 0.3     # until it is attached to, its stacks are native
COLLECTING_POINTS = 2.0     # the collector's share may be off by so much, in percent, beside chance
IN_CONTAINER = "plain,blocks,deep1000,turns64,flow"
AT_CALLS = 3.0              # percent of samples;
AT_CALLS_OF_JIT = 7.0       # at leaves without a line what else a method does counts, too;
# A text is compiled for one call, whose inline cache is empty: of its 20 to 27 us 0.7 to 1.1 are the
# call (3.3), 3 to 5 %; half of the samples are of texts. No frame that is made is missing in it:
# test_walk.c, what_c_may_not_have_called_yet_is_in_doubt.
AT_CALLS_OF_TEXTS = 5.0
ASIDE, RACTORS, FORKS, THREADS = "fleeting", "ractors", "forks", "threads"
EMBEDDED, MJIT = "embedded", "mjit"
MJIT_HEADER = "/usr/include/*/ruby-3.1.0/rb_mjit_min_header-*.h"     # Debian's package ruby3.1-dev; it calls a C compiler


class Rubies(language.Check):
    language = rubies.LANGUAGE
    start = 1, 60

    def before(self, case):
        return rubies.ask(case.runtime, *case.words, options=case.options)

    def command(self, case, seconds):
        if case.label == EMBEDDED:
            return [rubies.embedded(self.directory), rubies.library(case.runtime), rubies.PLAIN, rubies.BURNER, str(seconds)]
        return rubies.burner(case.runtime, seconds, *case.words, options=case.options, way=case.way)

    def sleeper(self, case):
        return rubies.sleeper(case.runtime)

    def said_of(self, run):
        return locations.Said(run.text, run.case.runtime.numbers)

    def samples_of(self, run):
        samples = rubies.samples_of(run.profile, self.said_of(run).forked)
        if run.case.label != ASIDE:
            return samples
        named = [s for s in samples if not locations.is_gone(s.frames)]
        print(f"  {len(samples) - len(named)} stacks have code that was freed before it was named")
        return named

    def judge(self, run, samples):
        self.check_said(run.case, run.known)
        jit = "yjit" in run.case.runtime.flavors or run.case.label == MJIT
        judge = locations.Judge(run.known, self.said_of(run), jit=jit)
        judge.moment_seconds += ATTACHING_SECONDS if run.case.attach else 0
        judge.learn_fibers(samples)
        all_of = sum(s.count for s in samples)
        judge.collected = all_of, sum(s.count for s in samples if locations.is_collecting(s.frames))
        judge.at_calls = 100 * sum(s.count for s in samples if judge.ends_at_call(s.frames)) / all_of
        return judge

    def may_lack(self, case, scenario, why):
        return True     # what a release has not it says itself

    def is_partly(self, case):
        return case.attach or case.way or case.label in (ASIDE, FORKS, MJIT)     # MJIT: its compiler is a child

    def work_of(self, run, judge):
        return {} if run.case.label in (RACTORS, THREADS) else judge.said.work

    def print_more(self, run, verdict):
        print(f"  {verdict.judge.at_calls:.1f} % end at a call of {locations.BURNS}")

    def lacking(self, case, judge):
        most = AT_CALLS_OF_JIT if judge.jit else AT_CALLS_OF_TEXTS if case.label == ASIDE else AT_CALLS
        if judge.at_calls > most:
            yield f"{judge.at_calls:.1f} % of the stacks end where {locations.BURNS} is called, without it"
        if judge.said.collecting is None or self.is_partly(case) or case.label == RACTORS:   # they wait for each other
            return
        all_of, collecting = judge.collected
        share, want = 100 * collecting / all_of, 100 * judge.said.collecting / judge.said.cpu
        if (counting.is_missed(collecting, all_of, 100 - min(want + COLLECTING_POINTS, 100)) or
                counting.is_missed(all_of - collecting, all_of, max(want - COLLECTING_POINTS, 0))):
            yield f"the collector has {share:.1f} % of the samples, {want:.1f} % of the time"

    def cases(self):
        found = self.find()
        of_host = [r for r in found if not r.root and r.flavors == ("libruby",)]
        for runtime in found:
            yield language.Case(runtime)
            yield self.started(runtime)
            yield language.Case(runtime, ASIDE, words=("--only=fleeting,texts",))
            yield language.Case(runtime, FORKS, words=("--only=forks",))
            yield language.Case(runtime, THREADS, words=("--threads=2",))
            yield self.attached(runtime, fewest=100)
            if runtime.numbers >= (3, 0):
                yield language.Case(runtime, RACTORS, words=("--only=ractors",))
            if runtime.root:
                yield self.contained(runtime, ("--only=" + IN_CONTAINER,))
        yield from (language.Case(runtime, EMBEDDED) for runtime in of_host[:1])
        yield from self.of_mjit(of_host)

    def of_mjit(self, of_host):
        """It compiles what it makes by the system's compiler: of the host alone."""
        found = [r for r in of_host if r.numbers[:2] == (3, 1)]
        if not found or not glob.glob(MJIT_HEADER) or not shutil.which("gcc"):
            language.skip_runtime("MJIT: no Ruby 3.1 of the system with ruby3.1-dev and gcc")
            return
        options = ("--mjit", "--mjit-min-calls=100", "--mjit-max-cache=1000")
        yield language.Case(found[0], MJIT, options=options, threshold=99.0, seconds=20)


if __name__ == "__main__":
    sys.exit(language.main(Rubies))

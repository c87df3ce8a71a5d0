#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/burner.pl in every Perl of this machine and judges each stack (callers.py).

Flags, output and exit status: tests/kit/language.py. By default the newest; --full: all, also debug
builds, and all ways to run them of each. --examples: figures of each scenario, too.
"""
import sys

import callers
import perls
import language

ATTACHING_SECONDS = 0.3     # until it is attached to, its stacks are native
IN_CONTAINER = "closures,deep1000,turns40,ties,text"
IN_THREADS = 1
ASIDE, THREADS = "fleeting", "threads"  # what was freed before it could be named is nobody's fault


class Perls(language.Check):
    language = perls.LANGUAGE
    start = 1, 60

    def before(self, case):
        return perls.ask(case.runtime, *case.words, options=case.options)

    def command(self, case, seconds):
        return perls.burner(case.runtime, seconds, *case.words, options=case.options, way=case.way)

    def sleeper(self, case):
        return perls.sleeper(case.runtime)

    def samples_of(self, run):
        samples = perls.samples_of(run.profile, callers.Said(run.text).forked)
        if run.case.label != ASIDE:
            return samples
        named = [s for s in samples if not callers.is_gone(s.frames)]
        print(f"  {len(samples) - len(named)} stacks have code that was freed before it was named")
        return named

    def judge(self, run, samples):
        if not run.known.stacks:
            raise language.Failed("the burner says no stacks")
        self.check_said(run.case, run.known)
        judge = callers.Judge(run.known, callers.Said(run.text))
        judge.moment_seconds += ATTACHING_SECONDS if run.case.attach else 0
        return judge

    def may_lack(self, case, scenario, why):
        return perls.minor(case.runtime) < why[0]   # the first that has it

    def is_partly(self, case):
        return case.attach or case.way or case.label == ASIDE

    def work_of(self, run, judge):
        return {} if run.case.label == THREADS else judge.said.work     # nobody counts the CPU time of threads'

    def print_more(self, run, verdict):
        callers.print_figures(verdict, callers.Judge(run.known.without_nearer(), callers.Said(run.text)))

    def cases(self):
        for runtime in self.find():
            yield language.Case(runtime)
            yield self.started(runtime)
            yield language.Case(runtime, "debugger", tuple(perls.DEBUGGED))
            yield language.Case(runtime, ASIDE, words=("--only=fleeting,texts",), seconds=4)
            yield self.attached(runtime, fewest=100)
            if "unthreaded" not in runtime.flavors:
                yield language.Case(runtime, THREADS, words=(f"--threads={IN_THREADS}",))
            if runtime.root:
                yield self.contained(runtime, ("--only=" + IN_CONTAINER,))


if __name__ == "__main__":
    sys.exit(language.main(Perls))

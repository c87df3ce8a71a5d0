#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/burner.php in every PHP of this machine and judges each stack (backtraces.py).

Flags, output and exit status: tests/kit/language.py. By default the newest; --full: all, and all ways
to run them of each.
"""
import sys

import backtraces
import phps
import language

ATTACHING_SECONDS = 0.3     # until it is attached to, its stacks are native
IN_CONTAINER = "plain,closures,deep1000,turns64,generators"
ASIDE, FORKS, FAST, OPCACHE, EMBEDDED, THREADS = "fleeting", "forks", "fast", "opcache", "embedded", "threads"
FAST_HZ = 1999
STATIC_THRESHOLD = 90.0
AT_CALLS = 5.0      # percent of samples
JIT_FROM = 8, 2     # 8.0 and 8.1 are not tested


class PHPs(language.Check):
    language = phps.LANGUAGE
    seconds = 2, 10     # in CI all runs together take at most two minutes
    start = 1, 60

    def before(self, case):
        command = self.embedding(case, 0, "--observe") if case.label in (EMBEDDED, THREADS) else None
        known = phps.ask(case.runtime, *case.words, options=case.options, command=command)
        if case.options and not (known.opcache if case.label == OPCACHE else known.jit):
            raise language.Skipped(f"skip: this PHP has no {case.label}")
        return known

    def embedding(self, case, seconds, *words):
        threads = 2 if case.label == THREADS and not words else 0
        return phps.embedded(case.runtime, self.directory, seconds, *words, threads=threads)

    def record(self, case):
        self.frequency = FAST_HZ if case.label == FAST else language.Check.frequency
        return super().record(case)

    def command(self, case, seconds):
        if case.label in (EMBEDDED, THREADS):
            return self.embedding(case, seconds)
        return phps.burner(case.runtime, seconds, *case.words, options=case.options, way=case.way)

    def sleeper(self, case):
        return phps.sleeper(case.runtime)

    def samples_of(self, run):
        samples = phps.samples_of(run.profile, backtraces.Said(run.text).forked)
        if run.case.label != ASIDE:
            return samples
        named = [s for s in samples if not backtraces.is_freed(s.frames)]
        print(f"  {len(samples) - len(named)} stacks have code that was freed before it was named")
        return named

    def judge(self, run, samples):
        self.check_said(run.case, run.known)
        judge = backtraces.Judge(run.known, backtraces.Said(run.text))
        judge.moment_seconds += ATTACHING_SECONDS if run.case.attach else 0
        for sample in samples:
            judge.count_leaf(sample)
        judge.at_calls *= 100 / sum(s.count for s in samples)
        return judge

    def may_lack(self, case, scenario, why):
        return True     # what a release has not it says itself

    def is_partly(self, case):
        return case.attach or case.way or case.label in (ASIDE, FORKS)

    def work_of(self, run, judge):
        return {} if run.case.label == THREADS else judge.said.work

    def lacking(self, case, judge):
        print(f"  {judge.at_calls:.1f} % of the stacks end where {backtraces.SPIN} is called, without it")
        if judge.at_calls > AT_CALLS:
            yield f"too many stacks end where {backtraces.SPIN} is called"
        if not case.words and not case.attach:
            yield from judge.why_not_spun()

    def cases(self):
        static, found = [], []
        for runtime in self.find():
            (static if "static" in runtime.flavors else found).append(runtime)
        zts = [r for r in found if "zts" in r.flavors]
        for runtime in found:
            yield language.Case(runtime)
            if runtime.numbers >= JIT_FROM and not {"zts", "clang"} & {*runtime.flavors}:
                yield language.Case(runtime, "function", phps.opcache(runtime, "function"))
                yield language.Case(runtime, "tracing", phps.opcache(runtime, "tracing"))
            yield language.Case(runtime, OPCACHE, phps.opcache(runtime))
            yield self.started(runtime)
            yield language.Case(runtime, ASIDE, words=("--only=fleeting,texts",))
            yield language.Case(runtime, FORKS, words=("--only=forks",))
            yield language.Case(runtime, FAST, words=("--only=bare_callbacks,callbacks",))
            yield self.attached(runtime, fewest=100)
            if runtime.root:
                yield self.contained(runtime, ("--only=" + IN_CONTAINER,))
        # It is shown: parts of its C library have no rules.
        yield from (language.Case(runtime, threshold=STATIC_THRESHOLD) for runtime in static)
        yield from (language.Case(runtime, EMBEDDED) for runtime in found if phps.library(runtime))
        yield from (language.Case(runtime, THREADS) for runtime in zts if phps.library(runtime))


if __name__ == "__main__":
    sys.exit(language.main(PHPs))

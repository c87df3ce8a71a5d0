#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles workload.py in every Python of this machine and compares each stack with the truth (truth.py).

Flags, output and exit status: tests/kit/language.py. Which Pythons: the machine's own, pyenv's, and those of
tests/runtimes/install; by default the newest. What is wrong is printed with its share and an example.
"""
import sys

import truth
import pythons
import counting
import language
import runs

GONE = ("[python: unknown function]",)  # its code was freed before it could be named
# Scenarios that free what they run; so many percent may be gone. Nobody keeps what an eval runs. The
# script of a sub-interpreter comes with its samples (EP_SAMPLE_KEEP: test_walk.c), but for those
# before the keeper is loaded.
FLEETING = {"transient": 100, "subinterpreter": 1}


class Pythons(language.Check):
    language = pythons.LANGUAGE
    seconds = 3, 5
    Case = pythons.Case

    def find(self):
        found = [r for r in super().find() if r.numbers >= pythons.OLDEST]
        if not any(r.source == "pyenv" for r in found):
            language.skip("pyenv", "not installed, or has no Python")
        return found

    def cases(self):
        return pythons.cases(self.find(), self.options.keep or self.directory)

    def run(self, case, *arguments):
        return self.language.run(case.argv(*arguments), 160)

    def before(self, case):
        """truth.Truth"""
        if "subinterpreter" in case.words and self.run(case, "burn", "0.5").returncode < 0:
            raise language.Skipped("skip: this Python's sub-interpreters crash, profiler or not")
        source = "<string>" if case.text else pythons.WORKLOAD
        return truth.Truth(truth.said(self.run(case, "trace", "0"), "TRUTH", "trace"), case.runtime.numbers, source,
                           truth.long_lines_of(pythons.WORKLOAD, source))

    def command(self, case, seconds):
        return case.argv(case.mode, str(seconds))

    def samples_of(self, run):
        return runs.process_of(run.profile.samples)     # what starts a runtime is one itself

    def check(self, run):
        case, samples = run.case, self.samples_of(run)
        result = truth.said(run.done, "RESULT", "burn")
        if not samples:
            raise language.Failed("no samples: " + run.done.stderr[-1500:])
        result.update(lost=run.profile.lost, frequency=runs.frequency_of(samples), late=self.explained(run))
        if case.attach:     # how much of it was seen is not known
            result.update(cpu={}, cpu_total=sum(s.weight_ns for s in samples) / 1e9)
        verdict = truth.Verdict(run.known, result, samples, "freethreaded" in case.runtime.flavors,
                                GONE if FLEETING.keys() & set(case.words) else ())
        problems = list(verdict.problems(case.order_threshold))
        most = max((FLEETING.get(word, 0) for word in case.words), default=0)
        if counting.is_missed(verdict.aside, verdict.all, 100 - most):
            problems.append(f"the code of {verdict.aside} samples of {verdict.all} was gone, not {most} % at most")
        print(f"  {verdict.percent:6.2f} % of {verdict.tested} samples are true, "
              f"{verdict.percent_in_order:6.2f} % of these in order; "
              f"{verdict.outside} before the start, {verdict.aside} of code that was gone")
        if problems or self.options.examples:
            verdict.print_wrong()
        if problems:
            print("  " + run.done.stderr.replace("\n", "\n  ")[-1000:])
            raise language.Failed("; ".join(problems))


if __name__ == "__main__":
    sys.exit(language.main(Pythons))

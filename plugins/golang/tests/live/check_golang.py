#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/burner, built by every Go of this machine, and judges each stack (judge_go.py).

Flags, output and exit status: tests/kit/language.py. Quick: what Debian has and the newest that is found, one build of
each, so that what matters is in one of them; --full: all that are found, in all builds (goes.py).
"""
import os
import sys

import goes
import judge_go
import language
import source_go

QUICK = {15: "plain", 19: "cgo_pie_stripped", 24: "c_shared"}   # 1.N: a build
NEWEST = "cgo"          # of one that is newer


class Goes(language.Check):
    language = goes.LANGUAGE
    seconds = 5, 10     # a sample of each scenario is wanted

    @classmethod
    def add_flags(cls, made):
        made.add_argument("--build", action="store_true", help="only builds them: the next time that is quick")

    def record(self, case):
        return self.before(case) if self.options.build else super().record(case)

    def check(self, run):
        if run:
            super().check(run)

    def path_of_program(self, case):
        return os.path.join(self.directory, case.name)

    def before(self, case):
        goes.build(case.runtime, case.label, self.path_of_program(case), self.directory)

    def command(self, case, seconds):
        return [self.path_of_program(case), str(seconds)]

    def sleeper(self, case):
        return [self.path_of_program(case), "60", "idle"]

    def judge(self, run, samples):
        return judge_go.Judge(run.text, source_go.Source(goes.BURNER))

    def lacking(self, case, judge):
        return judge.problems(goes.BUILDS[case.label].lacks)

    def chosen(self, found):
        first = language.first_of_each(found, goes.minor, sorted(map(goes.minor, found)))
        for number, label in QUICK.items():
            if number in first:
                yield first[number], label
            else:
                language.skip(f"go_1_{number}", "no such Go here")
        if first and max(first) > max(QUICK):
            yield first[max(first)], NEWEST
        else:
            language.skip("go_newest", f"no Go newer than 1.{max(QUICK)} here")

    def cases(self):
        found = goes.find(language.skip_runtime)
        both = self.chosen(found)
        if self.options.full:
            both = [(runtime, label) for runtime in found for label, what in goes.BUILDS.items()
                    if goes.minor(runtime) >= what.oldest]
        for runtime, label in both:
            yield language.Case(runtime, label, threshold=goes.BUILDS[label].bar)


if __name__ == "__main__":
    sys.exit(language.main(Goes))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/burner, built by every Go of this machine, and judges each stack (judge_go.py).

Flags, output and exit status: tests/kit/language.py. By default the newest builds it, with cgo; --full: all that are
found, in all builds (goes.py).
"""
import os
import sys

import goes
import judge_go
import language
import source_go

DEFAULT = "cgo"


class Goes(language.Check):
    language = goes.LANGUAGE
    seconds = 5, 10     # a sample of each scenario is wanted

    @classmethod
    def add_flags(cls, made):
        made.add_argument("--build", action="store_true", help="only builds them: the next time that takes a second")

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

    def default_cases(self):
        yield language.Case(self.newest(), DEFAULT)

    def cases(self):
        for runtime in self.find():
            for label, what in goes.BUILDS.items():
                if goes.minor(runtime) >= what.oldest:
                    yield language.Case(runtime, label, threshold=what.bar)


if __name__ == "__main__":
    sys.exit(language.main(Goes))

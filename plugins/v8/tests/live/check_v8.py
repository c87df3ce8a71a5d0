#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/burner.js in every Node of this machine and judges each stack (calls.py).

Flags, output and exit status: tests/kit/language.py. By default the newest; --full: all, and flags of
theirs.
"""
import os
import sys

import calls
import nodes
import language

UNNAMED_MOST = 0.02      # of the samples: those of a moment in which V8 makes or moves code
OUTSIDE = ("timed",)     # half of its time is in the loop that its timers are in, and in no function of its own
IN_CONTAINER = ("closures", "turns64", "deep500", "wasm", "asyncs")


class Nodes(language.Check):
    language = nodes.LANGUAGE
    not_started = r".*(bad option|illegal value|unrecognized flag|is not allowed|contradict).*"     # without this flag

    def prepare(self):
        self.addon = nodes.build(self.directory)
        if not self.addon:
            language.skip("addon", "no C compiler: no native code between JavaScript's")

    def command(self, case, seconds):
        words = [*case.options, os.path.join(self.directory, "burner.js"), str(seconds)]
        words += ["--addon=" + self.addon] if self.addon else []
        return case.runtime.argv([*words, *case.words], self.directory, case.way)

    def sleeper(self, case):
        return case.runtime.argv([os.path.join(self.directory, "idle.js")], self.directory)

    def judge(self, run, samples):
        said = calls.Said(run.text)
        self.unnamed = sum(any(map(self.is_unnamed, sample.frames)) for sample in samples) / len(samples)
        seen = {sample.labels.get("tid") for sample in samples}     # None: its numbers are not the profile's
        return calls.Judge(said, calls.Truth(), said.threads if seen & set(said.threads) else None,
                           "--lazy" in run.case.words)

    @staticmethod
    def is_unnamed(frame):
        return not frame.file and bool(nodes.NO_NAME.fullmatch(frame.name))

    def lacking(self, case, judge):
        if nodes.major(case.runtime) >= nodes.EMBEDDED and self.unnamed > UNNAMED_MOST:
            yield f"{self.unnamed:.1%} of the samples have V8's code without a name"

    def may_lack(self, case, scenario, _why):
        return scenario in nodes.may_lack(case.runtime, self.addon) or scenario == "wasm" and case.label in nodes.WITHOUT_WASM

    def work_of(self, run, judge):
        return {name: cpu for name, cpu in judge.said.work.items() if cpu == cpu and name not in OUTSIDE}

    def cases(self):
        found = self.find()
        one_of_each = nodes.one_of_each(found)
        for number in sorted({*nodes.MAJORS} - {*map(nodes.major, one_of_each)}):
            language.skip(f"v8_node_{number}", "no such runtime here")
        for runtime in found:
            yield language.Case(runtime)
            yield self.started(runtime)
            for label, options in nodes.FLAGS.items():
                yield language.Case(runtime, label, tuple(options),
                                    seconds=nodes.SLOW_SECONDS if label in nodes.SLOW else 0)
        for runtime in one_of_each:
            yield language.Case(runtime, "lazy", words=("--lazy",))    # V8 is not asked for lines before
            yield self.attached(runtime)
            if runtime.root:
                yield self.contained(runtime, IN_CONTAINER)


if __name__ == "__main__":
    sys.exit(language.main(Nodes))

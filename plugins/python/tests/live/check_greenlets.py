#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles greenlets.py in the Pythons of this machine that have greenlet, and compares each stack with what the
program says of itself.

A stack is true when its Python frames are those that the interpreter had there, from the greenlet's first one on, when it
is complete, and when it ends where the greenlet begins: with the code of greenlet that calls its function, and nobody's
frame behind it. That of a thread's main greenlet ends where the thread begins.

Flags, output and exit status: tests/kit/language.py.
"""
import collections
import sys

import pythons  # and with it where the kit is
import counting
import language
import runs
import stacks
import truth

PROGRAM = pythons.WORKLOAD.replace("workload.py", "greenlets.py")
LEAF = "burn"
MODULE = ("_greenlet.", "greenlet.")    # of the file that has the stub


class Greenlets(language.Check):
    language = pythons.LANGUAGE
    groups = ("python3.13-greenlet",), ("full",)
    seconds = 3, 6

    def find(self):
        """Those that have it, and can run by themselves."""
        found = []
        for runtime in super().find():
            done = self.language.run(runtime.argv(["-c", "import greenlet"], pythons.HERE), 60)
            if runtime.numbers >= pythons.OLDEST and done.returncode == 0:
                found.append(runtime)
        return found

    def cases(self):
        return [language.Case(runtime, "greenlets", cold=True,
                              threshold=pythons.JIT_ORDER if "jit" in runtime.flavors else language.THRESHOLD)
                for runtime in self.find()]

    def default_cases(self):
        return self.cases()[-1:] or super().default_cases()

    def command(self, case, seconds):
        return case.runtime.argv([PROGRAM, str(seconds)], pythons.HERE)

    def samples_of(self, run):
        return runs.process_of(run.profile.samples)     # what starts a runtime is one itself

    def check(self, run):
        said = truth.said(run.done, "RESULT", "greenlets")
        chains = {(tuple(names), is_main) for names, is_main in said["chains"]}
        verdict, examples = collections.Counter(), {}
        print(f"  Python {said['version']}, greenlet {said['greenlet']}, gevent {said['gevent']}")
        for sample in self.samples_of(run):
            why = judge(sample.frames, chains)
            if why is None:
                continue
            verdict[why] += sample.count
            examples.setdefault(why, sample.frames)
        self.say(verdict, examples)
        tested = sum(verdict.values())
        if tested < 200:
            raise language.Failed(f"{tested} samples are too few to tell")
        if counting.is_missed(tested - verdict["true"], tested, run.case.threshold):
            raise language.Failed(f"{100 * verdict['true'] / tested:.2f} % true stacks")

    def say(self, verdict, examples):
        tested = sum(verdict.values()) or 1
        for why, n in verdict.most_common():
            print(f"  {100 * n / tested:6.2f} % of {tested}  {why}")
            if why != "true":
                print(f"             {truth.text_of(examples[why], 40)}")


def judge(frames, chains):
    """"true", what is wrong, or None: it is no sample of what is burnt."""
    frames = stacks.without_kernel(list(frames))
    python = [frame.name.split(".")[-1] for frame in frames if truth.is_python(frame)]
    python.reverse()
    if LEAF not in python:
        return None
    chain = tuple(python[:python.index(LEAF) + 1])
    errors = [frame.name for frame in frames if stacks.is_error(frame) or stacks.is_gap(frame)]
    if errors:
        return errors[-1]
    kinds = [is_main for names, is_main in chains if names == chain]
    if not kinds:
        return "no such chain"
    last = frames[-1]
    in_stub = last.file.startswith(MODULE)
    if in_stub == stacks.is_root(last):
        return "ends in " + last.name
    return "true" if any(is_main != in_stub for is_main in kinds) else "the other greenlet's end"


if __name__ == "__main__":
    sys.exit(language.main(Greenlets))

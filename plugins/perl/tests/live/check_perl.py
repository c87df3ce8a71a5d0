#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/burner.pl in every Perl of this machine and judges each stack (callers.py).

    check_perl.py [--full] [--bars] [--only REGEX] [--seconds N] [--keep DIRECTORY] [--examples] [--tries N]

Quick: of each minor release the static Perl and the one on libperl; --full: all, also debug builds, and all ways to
run them of each. A run fails that is far below its bar (verdicts.SLACK); one that is below by less says so; --bars: it
fails, too. Names that never ran fail always. --examples: what is wrong, and figures of each scenario, passed or not.
Where the profiler is comes from EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR. A line "[       OK ] NAME" for
each run. Exit status: 0, 1 when a run failed, 77 when this machine cannot profile.
"""
import collections
import dataclasses
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import callers  # noqa: E402
import perls  # noqa: E402
import runs  # noqa: E402
import shares  # noqa: E402
import verdicts  # noqa: E402
from runs import Failed, Skipped, skip  # noqa: E402

THRESHOLD = 99.5        # percent of samples: complete, and true
STARTUP_THRESHOLD = 98.0
STARTUP_SECONDS = 1
STARTUP_FEWEST = 60
FREQUENCY = 499
ATTACHED_SECONDS = 12   # of them 3 are sampled: the unwinder's load takes seconds on a busy machine
ATTACHED_FEWEST = 100
ATTACHING_SECONDS = 0.3     # until it is attached to, its stacks are native
IN_CONTAINER = "closures,deep1000,turns40,ties,text"
IN_THREADS = 1


@dataclasses.dataclass
class Case:
    """One run: a runtime, its options, what it does."""
    runtime: object
    label: str = ""
    options: tuple = ()      # of Perl
    words: tuple = ()        # of the burner
    seconds: float = 0
    threshold: float = THRESHOLD
    fewest: int = verdicts.FEWEST
    attach: bool = False     # profiled from its middle on
    way: str = None          # of tests/runtimes/enter.py
    aside: bool = False      # what was freed before it could be named is nobody's fault
    has_no_shares: bool = False  # of scenarios, to be compared with CPU times: nobody counts those of threads

    @property
    def name(self):
        return runs.name_of(self.runtime.name, self.label)

    def argv(self, seconds):
        return perls.burner(self.runtime, self.seconds or seconds, *self.words, options=self.options, way=self.way)


# --- judging --------------------------------------------------------------------------------------

def check_said(known, case):
    if not known.stacks:
        raise Failed("the burner says no stacks")
    for name, (needs, why) in known.missing.items():
        if perls.minor(case.runtime) >= needs:
            raise Failed(f"the burner has no scenario {name}: {why}")


def share_problems(verdict, said, frequency, aside):
    """Of each scenario's CPU time, counted as samples."""
    if said.work and not aside:
        yield from shares.problems({name: sum(verdict.scenarios.get(name, {}).values()) for name in said.work},
                                   {name: cpu * frequency for name, cpu in said.work.items()})


def print_figures(verdict, judge, exact):
    """exact: a judge that takes no line but caller's."""
    for name, counts in sorted(verdict.scenarios.items()):
        whole = sum(counts.values())
        bad = sum(n for reason, n in counts.items() if verdicts.is_incomplete(reason))
        print(f"      {name:12} {whole:6} samples, {100 * (whole - bad) / whole:6.2f} % complete, "
              f"{100 * counts[verdicts.TRUE] / whole:6.2f} % true")
    lines, named = collections.Counter(), collections.Counter()
    for frames, count in verdict.examples[verdicts.TRUE].items():
        lines[exact.judge(frames) == verdicts.TRUE] += count
        for by, found in judge.of_c(frames):
            named[by == found] += count
    print(f"      of {sum(lines.values())} true ones {lines[True]} have caller's lines everywhere; of "
          f"{sum(named.values())} calls by functions of C {named[True]} have that one's name")


def record(case, options, directory):
    """(profile, what the burner said)"""
    path = os.path.join(options.keep or directory, case.name + ".pb.gz")
    seconds = case.seconds or options.seconds
    how = {"after": 1.5, "seconds": 3} if case.attach else {"sleeps": perls.sleeper(case.runtime)}
    profile, done = perls.record(case.argv(options.seconds), path, frequency=FREQUENCY,
                                 timeout=90 + 10 * seconds, **how)
    if "skip:" in done.stdout:
        raise Skipped(done.stdout.strip().splitlines()[-1])
    if done.returncode:
        raise Failed(f"exit status {done.returncode}: {done.stdout[-300:]} {done.stderr[-1000:]}")
    return profile, callers.Said(done.stdout)


def check(case, options, directory):
    known = perls.ask(case.runtime, *case.words, options=case.options)
    check_said(known, case)
    profile, said = record(case, options, directory)
    samples = perls.samples_of(profile, said.forked)
    if not samples:
        raise Failed("no samples")
    if case.aside:
        named = [s for s in samples if not callers.is_gone(s.frames)]
        print(f"  {len(samples) - len(named)} stacks have code that was freed before it was named")
        samples = named
    judge = callers.Judge(known, said)
    judge.moment_seconds += ATTACHING_SECONDS if case.attach else 0
    verdict = verdicts.Verdict(judge, samples)
    frequency = runs.frequency_of(samples)
    partly = case.attach or case.aside or case.way
    problems = [] if partly else [*verdict.amount_problems(frequency, profile.lost),
                                  *share_problems(verdict, said, frequency, case.has_no_shares)]
    if options.examples:
        print_figures(verdict, judge, callers.Judge(known.without_nearer(), said))
    verdict.check(case.threshold, problems, options.bars, options.examples, case.fewest)


# --- which ----------------------------------------------------------------------------------------

def more_cases(runtime):
    yield Case(runtime, "start", threshold=STARTUP_THRESHOLD, seconds=STARTUP_SECONDS, fewest=STARTUP_FEWEST)
    yield Case(runtime, "debugger", options=tuple(perls.DEBUGGED))
    yield Case(runtime, "fleeting", words=("--only=fleeting,texts",), aside=True, seconds=4)
    yield Case(runtime, "attached", attach=True, seconds=ATTACHED_SECONDS, fewest=ATTACHED_FEWEST)
    if "unthreaded" not in runtime.flavors:
        yield Case(runtime, "threads", words=(f"--threads={IN_THREADS}",), has_no_shares=True)
    if runtime.root:
        yield Case(runtime, "container", way="container", words=("--only=" + IN_CONTAINER,), seconds=4)


def cases(options):
    found = perls.find(complain=lambda text: skip("a_runtime", text))
    quick = perls.one_of_each(found)
    for runtime in found if options.full else quick:
        yield Case(runtime)
    # Each way once with the oldest that has a root, once with the newest.
    with_root = [r for r in quick if r.root]
    for runtime in found if options.full else [*with_root[:1], *quick[-1:]]:
        yield from more_cases(runtime)


def arguments():
    parser = runs.parser()
    parser.add_argument("--bars", action="store_true", help="no slack below a bar, and one try")
    options = parser.parse_args()
    options.seconds = options.seconds or (10 if options.full else 5)
    options.tries = 1 if options.bars else options.tries
    return options


def main(options):
    return runs.main(options, "perl",
                     lambda directory: (cases(options), lambda case: check(case, options, directory)))


if __name__ == "__main__":
    sys.exit(main(arguments()))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/burner.js in every Node of this machine and judges each stack (calls.py).

    check_v8.py [--full] [--bars] [--only REGEX] [--seconds N] [--keep DIRECTORY] [--examples]

Quick: one of each of 8, 12, 16, 18, 20, 22, 24 and 26, Debian's where there is one; --full: all, and flags
of theirs. A run fails that is far below its bar (verdicts.SLACK); one that is below by less says so; --bars: it
fails, too. Names that never ran fail always. Where the profiler is comes from EBPF_PROFILER_BINARY and
EBPF_PROFILER_PLUGINS_DIR. A line "[       OK ] NAME" for each run, one for each scenario that is below its bar.
Exit status: 0, 1 when a run failed, 77 when this machine cannot profile.
"""
import dataclasses
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import calls  # noqa: E402
import nodes  # noqa: E402
import runs  # noqa: E402
import shares  # noqa: E402
import verdicts  # noqa: E402
from runs import Failed, Skipped, skip  # noqa: E402

THRESHOLD = 99.5        # percent of samples: complete, and true
STARTUP_THRESHOLD = 98.0
STARTUP_SECONDS = 1
STARTUP_FEWEST = 100
FREQUENCY = 499
OUTSIDE = ("timed",)     # half of its time is in the loop that its timers are in, and in no function of its own
INTERPRETED_SECONDS = 4
ATTACHED_SECONDS = 12   # of them 3 are sampled: the unwinder's load takes seconds on a busy machine
IN_CONTAINER = ("closures", "turns64", "deep500", "wasm", "asyncs")

FLAGS = {  # label: options; what a Node does not take is a skip
    "jitless": ["--jitless"],
    "interpreted": ["--no-opt", "--no-sparkplug"],
    "no_opt": ["--no-opt"],
    "sparkplug": ["--always-sparkplug"],
    "maglev": ["--maglev", "--no-turbofan"],
    "native_stack": ["--interpreted-frames-native-stack"],
    "always_opt": ["--always-opt"],
    "always_turbofan": ["--always-turbofan"],
    "no_inlining": ["--no-turbo-inlining"],
    "no_short_calls": ["--no-short-builtin-calls"],
    "small_young": ["--max-semi-space-size=1"],
    "regexp_interpreted": ["--regexp-interpret-all"],
    "wasm_baseline": ["--liftoff", "--no-wasm-tier-up"],
    "wasm_optimized": ["--no-liftoff"],
}
QUICK_FLAGS = {8: ["no_opt"], 12: ["jitless"], 16: ["sparkplug"], 18: ["native_stack"], 20: ["no_short_calls"],
               22: ["maglev"], 24: ["interpreted"], 26: ["small_young"]}
SLOW = ("jitless", "interpreted", "no_opt", "always_opt", "always_turbofan")
WITHOUT_WASM = ("jitless",)     # Node's documentation, "--jitless"; newer ones interpret it


@dataclasses.dataclass
class Case:
    """One run: a runtime, its options, what it does."""
    runtime: object
    label: str = ""
    options: tuple = ()
    scenarios: tuple = ()
    seconds: float = 0
    threshold: float = THRESHOLD
    fewest: int = verdicts.FEWEST
    attach: bool = False     # profiled from its middle on
    lazy: bool = False       # V8 is not asked for lines before
    way: str = None          # of tests/runtimes/enter.py

    @property
    def name(self):
        return runs.name_of(self.runtime.name, self.label)

    def argv(self, directory, addon, seconds):
        words = [*self.options, os.path.join(directory, "burner.js"), str(self.seconds or seconds)]
        words += ["--addon=" + addon] if addon else []
        words += ["--lazy"] if self.lazy else []
        return self.runtime.argv([*words, *self.scenarios], directory, self.way)


# --- judging --------------------------------------------------------------------------------------

def why_not_started(done):
    """A Node without this flag."""
    found = re.search(r".*(bad option|illegal value|unrecognized flag|is not allowed|contradict).*",
                      done.stdout + done.stderr)
    return found[0] if found else None


def check_said(said, case, addon):
    if said.broken:
        raise Failed(f"the burner: {said.broken}")
    may_lack = nodes.may_lack(case.runtime, addon) | ({"wasm"} if case.label in WITHOUT_WASM else set())
    for name, why in said.missing.items():
        if name not in may_lack:
            raise Failed(f"the burner has no scenario {name}: {why}")


def threads_of(said, samples):
    """Those that run JavaScript; None where the burner's numbers are not the profile's."""
    seen = {sample.labels.get("tid") for sample in samples}
    return said.threads if seen & set(said.threads) else None


def share_problems(verdict, said, frequency):
    """Of each scenario's CPU time, counted as samples."""
    seconds = {name: cpu for name, cpu in said.work.items() if cpu == cpu and name not in OUTSIDE}
    if seconds:
        yield from shares.problems({name: sum(verdict.scenarios[name].values()) for name in seconds},
                                   {name: cpu * frequency for name, cpu in seconds.items()})


def record(case, directory, addon, options):
    """(profile, what the burner said)"""
    path = os.path.join(options.keep or directory, case.name + ".pb.gz")
    seconds = case.seconds or options.seconds
    idle = os.path.join(directory, "idle.js")
    how = {"after": 1.5, "seconds": 3} if case.attach else {"sleeper": case.runtime.argv([idle], directory)}
    profile, done = nodes.record(case.argv(directory, addon, options.seconds), path, frequency=FREQUENCY,
                                 timeout=90 + 10 * seconds, **how)
    if done.returncode:
        why = why_not_started(done)
        if why:
            raise Skipped("skip: " + why)
        raise Failed(f"exit status {done.returncode}: {done.stdout[-500:]} {done.stderr[-1000:]}")
    return profile, calls.Said(done.stdout)


def check(case, directory, addon, options):
    profile, said = record(case, directory, addon, options)
    check_said(said, case, addon)
    samples = runs.process_of(profile.samples, runs.is_starter)
    if not samples:
        raise Failed("no samples")
    judge = calls.Judge(said, calls.Truth(), threads_of(said, samples), case.lazy)
    verdict = verdicts.Verdict(judge, samples)
    frequency = runs.frequency_of(samples)
    problems = [] if case.attach else [*verdict.amount_problems(frequency, profile.lost),
                                       *share_problems(verdict, said, frequency)]
    verdict.check(case.threshold, problems, options.bars, options.examples, case.fewest)


# --- which ----------------------------------------------------------------------------------------

def flag_cases(runtime, labels):
    for label in labels:
        yield Case(runtime, label, tuple(FLAGS[label]), seconds=INTERPRETED_SECONDS if label in SLOW else 0)


def cases(options):
    found = nodes.find(complain=lambda text: skip("a_runtime", text))
    quick = nodes.one_of_each(found)
    for number in nodes.QUICK:
        if number not in map(nodes.major, quick):
            skip(f"v8_node_{number}", "no such runtime here")
    for runtime in found if options.full else quick:
        yield Case(runtime)
        yield Case(runtime, "start", threshold=STARTUP_THRESHOLD, seconds=STARTUP_SECONDS, fewest=STARTUP_FEWEST)
        yield from flag_cases(runtime, FLAGS if options.full else QUICK_FLAGS.get(nodes.major(runtime), []))
    for runtime in quick if options.full else quick[-2:]:
        yield Case(runtime, "lazy", lazy=True)
        yield Case(runtime, "attached", attach=True, seconds=ATTACHED_SECONDS)
        if runtime.root:
            yield Case(runtime, "container", way="container", scenarios=IN_CONTAINER, seconds=4)


def arguments():
    parser = runs.parser()
    parser.add_argument("--bars", action="store_true", help="no slack below a bar, and one try")
    options = parser.parse_args()
    options.seconds = options.seconds or (10 if options.full else 5)
    options.tries = 1 if options.bars else options.tries
    return options


def prepare(options, directory):
    addon = nodes.build(directory)
    if not addon:
        skip("addon", "no C compiler: no native code between JavaScript's")
    return cases(options), lambda case: check(case, directory, addon, options)


def main(options):
    return runs.main(options, "v8", lambda directory: prepare(options, directory))


if __name__ == "__main__":
    sys.exit(main(arguments()))

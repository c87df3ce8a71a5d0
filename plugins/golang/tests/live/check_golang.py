#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/burner, built by every Go of this machine, and judges each stack (judge_go.py).

    check_golang.py [--full] [--bars] [--only REGEX] [--seconds N] [--keep DIRECTORY] [--examples]

Quick: one Go of each minor version, plain and with C; --full: all that are found, stripped and position
independent as well. A run fails that is far below its bar (verdicts.SLACK); one that is below by less
says so; --bars: it fails, too. Where the profiler is comes from EBPF_PROFILER_BINARY and
EBPF_PROFILER_PLUGINS_DIR. A line "[       OK ] NAME" for each run.
Exit status: 0, 1 when a run failed, 77 when this machine cannot profile.
"""
import dataclasses
import os
import shutil
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
TESTS = os.path.realpath(os.path.join(HERE, "..", "..", "..", "..", "tests"))
sys.path[:0] = [HERE, os.path.join(TESTS, "live"), os.path.join(TESTS, "runtimes")]
import judge_go  # noqa: E402
import runs  # noqa: E402
import runtimes  # noqa: E402
import source_go  # noqa: E402
import stacks  # noqa: E402
import verdicts  # noqa: E402
from runs import Failed, Skipped, skip  # noqa: E402

BURNER = os.path.join(HERE, "..", "programs", "burner")
THRESHOLD = 99.5        # percent of samples: complete, and true
FREQUENCY = 499
QUICK = (15, 19, 21, 22, 23, 24, 25, 26, 27)    # 1.N
LOADED = "golang: unwinder loaded"
BUILD_SECONDS = 300

BUILDS = {  # label: cgo, options of go build
    "plain": (False, []),
    "cgo": (True, []),
    "stripped": (False, ["-ldflags=-s -w"]),
    "cgo_stripped": (True, ["-ldflags=-s -w"]),
    "pie": (False, ["-buildmode=pie"]),
    "cgo_pie": (True, ["-buildmode=pie"]),
    "cgo_pie_stripped": (True, ["-buildmode=pie", "-ldflags=-s -w"]),
}
QUICK_BUILDS = "plain", "cgo"


@dataclasses.dataclass
class Case:
    """One run: a Go, how it builds the burner, what that does."""
    runtime: object
    label: str
    scenarios: tuple = ()

    @property
    def name(self):
        return runs.name_of(self.runtime.name, self.label)

    @property
    def cgo(self):
        return BUILDS[self.label][0]


def minor(runtime):
    return runtime.numbers[1]


# --- building -------------------------------------------------------------------------------------

def environment(case, directory):
    """Nothing is asked of the network, nothing left in the user's caches."""
    env = runs.environment("GO", "CGO")
    command = case.runtime.root + case.runtime.program
    if case.runtime.root:  # its own idea of where it is does not hold here
        env["GOROOT"] = os.path.dirname(os.path.dirname(os.path.realpath(command)))
    return dict(env, GOTOOLCHAIN="local", GOPROXY="off", GO111MODULE="on", GOENV="off", CGO_ENABLED="01"[case.cgo],
                GOCACHE=os.path.join(directory, "cache-" + case.runtime.version), GOPATH=os.path.join(directory, "path"))


def build(case, directory):
    """The path of the burner."""
    if case.cgo and not shutil.which("gcc"):
        raise Skipped("skip: no gcc, which Go takes for C")
    source = os.path.join(directory, "burner")
    shutil.copytree(BURNER, source, dirs_exist_ok=True)
    path = os.path.join(directory, case.name)
    options = BUILDS[case.label][1] + ([] if minor(case.runtime) < 18 else ["-buildvcs=false"])
    command = [case.runtime.root + case.runtime.program, "build", *options, "-o", path, "."]
    done = runs.run(["env", "-C", source, *command], BUILD_SECONDS, environment(case, directory))
    if done.returncode:
        raise Failed(f"cannot be built: {done.stderr[-1500:]}")
    return path


# --- judging --------------------------------------------------------------------------------------

def check(case, directory, options):
    program = build(case, directory)
    path = os.path.join(options.keep or directory, case.name + ".pb.gz")
    done = runs.record([program, str(options.seconds), *case.scenarios], path, runs.environment("GO"), FREQUENCY,
                       90 + 10 * options.seconds, sleeper=[program, "60", "idle"], loaded=LOADED)
    if done.returncode:
        raise Failed(f"exit status {done.returncode}: {done.stdout[-500:]} {done.stderr[-1000:]}")
    profile = stacks.read_profile(path, stacks.LineProfile)
    samples = runs.process_of(runs.not_of_sleeper(profile.samples, done), runs.is_starter)
    if not samples:
        raise Failed("no samples")
    judge = judge_go.Judge(done.stdout, source_go.Source(BURNER))
    verdict = verdicts.Verdict(judge, samples)
    problems = [*verdict.amount_problems(runs.frequency_of(samples), profile.lost), *judge.problems()]
    verdict.check(THRESHOLD, problems, options.bars, options.examples)


# --- which ----------------------------------------------------------------------------------------

def one_of_each(found):
    chosen = {}
    for runtime in found:
        if runtime.numbers[0] == 1 and minor(runtime) in QUICK:
            chosen.setdefault(minor(runtime), runtime)
    return [chosen[number] for number in sorted(chosen)]


def cases(options):
    found = sorted(runtimes.find("golang", complain=lambda text: skip("a_runtime", text)),
                   key=lambda r: (r.numbers, r.source))
    quick = one_of_each(found)
    for number in QUICK:
        if number not in map(minor, quick):
            skip(f"go_1_{number}", "no such Go here")
    for runtime in found if options.full else quick:
        for label in BUILDS if options.full else QUICK_BUILDS:
            yield Case(runtime, label)


def arguments():
    parser = runs.parser()
    parser.add_argument("--bars", action="store_true", help="no slack below a bar, and one try")
    options = parser.parse_args()
    options.seconds = options.seconds or (10 if options.full else 5)
    options.tries = 1 if options.bars else options.tries
    return options


def main(options):
    return runs.main(options, "golang", lambda directory: (cases(options), lambda case: check(case, directory, options)))


if __name__ == "__main__":
    sys.exit(main(arguments()))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/burner, built by every Go of this machine, and judges each stack (judge_go.py).

    check_golang.py [--full] [--bars] [--only REGEX] [--seconds N] [--keep DIRECTORY] [--examples]

Quick: what Debian has and the newest that is found, one build of each, so that what matters is in one of
them; --full: all that are found, in all builds. A run fails that is far below its bar (verdicts.SLACK);
one that is below by less says so; --bars: it fails, too. Where the profiler is comes from
EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR. A line "[       OK ] NAME" for each run. What Go's
compilers made of its own packages is kept beside the runtimes, in .go-build.
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

PROGRAMS = os.path.realpath(os.path.join(HERE, "..", "programs"))
BURNER, OPENER, HOST = (os.path.join(PROGRAMS, name) for name in ("burner", "opener", "host.c"))
THRESHOLD = 99.5        # percent of samples: complete, and true
FREQUENCY = 499
QUICK = {15: "plain", 19: "cgo_pie_stripped", 24: "c_shared"}   # 1.N: a build
NEWEST = "cgo"          # of one that is newer
LOADED = "golang: unwinder loaded"
BUILD_SECONDS = 300

STRIP = "-ldflags=-s -w"


@dataclasses.dataclass
class Build:
    """
    What `go build` makes of the burner. A library gets a suffix, and finish(case, path, directory) makes the
    program that has it. bar, lacks, oldest: what docs/go.md says of it in "Limits"; scenarios
    without a whole stack; releases that are judged.
    """
    cgo: bool
    options: tuple = ()
    suffix: str = ""
    finish: object = None
    bar: float = THRESHOLD
    lacks: tuple = ()
    oldest: int = 0     # 1.N


def with_c_shared(case, path, _directory):
    link_host(case, path, [path + ".so", "-Wl,-rpath," + os.path.dirname(path)])


def with_c_archive(case, path, _directory):
    link_host(case, path, [path + ".a", "-pthread", "-lresolv"])


def link_host(case, path, libraries):
    must(["gcc", "-O2", "-o", path, HOST, *libraries], environment(case))


def with_plugin(case, path, directory):
    go_build(case, OPENER, path, directory)


BUILDS = {
    "plain": Build(False),
    "cgo": Build(True),
    "stripped": Build(False, (STRIP,)),
    "cgo_stripped": Build(True, (STRIP,)),
    "pie": Build(False, ("-buildmode=pie",)),
    "cgo_pie": Build(True, ("-buildmode=pie",)),
    "cgo_pie_stripped": Build(True, ("-buildmode=pie", STRIP)),
    "c_shared": Build(True, ("-buildmode=c-shared",), ".so", with_c_shared),
    "c_archive": Build(True, ("-buildmode=c-archive",), ".a", with_c_archive),
    "race": Build(True, ("-race",), bar=91.0, oldest=19),
    "plugin": Build(True, ("-buildmode=plugin",), ".so", with_plugin, bar=94.0, lacks=("growing",), oldest=21),
}


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
        return BUILDS[self.label].cgo


def minor(runtime):
    return runtime.numbers[1]


# --- building -------------------------------------------------------------------------------------

def environment(case):
    """Nothing is asked of the network, nothing left in the user's caches: one beside the runtimes is kept."""
    env = runs.environment("GO", "CGO")
    command = case.runtime.root + case.runtime.program
    if case.runtime.root:  # its own idea of where it is does not hold here
        env["GOROOT"] = os.path.dirname(os.path.dirname(os.path.realpath(command)))
    return dict(env, GOTOOLCHAIN="local", GOPROXY="off", GO111MODULE="on", GOENV="off", CGO_ENABLED="01"[case.cgo],
                GOCACHE=os.path.join(runtimes.CACHE, ".go-build"), GOPATH=os.path.join(runtimes.CACHE, ".go-path"))


def must(command, env):
    done = runs.run(command, BUILD_SECONDS, env)
    if done.returncode:
        raise Failed(f"cannot be built: {done.stderr[-1500:]}")


def go_build(case, source, path, directory, options=()):
    copy = os.path.join(directory, os.path.basename(source))
    shutil.copytree(source, copy, dirs_exist_ok=True)
    more = [] if minor(case.runtime) < 18 else ["-buildvcs=false"]
    must(["env", "-C", copy, case.runtime.root + case.runtime.program, "build", *options, *more, "-o", path, "."],
         environment(case))


def build(case, directory):
    """The path of the burner."""
    if case.cgo and not shutil.which("gcc"):
        raise Skipped("skip: no gcc, which Go takes for C")
    what, path = BUILDS[case.label], os.path.join(directory, case.name)
    go_build(case, BURNER, path + what.suffix, directory, what.options)
    if what.finish:
        what.finish(case, path, directory)
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
    what = BUILDS[case.label]
    problems = [*verdict.amount_problems(runs.frequency_of(samples), profile.lost), *judge.problems(what.lacks)]
    verdict.check(what.bar, problems, options.bars, options.examples)


# --- which ----------------------------------------------------------------------------------------

def chosen(found):
    """Quick cases: of each minor version the first."""
    by_minor = {}
    for runtime in found:
        by_minor.setdefault(minor(runtime), runtime)
    for number, label in QUICK.items():
        if number in by_minor:
            yield Case(by_minor[number], label)
        else:
            skip(f"go_1_{number}", "no such Go here")
    if by_minor and max(by_minor) > max(QUICK):
        yield Case(by_minor[max(by_minor)], NEWEST)
    else:
        skip("go_newest", f"no Go newer than 1.{max(QUICK)} here")


def cases(options):
    found = sorted(runtimes.find("golang", complain=lambda text: skip("a_runtime", text)),
                   key=lambda r: (r.numbers, r.source))
    if options.full:
        return [Case(runtime, label) for runtime in found for label, what in BUILDS.items()
                if minor(runtime) >= what.oldest]
    return list(chosen(found))


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

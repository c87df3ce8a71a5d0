#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles workload.py in every Python of this machine and compares each stack with the truth.

    check_python.py [--full] [--only REGEX] [--seconds N] [--keep DIRECTORY] [--table]

Which Pythons: the machine's own, pyenv's, and those of tests/runtimes/install (quick or full).
Where the profiler is comes from EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR. A line
"[       OK ] NAME" for each run; what is wrong is printed with its share and an example.
Exit status: 0, 1 when a run failed, 77 when this machine cannot profile.
"""
import collections
import dataclasses
import glob
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
TESTS = os.path.realpath(os.path.join(HERE, "..", "..", "..", "..", "tests"))
sys.path[:0] = [HERE, os.path.join(TESTS, "live"), os.path.join(TESTS, "runtimes")]
import runs  # noqa: E402
import runtimes  # noqa: E402
import shares  # noqa: E402
import truth  # noqa: E402
from runs import Failed, Skipped, skip  # noqa: E402

WORKLOAD = os.path.join(HERE, "workload.py")
START = os.path.join(TESTS, "live", "start.py")
FREQUENCY = 499
ATTACH_AFTER = 1  # seconds
ATTACH_MORE = 4   # the target runs so much longer: a profiler on a slow machine starts late
OLDEST = (3, 6)
TRAMPOLINES = "PYTHONPERFSUPPORT", "1"  # 3.12: code without unwind rules before each evaluation
FEWEST = 30       # samples of a run
THRESHOLD = 99.5  # percent of samples
JIT_ORDER = 95.0  # code the JIT has just made is not known to BPF for up to 0.1 s
GRACE = 3         # samples that may be wrong however few there are
# True for a moment, wrong when it is more: a call does not have its callee yet, or has it no more; a
# thread that starts or ends has no Python frames.
AT_A_CALL_LIMIT = 0.5  # percent of samples
THREAD_ENDS = "a thread's start or end"
# So many threads start and end however many samples there are: what that takes, the machine decides.
THREAD_ENDS_LIMIT = 1.5, 5  # times its CPU time, and more
STARTUP = 1.3, 15  # samples before the workload: times its CPU time until then, and more
AMOUNT = 0.94, 1.3, 15  # samples by CPU time used: at least, at most, and so many more or less
GONE = ("[python: unknown function]",)  # its code was freed before it could be named


@dataclasses.dataclass
class Case:
    """One run: a runtime, how it is started, what it does."""
    runtime: runtimes.Runtime
    label: str = ""
    way: str = None          # of tests/runtimes/enter.py
    start: str = ""          # of tests/live/start.py
    text: bool = False       # python -c TEXT
    mode: str = "burn"       # or "fork"
    attach: bool = False     # profiled from its middle on, not from its start
    host: tuple = ()         # a program, and arguments, that runs this Python within itself
    scenarios: tuple = ()

    @property
    def name(self):
        return runs.name_of(self.runtime.name, self.label)

    @property
    def order_threshold(self):
        """Percent; 0 where native frames are known to be incomplete."""
        deeper_than_native = "deep" in self.scenarios and self.runtime.numbers < truth.INLINED_CALLS
        if deeper_than_native or TRAMPOLINES in self.runtime.environment:
            return 0
        return JIT_ORDER if "jit" in self.runtime.flavors else THRESHOLD

    def argv(self, *arguments):
        with open(WORKLOAD, encoding="utf-8") as file:
            script = ["-c", file.read()] if self.text else [WORKLOAD]
        command = self.runtime.argv([*script, *arguments, *self.scenarios], HERE, self.way)
        command = [*self.host, *command]
        return [sys.executable, START, self.start, *command] if self.start else command


# --- running --------------------------------------------------------------------------------------

def environment():
    return dict(runs.environment("PYTHON"), PYTHONDONTWRITEBYTECODE="1")


def run(command, seconds):
    return runs.run(command, 60 + 10 * seconds, environment())


def said(done, word, what):
    """What the workload printed behind the word."""
    if "skip:" in done.stdout:
        raise Skipped(done.stdout.strip().splitlines()[-1])
    for line in done.stdout.splitlines():
        if line.startswith(word + " "):
            return json.loads(line[len(word):])
    raise Failed(f"{what}: exit status {done.returncode}, no {word} in {done.stdout[:200]!r}: "
                 f"{done.stderr[:1500]}")


def trace(case):
    done = run(case.argv("trace", "0"), 10)
    source = "<string>" if case.text else WORKLOAD
    return truth.Truth(said(done, "TRUTH", "trace"), case.runtime.numbers, source,
                       truth.long_lines_of(WORKLOAD, source))


def run_attached(command, target, seconds):
    """Profiles a process that has been running; returns what the profiler and it have said."""
    with subprocess.Popen(target, stdout=subprocess.PIPE, text=True, env=environment(),
                          stdin=subprocess.DEVNULL) as process:
        time.sleep(ATTACH_AFTER)
        done = run([*command, "-p", str(process.pid), "-d", f"{max(seconds / 2, 1):.0f}s"], seconds)
        done.stdout += process.communicate()[0]
    return done


def record(case, seconds, path):
    """(what the workload said, samples of its process)"""
    command = [runs.profiler(), "record", "-F", str(FREQUENCY), "-o", path, "--force"]
    if case.attach:
        done = run_attached(command, case.argv(case.mode, str(seconds + ATTACH_MORE)), seconds)
    else:
        done = run([*command, "--", *case.argv(case.mode, str(seconds))], seconds)
    runs.check_can(done, path)
    result = said(done, "RESULT", "burn")
    if done.returncode:
        raise Failed(f"exit status {done.returncode}: {done.stderr[:1500]}")
    profile = truth.read_profile(path)
    samples = runs.process_of(profile.samples)
    if not samples:
        raise Failed(f"no samples: {done.stderr[-1500:]}")
    result["stderr"] = done.stderr
    result["lost"] = profile.lost
    result["frequency"] = runs.frequency_of(samples)
    if case.attach:  # how much of it was seen is not known
        result.update(cpu={}, cpu_total=sum(s.weight_ns for s in samples) / 1e9)
    return result, samples


# --- judging --------------------------------------------------------------------------------------

class Verdict:
    """Counts samples by what is wrong with them."""

    def __init__(self, known, result, samples, racy=False, set_aside=()):
        """
        racy: other threads went on while sys._current_frames() was read, without a GIL.
        set_aside: what is wrong with stacks that nobody can get right.
        """
        self.known, self.result, self.racy = known, result, racy
        self.counts, self.order, self.scenarios = (collections.Counter() for _ in range(3))
        self.examples = collections.defaultdict(collections.Counter)
        memo = {}
        for sample in samples:
            frames = tuple(sample.frames)
            if frames not in memo:
                taken_apart = truth.Sample(frames)
                memo[frames] = taken_apart, known.judge(taken_apart)
            self.add(sample, *memo[frames])
        self.all = sum(self.counts.values())
        self.outside = min(self.counts[truth.OUTSIDE], self.startup_limit())
        self.aside = sum(self.counts[reason] for reason in set_aside)
        self.tested = self.all - self.outside - self.aside
        self.at_calls = min(self.counts[truth.AT_A_CALL],
                            max(GRACE, int(self.tested * AT_A_CALL_LIMIT / 100)))
        self.thread_ends = min(self.counts[THREAD_ENDS], self.thread_ends_limit())
        self.true = self.counts[truth.TRUE] + self.at_calls + self.thread_ends

    def add(self, sample, parts, outcome):
        if outcome in (truth.WITHOUT_PYTHON, truth.OUTSIDE):
            main_thread = sample.labels.get("tid") == sample.labels.get("pid")
            outcome = truth.OUTSIDE if main_thread else THREAD_ENDS
        self.counts[outcome] += sample.count
        self.examples[outcome][tuple(sample.frames)] += sample.count
        if outcome == truth.TRUE:
            order = self.known.judge_order(parts)
            self.order[order] += sample.count
            self.examples["order: " + order][tuple(sample.frames)] += sample.count
        for name in {f.name for f in parts.python}:
            self.scenarios[name] += sample.count

    def frequency(self):
        return self.result.get("frequency", FREQUENCY)

    def limit(self, cpu, times, more):
        """Samples that something may have which took so much CPU time, in seconds."""
        return int(cpu * self.frequency() * times + more)

    def startup_limit(self):
        return self.limit(self.result["cpu_start"], *STARTUP)

    def thread_ends_limit(self):
        return self.limit(self.result["cpu_threads"], *THREAD_ENDS_LIMIT)

    @property
    def percent(self):
        return 100.0 * self.true / max(self.tested, 1)

    @property
    def percent_in_order(self):
        return 100.0 * self.order[truth.TRUE] / max(self.counts[truth.TRUE], 1)

    def reasons(self):
        """What is wrong, most frequent first."""
        found = collections.Counter(self.counts)
        found[truth.OUTSIDE] -= self.outside
        found.update({"order: " + reason: n for reason, n in self.order.items()})
        return [(reason, n) for reason, n in found.most_common()
                if n > 0 and reason not in (truth.TRUE, "order: " + truth.TRUE)]

    def observed_apart(self):
        """Stacks that sys._current_frames() showed and the trace did not have."""
        for stack, _ in self.result["observed"]:
            frames = [truth.Frame(name, "", source, line) for name, source, line in stack]
            sample = truth.Sample(frames)
            if any(f.name in truth.BASE for f in frames) and \
                    not self.known.walk(sample, gaps=False):
                yield frames

    def problems(self, order_threshold=THRESHOLD):
        """Why this run fails: nothing when it passes."""
        if self.tested < FEWEST:
            yield f"{self.tested} samples are too few to tell"
        if self.tested - self.true > GRACE and self.percent < THRESHOLD:
            yield f"{self.percent:.2f} % true stacks"
        misplaced = self.counts[truth.TRUE] - self.order[truth.TRUE]
        if misplaced > GRACE and self.percent_in_order < order_threshold:
            yield f"{self.percent_in_order:.2f} % of them with native frames in order"
        yield from self.amount_problems()
        yield from [] if self.racy else self.share_problems()
        apart = [] if self.racy else list(self.observed_apart())
        if len(apart) * 50 > len(self.result["observed"]):
            yield "the truth lacks stacks the program has: " + truth.text_of(apart[0])

    def amount_problems(self):
        yield from runs.amount_problems(self.all, self.result.get("lost", 0),
                                        self.result["cpu_total"] * self.frequency(), AMOUNT)

    def share_problems(self):
        """
        Of each scenario's CPU time, counted as samples. Not without the GIL: each thread repeats its
        scenarios undisturbed then, and such a rhythm beats against that of the samples, so that one
        scenario's surplus is its neighbour's want.
        """
        cpu = self.result["cpu"]
        if cpu:
            yield from shares.problems({name: self.scenarios[name] for name in cpu},
                                       {name: seconds * self.frequency() for name, seconds in cpu.items()})


def print_wrong(verdict, limit=4):
    for reason, n in verdict.reasons()[:8]:
        print(f"    {100.0 * n / max(verdict.tested, 1):6.2f} %  {reason}")
        for frames, count in verdict.examples[reason].most_common(limit):
            print(f"              {count}: {truth.text_of(frames)}")


def check(case, options, directory):
    """Runs a case; returns its verdict, or raises Skipped or Failed."""
    path = os.path.join(directory, case.name + ".pb.gz")
    if "subinterpreter" in case.scenarios and run(case.argv("burn", "0.5"), 5).returncode < 0:
        raise Skipped("skip: this Python's sub-interpreters crash, profiler or not")
    known = trace(case)
    result, samples = record(case, options.seconds, path)
    verdict = Verdict(known, result, samples, "freethreaded" in case.runtime.flavors,
                      GONE if "transient" in case.scenarios else ())
    problems = list(verdict.problems(case.order_threshold))
    print(f"  {verdict.percent:6.2f} % of {verdict.tested} samples are true, "
          f"{verdict.percent_in_order:6.2f} % of these in order; "
          f"{verdict.outside} before the start")
    if problems or options.examples:
        print_wrong(verdict)
    if problems:
        print("  " + result["stderr"].replace("\n", "\n  ")[-1000:])
        raise Failed("; ".join(problems))
    return verdict


# --- which ----------------------------------------------------------------------------------------

def by_version(found):
    return sorted(found, key=lambda r: (r.numbers, r.source, r.flavors))


def worth_it(found):
    """For a quick run: each version and flavour once, no debug builds."""
    seen = set()
    for runtime in found:
        key = runtime.version, runtime.flavors
        if key not in seen and "debug" not in runtime.flavors:
            seen.add(key)
            yield runtime


def embed(found, directory):
    """(runtime, how to run it inside a program that loads libpython late)."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    program = os.path.join(directory, "embed")
    for runtime in found:
        library = glob.glob(os.path.dirname(runtime.program) + "/../lib/libpython3.*.so.1.0")
        if runtime.root or not library or runtime.numbers < (3, 8):
            continue
        if not compiler:
            skip("embedded", "no C compiler for a program that embeds Python")
            return
        if not os.path.exists(program):
            subprocess.run([compiler, os.path.join(HERE, "embed.c"), "-o", program, "-ldl"],
                           check=True)
        yield runtime, (program, os.path.realpath(library[0]))


def special_cases(found, full, directory):
    """Runs that need not be made with every runtime, unless all of it is wanted."""
    with_root = [r for r in found if r.root]
    alone = [r for r in found if not r.root and "static" in r.flavors]
    newest = slice(None) if full else slice(-1, None)
    for way in ("container", "ldso"):
        yield from (Case(r, way, way=way) for r in with_root[newest])
    for start in ("ldso", "deleted"):
        yield from (Case(r, start, start=start) for r in alone[newest])
    for runtime, host in list(embed(found, directory))[newest]:
        yield Case(runtime, "embedded", host=host)
    for runtime in found[newest]:
        yield Case(runtime, "fork", mode="fork")
        yield Case(runtime, "attached", attach=True)
        yield Case(runtime, "command", text=True, scenarios=("recursion", "classes", "callbacks"))
    for runtime in [r for r in found if r.numbers >= (3, 12)][newest]:
        environment = (*runtime.environment, TRAMPOLINES)
        yield Case(dataclasses.replace(runtime, environment=environment), "trampolines")
    for runtime in found if full else found[::7]:
        yield Case(runtime, "transient", scenarios=("transient", "calls"))
        yield Case(runtime, "deep", scenarios=("deep",))
    for runtime in found if full else found[4::5]:
        yield Case(runtime, "sub", scenarios=("subinterpreter",))


def cases(options, directory):
    found = runtimes.find("python", complain=lambda text: skip("a_runtime", text))
    found = by_version(r for r in found if r.numbers >= OLDEST)
    if not any(r.source == "pyenv" for r in found):
        skip("pyenv", "not installed, or has no Python")
    found = found if options.full else list(worth_it(found))
    yield from (Case(r) for r in found)
    yield from special_cases(found, options.full, directory)


def arguments():
    options = runs.parser().parse_args()
    options.seconds = options.seconds or (5 if options.full else 2)
    return options


def prepare(options, directory):
    directory = options.keep or directory
    return cases(options, directory), lambda case: check(case, options, directory)


def main(options):
    return runs.main(options, "python", lambda directory: prepare(options, directory))


if __name__ == "__main__":
    sys.exit(main(arguments()))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/Burner.java in every Java of this machine and judges each stack (chains.py).

    check_hotspot.py [--full] [--bars] [--only REGEX] [--seconds N] [--keep DIRECTORY] [--examples]

Quick: one runtime of each of 8, 11, 17, 21, 25 and 28; --full: all, and flags of theirs. A run fails
that is far below its bar (SLACK); one that is below by less says so; --bars: it fails, too. Names that never ran fail always. Where the profiler is comes from EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR. A line
"[       OK ] NAME" for each run, one for each scenario that is below its bar.
Exit status: 0, 1 when a run failed, 77 when this machine cannot profile.
"""
import argparse
import collections
import dataclasses
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import chains  # noqa: E402
import javas  # noqa: E402
from javas import Failed, Skipped  # noqa: E402

SKIP = 77
INSTALL = os.path.join(javas.TESTS, "runtimes", "install")
THRESHOLD = 99.5        # percent of samples: complete, and true
STARTUP_THRESHOLD = 98.0
STARTUP_SECONDS = 2
# What a run may be below its bar by and pass, without --bars. In seven seconds a start, or a busy moment,
# weighs much; and one stack that stands for a second or two and is wrong, of the 28 that a run has, is 3 %
# of it (docs/hotspot.md, "Limits").
SLACK = 10.0            # points
SLACK_CALLS = 5.0       # percent of samples with a call that is not in the code
GRACE = 3               # samples that may be wrong however few there are
NO_METHODS_LIMIT = 1.0  # percent of a run: threads that start and end
FEWEST = 200
AMOUNT = 0.94, 1.3, 40  # samples by CPU time used: at least, at most, and so many more or less
FREQUENCY = 499
# What a JVM of these may lack without a word.
NEWER = {"virtual": 21, "foreign": 22}
INTERPRETED_SECONDS = 4
ATTACHED_SECONDS = 12   # of them 3 are sampled: the unwinder's load takes seconds on a busy machine

FLAGS = {  # label: options; what a JVM does not take is a skip
    "int": ["-Xint"],
    "comp": ["-Xcomp"],
    "c1": ["-XX:TieredStopAtLevel=1"],
    "c1_profiled": ["-XX:TieredStopAtLevel=3"],
    "c2": ["-XX:-TieredCompilation"],
    "one_heap": ["-XX:-SegmentedCodeCache"],
    "small_heap": ["-XX:ReservedCodeCacheSize=4m", "-XX:+UseCodeCacheFlushing"],
    "every_scope": ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"],
    "no_scope": ["-XX:+UnlockDiagnosticVMOptions", "-XX:-DebugNonSafepoints"],
    "serial": ["-XX:+UseSerialGC"],
    "parallel": ["-XX:+UseParallelGC"],
    "g1": ["-XX:+UseG1GC"],
    "z": ["-XX:+UseZGC"],
    "shenandoah": ["-XX:+UseShenandoahGC"],
    "no_inlining": ["-XX:-Inline"],
    "no_cds": ["-Xshare:off"],
    "frame_pointers": ["-XX:+PreserveFramePointer"],
    "big_heap": ["-Xmx1g", "-XX:-UseCompressedOops"],
}
QUICK_FLAGS = {8: ["c1"], 11: ["c2"], 17: ["int"], 21: ["one_heap"], 25: ["z"], 28: ["shenandoah"]}


@dataclasses.dataclass
class Case:
    """One run: a runtime, its options, what it does."""
    runtime: object
    label: str = ""
    options: tuple = ()
    scenarios: tuple = ()
    seconds: float = 0
    threshold: float = THRESHOLD
    attach: bool = False     # profiled from its middle on
    way: str = None          # of tests/runtimes/enter.py

    @property
    def name(self):
        return re.sub(r"\W", "_", "_".join(filter(None, [self.runtime.name, self.label])))

    def argv(self, directory, seconds):
        options = [*javas.options_of(self.runtime), *self.options, "-Dnatives=" + directory,
                   "-cp", directory, "Burner", str(self.seconds or seconds), *self.scenarios]
        return self.runtime.argv(options, directory, self.way)


# --- judging --------------------------------------------------------------------------------------

class Verdict:
    """Counts samples by what is wrong with them."""

    def __init__(self, judge, samples):
        self.judge = judge
        self.counts, self.all, self.without_line = collections.Counter(), 0, 0
        self.scenarios = collections.defaultdict(collections.Counter)
        self.examples = collections.defaultdict(collections.Counter)
        memo = {}
        for sample in samples:
            thread = sample.labels.get("tid")
            key = thread, tuple(sample.frames)
            if key not in memo:
                memo[key] = judge.judge(sample.frames, thread)
            reason = memo[key]
            self.all += sample.count
            self.without_line += sample.count if judge.has_no_line(sample.frames) else 0
            self.counts[reason] += sample.count
            self.scenarios[judge.said.threads.get(thread, "others")][reason] += sample.count
            self.examples[reason][tuple(sample.frames)] += sample.count
        self.incomplete = sum(n for reason, n in self.counts.items() if is_incomplete(reason))
        self.moments = min(self.counts[chains.NO_METHODS],
                           max(GRACE, int(self.all * NO_METHODS_LIMIT / 100)))
        self.true = self.counts[chains.TRUE] + self.moments

    def percent(self, n):
        return 100.0 * n / max(self.all, 1)

    def reasons(self):
        return [(reason, n) for reason, n in self.counts.most_common() if reason != chains.TRUE]

    def problems(self, threshold, fewest=FEWEST, calls=0.0):
        """threshold: percent; calls: as SLACK_CALLS."""
        if self.all < fewest:
            yield f"{self.all} samples are too few to tell"
        if self.incomplete > GRACE and self.percent(self.all - self.incomplete) < threshold:
            yield f"{self.percent(self.all - self.incomplete):.2f} % complete stacks"
        if self.all - self.true > GRACE and self.percent(self.true) < threshold:
            yield f"{self.percent(self.true):.2f} % true stacks"
        wrong = sum(n for reason, n in self.counts.items() if chains.is_wrong_name(reason))
        if wrong:
            yield f"{wrong} samples with a name that never ran"
        never = sum(n for reason, n in self.counts.items() if " does not call " in reason)
        if never and self.percent(never) > calls:
            yield f"{never} samples with a call that is not in the code"
        if self.without_line > GRACE:
            yield f"{self.without_line} samples without a line where they were interrupted"

    def amount_problems(self, frequency, lost):
        cpu = self.judge.said.cpu
        if cpu is None:
            yield "it did not say what CPU time it used"
            return
        low, high, more = AMOUNT
        expected = cpu * frequency
        if self.all + lost < expected * low - more or self.all > expected * high + more:
            yield f"{self.all} samples, but {expected:.0f} expected from its CPU time"


def is_incomplete(reason):
    return reason.startswith(("[truncated", "unknown: ", "native root missing"))


def print_wrong(verdict, limit=2):
    for reason, n in verdict.reasons()[:12]:
        print(f"    {verdict.percent(n):6.2f} %  {reason}")
        for frames, count in verdict.examples[reason].most_common(limit):
            print(f"              {count}: {chains.text_of(frames)}")
    for name, counts in sorted(verdict.scenarios.items()):
        whole = sum(counts.values())
        bad = whole - counts[chains.TRUE]
        if bad * 200 > whole and bad > 1:
            worst = [f"{n} {reason}" for reason, n in counts.most_common(3) if reason != chains.TRUE]
            print(f"    {name}: {100.0 * bad / whole:.1f} % of {whole} are not true: {'; '.join(worst)}")


def slack_problems(verdict, threshold, fewest=FEWEST):
    return verdict.problems(threshold - SLACK, fewest, max(SLACK_CALLS, verdict.percent(GRACE)))


def why_not_started(done):
    """A JVM without this collector, this flag or this much memory."""
    found = re.search(r"Unrecognized VM option.*|.*not supported.*|Conflicting collector.*|"
                      r"Could not reserve.*|.*only supported.*", done.stdout + done.stderr)
    return found[0] if found else None


def check_said(said, case):
    if said.broken:
        raise Failed(f"the burner: {said.broken}")
    for name, why in said.missing.items():
        if javas.major(case.runtime) >= NEWER.get(name, 0) and name != "foreign":
            raise Failed(f"the burner has no scenario {name}: {why}")


def check(case, library, options):
    path = os.path.join(options.keep or library.directory, case.name + ".pb.gz")
    seconds = case.seconds or options.seconds
    command = case.argv(library.directory, options.seconds)
    how = {"after": 1.5, "seconds": 3} if case.attach else \
        {"sleeps": javas.sleeper(case.runtime.argv([], library.directory), library.directory)}
    profile, done = javas.record(command, path, FREQUENCY, 90 + 10 * seconds, **how)
    if done.returncode:
        why = why_not_started(done)
        if why:
            raise Skipped("skip: " + why)
        raise Failed(f"exit status {done.returncode}: {done.stdout[-500:]} {done.stderr[-1000:]}")
    said = chains.Said(done.stdout)
    check_said(said, case)
    samples = javas.process_of(profile.samples)
    if not samples:
        raise Failed("no samples: " + done.stderr[-1000:])
    judge = chains.Judge(said, library.code(case.runtime, samples), set(library.own))
    verdict = Verdict(judge, samples)
    below = list(verdict.problems(case.threshold))
    problems = below if options.bars else list(slack_problems(verdict, case.threshold))
    if not case.attach:
        rate = sum(s.count for s in samples) / (sum(s.weight_ns for s in samples) / 1e9 or 1)
        problems += verdict.amount_problems(rate, profile.lost)
    print(f"  {verdict.percent(verdict.all - verdict.incomplete):6.2f} % of {verdict.all} samples "
          f"complete, {verdict.percent(verdict.true):6.2f} % true; "
          f"{verdict.percent(verdict.without_line):.2f} % have no line at the leaf")
    if below:
        print("  below its bar: " + "; ".join(below))
    if below or problems or options.examples:
        print_wrong(verdict)
    if problems:
        raise Failed("; ".join(problems))


# --- which ----------------------------------------------------------------------------------------

def skip(name, why):
    """Counted like a run."""
    name = re.sub(r"\W", "_", name)
    print(f"  {why}\n[  SKIPPED ] {name}")


def install(everything):
    """What cannot be had is a skip; what is there already will do."""
    done = subprocess.run([INSTALL, "-l", "hotspot", "full" if everything else "quick"], check=False,
                          stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="")
    for name, why in re.findall(r"^skipped: (.*?): (.*)$", done.stdout, re.M):
        skip("install_" + name, why)
    if done.returncode:
        skip("install", f"exit status {done.returncode}")


def flag_cases(runtime, labels):
    for label in labels:
        slow = label in ("int", "comp")
        yield Case(runtime, label, tuple(FLAGS[label]), seconds=INTERPRETED_SECONDS if slow else 0)


def cases(options):
    found = javas.find(complain=lambda text: skip("a_runtime", text))
    quick = javas.one_of_each(found)
    for number in (8, 11, 17, 21, 25, 28):
        if number not in map(javas.major, quick):
            skip(f"hotspot_{number}", "no such runtime here")
    for runtime in found if options.full else quick:
        yield Case(runtime)
        yield Case(runtime, "start", threshold=STARTUP_THRESHOLD, seconds=STARTUP_SECONDS)
        labels = FLAGS if options.full else QUICK_FLAGS.get(javas.major(runtime), [])
        yield from flag_cases(runtime, labels)
    for runtime in quick if options.full else quick[-2:]:
        yield Case(runtime, "attached", attach=True, seconds=ATTACHED_SECONDS)
        if runtime.root:
            yield Case(runtime, "container", way="container", scenarios=("many", "turns", "deep500"),
                       seconds=4)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true",
                        default=bool(os.environ.get("EBPF_PROFILER_TEST_FULL")))
    parser.add_argument("--bars", action="store_true", help="no slack below a bar")
    parser.add_argument("--only", default="", help="names of runs that match this")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--keep", help="directory to leave the profiles in")
    parser.add_argument("--examples", action="store_true", help="what is wrong, passed or not")
    parser.add_argument("--no-install", action="store_true")
    options = parser.parse_args()
    options.seconds = options.seconds or (10 if options.full else 7)
    return options


def run_all(options, library):
    counts = collections.Counter()
    for case in cases(options):
        if not re.search(options.only, case.name):
            continue
        print(f"[ RUN      ] {case.name}", flush=True)
        try:
            check(case, library, options)
            outcome = "      OK"
        except Skipped as reason:
            print(f"  {reason}")
            outcome = " SKIPPED"
        except Failed as reason:
            print(f"  {reason}")
            outcome = "  FAILED"
        counts[outcome.strip()] += 1
        print(f"[ {outcome} ] {case.name}", flush=True)
    return counts


def main(options):
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        return SKIP
    if not options.no_install:
        install(options.full)
    with tempfile.TemporaryDirectory() as directory:
        try:
            if not javas.build(directory):
                skip("native", "no C compiler: no native code between Java's")
        except Skipped as reason:
            print(reason)
            return SKIP
        counts = run_all(options, javas.Library(directory))
    print(f"{counts['OK']} true, {counts['FAILED']} not, {counts['SKIPPED']} skipped")
    if not counts["OK"] and not counts["FAILED"]:
        print("skip: no run was possible")
        return SKIP
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main(arguments()))

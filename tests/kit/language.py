# SPDX-License-Identifier: Apache-2.0
"""The live check of a language: a program that knows its stacks runs in every runtime of this machine and is profiled
meanwhile, and each stack is judged. What a language brings is a Check of its own:

    class Toys(language.Check):
        language = language.Language("toy", "TOY_")
        def cases(self): ...
    sys.exit(language.main(Toys))

    check_toy.py [--full] [--only REGEX] [--seconds N] [--keep DIRECTORY] [--examples] [--no-install]

By default the newest runtime that is there is run once; --full: all runtimes, and each way to run them. A run fails that
misses its bar by more than its number of samples explains (verdicts.py), or has a name that never ran. There is one try.
While a run is judged the next one is made. A line "[       OK ] NAME" for each run. Exit status: 0, 1 when a run failed,
77 when this machine cannot profile.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
sys.path[:0] = [HERE, os.path.join(HERE, "..", "runtimes")]
import runs  # noqa: E402
import runtimes  # noqa: E402
import shares  # noqa: E402
import stacks  # noqa: E402
import verdicts  # noqa: E402
from runs import Failed, Skipped  # noqa: E402

FULL = bool(os.environ.get("EBPF_PROFILER_TEST_FULL"))
INSTALL = os.path.join(HERE, "..", "runtimes", "install")
THRESHOLD = 99.5            # percent of samples: complete, and true
STARTED_THRESHOLD = 98.0    # of a run that is hardly more than a start
# CPU time of a program in which its language need not be attached, at most: as long as the profiler waited for a CPU
# meanwhile, and of the first process of a language as long as it worked, too: the unwinder is loaded.
LATE_MOST = 1.0
ATTACHED_SECONDS = 12       # of them 3 are sampled: the unwinder's load takes seconds on a busy machine
ATTACHED = {"after": 1.5, "seconds": 3}
CONTAINER_SECONDS = 4
NICE = 10                   # of the thread that judges


def name_of(*words):
    """Of a run, for a test's output."""
    return re.sub(r"\W", "_", "_".join(filter(None, words)))


def skip(name, why):
    """Counted like a run."""
    print(f"  {why}\n[  SKIPPED ] {name_of(name)}")


def install(language, *groups):
    """What cannot be had is a skip; what is there already will do."""
    done = subprocess.run([INSTALL, "-l", language, *groups], check=False, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="")
    for name, why in re.findall(r"^skipped: (.*?): (.*)$", done.stdout, re.M):
        skip("install_" + name, why)
    if done.returncode:
        skip("install", f"exit status {done.returncode}")


class Language:
    """What its runtimes are found, run and profiled with."""

    def __init__(self, name, *prefixes, **settings):
        """name: of its directory in plugins; prefixes: variables that begin so are kept from them; settings: are set."""
        self.name, self.prefixes, self.settings = name, prefixes, settings
        # As a whole: deep stacks run out of calls of the short one that is first.
        self.loaded = rf"{name}: (longer unwinder loaded|no longer unwinder|unwinder loaded.* run$)"

    def find(self, complain=None):
        """Runtimes, in order. complain: skip_runtime, or for nobody to know."""
        return sorted(runtimes.find(self.name, complain=complain), key=lambda r: (r.numbers, r.source, r.flavors))

    def environment(self):
        return dict(runs.environment(*self.prefixes), **self.settings)

    def run(self, command, timeout=120):
        return runs.run(command, timeout, self.environment())

    def record(self, command, path, frequency=499, timeout=120, sleeper=(), after=None, seconds=0):
        """(profile, what the command and the profiler said); the arguments are those of runs.record."""
        done = runs.record(command, path, self.environment(), frequency, timeout, sleeper, self.loaded, after, seconds)
        return stacks.read_profile(path, stacks.LineProfile), done


def skip_runtime(text):
    skip("a_runtime", text)


def looked_at(found):
    """Of runtimes, by version, those that a test looks through: all with --full, else the newest."""
    return found if FULL else found[-1:]


def first_of_each(found, key, wanted):
    """{key: the first runtime that has it}, in the order of `wanted`."""
    first = {}
    for runtime in found:
        first.setdefault(key(runtime), runtime)
    return {one: first[one] for one in wanted if one in first}


@dataclasses.dataclass
class Case:
    """One run: a runtime, how it is started, what it does."""
    runtime: object
    label: str = ""
    options: tuple = ()     # of the runtime
    words: tuple = ()       # of the program
    seconds: float = 0      # 0: what the check's options say
    threshold: float = THRESHOLD
    fewest: int = verdicts.FEWEST
    attach: bool = False    # profiled from its middle on
    cold: bool = False      # the first process of its kind: the language's unwinder is not loaded before
    way: str = None         # of tests/runtimes/enter.py
    more: tuple = ()        # words that its language knows

    @property
    def name(self):
        return name_of(self.runtime.name, self.label)


class Run(collections.namedtuple("Run", "case known profile done")):
    """What happened. known: what Check.before() returned; done: what the program and the profiler said."""

    @property
    def text(self):
        return self.done.stdout


class Check:
    """What the checks of all languages do, and what one may do otherwise."""
    language = None                 # a Language
    groups = ("default",), ("full",)    # of what tests/runtimes/install has
    seconds = 3, 10                     # of a run, by default and with --full
    frequency = 499
    start = 1, 100                  # of a run that is hardly more than a start: seconds, fewest samples
    Case = Case
    not_started = None              # a regular expression: the runtime says that it does not take the options

    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.prepare()

    def prepare(self):
        """Builds the program. May raise Skipped."""

    def find(self):
        """The runtimes that it runs, by version."""
        return self.language.find(skip_runtime)

    def cases(self):
        """All of them."""
        raise NotImplementedError

    def newest(self):
        """The runtime that has least about it that is unusual, of the newest version."""
        found = self.find()
        if not found:
            raise Skipped(f"skip: no runtime of {self.language.name} here")
        return min((r for r in found if r.numbers == found[-1].numbers), key=lambda r: len(r.flavors))

    def default_cases(self):
        yield self.Case(self.newest())

    def command(self, case, seconds):
        raise NotImplementedError

    def sleeper(self, case):
        """The command of a runtime that does nothing."""
        raise NotImplementedError

    def before(self, case):
        """What must be done or asked before that run."""

    def judge(self, run, samples):
        """What verdicts.py describes."""
        raise NotImplementedError

    def may_lack(self, case, scenario, why):
        """Whether this runtime need not have one of the program's scenarios. why: as the program says it."""
        return False

    def samples_of(self, run):
        """Those of the process that has most; not what was before its runtime was executed."""
        return runs.process_of(runs.not_of_sleeper(run.profile.samples, run.done), runs.is_starter)

    def work_of(self, run, judge):
        """{scenario: seconds of CPU time}, as far as its samples can be compared with it."""
        return getattr(judge.said, "work", {})

    def is_partly(self, case):
        """How much of its CPU time was seen is not known."""
        return case.attach

    def lacking(self, case, judge):
        """What is wrong besides the samples, when all are judged."""
        return ()

    def print_more(self, run, verdict):
        """With --examples."""

    @classmethod
    def add_flags(cls, made):
        """made: an argparse.ArgumentParser."""

    # --- a run ---

    def started(self, runtime):
        seconds, fewest = self.start
        return self.Case(runtime, "start", threshold=STARTED_THRESHOLD, seconds=seconds, fewest=fewest, cold=True)

    def attached(self, runtime, **more):
        return self.Case(runtime, "attached", attach=True, seconds=ATTACHED_SECONDS, **more)

    def contained(self, runtime, words):
        return self.Case(runtime, "container", way="container", words=words, seconds=CONTAINER_SECONDS)

    def path_of(self, name):
        return os.path.join(self.options.keep or self.directory, name + ".pb.gz")

    def record(self, case):
        """A Run, or raises Skipped or Failed."""
        known, seconds = self.before(case), case.seconds or self.options.seconds
        how = ATTACHED if case.attach else {"sleeper": () if case.cold else self.sleeper(case)}
        profile, done = self.language.record(self.command(case, seconds), self.path_of(case.name), self.frequency,
                                             timeout=90 + 10 * seconds, **how)
        if done.returncode or "skip:" in done.stdout:
            said = done.stdout + done.stderr
            why = re.search(self.not_started, said) if self.not_started else None
            why = why or re.search("skip:.*", done.stdout)
            if why:
                raise Skipped("skip: " + why[0].removeprefix("skip: "))
            raise Failed(f"exit status {done.returncode}: {done.stdout[-500:]} {done.stderr[-1000:]}")
        return Run(case, known, profile, done)

    @staticmethod
    def explained(run):
        """Seconds of the program's CPU time in which its language need not be attached: LATE_MOST."""
        effort = run.done.effort
        return min(LATE_MOST, effort.waited + (effort.ran if run.case.cold else 0))

    def check(self, run):
        """Raises Failed."""
        case, samples = run.case, self.samples_of(run)
        if not samples:
            raise Failed("no samples: " + run.done.stderr[-1000:])
        judge = self.judge(run, samples)
        self.check_said(case, judge.said)
        verdict = verdicts.Verdict(judge, samples)
        frequency, problems = runs.frequency_of(samples), [*self.lacking(case, judge)]
        if not self.is_partly(case):
            problems += verdict.amount_problems(frequency, run.profile.lost)
            work = self.work_of(run, judge)
            if work and not case.cold:
                problems += shares.problems({name: sum(verdict.scenarios[name].values()) for name in work},
                                            {name: cpu * frequency for name, cpu in work.items()})
        if self.options.examples:
            self.print_more(run, verdict)
        verdict.check(case.threshold, problems, self.options.examples, case.fewest, self.explained(run))

    def check_said(self, case, said):
        if getattr(said, "broken", None):
            raise Failed(f"the program: {said.broken}")
        for name, why in getattr(said, "missing", {}).items():
            if not self.may_lack(case, name, why):
                raise Failed(f"the program has no scenario {name}: {why}")


# --- all of them ----------------------------------------------------------------------------------

class Kept(io.TextIOBase):
    """Standard output; what a thread prints within keep() is its own."""

    def __init__(self, out):
        self.out, self.of = out, threading.local()

    def write(self, text):
        return getattr(self.of, "text", self.out).write(text)

    def flush(self):
        self.out.flush()

    @contextlib.contextmanager
    def keep(self):
        self.of.text = text = io.StringIO()
        try:
            yield text
        finally:
            del self.of.text


def outcome_of(function, *arguments):
    """("OK", what it returned); else it has said why."""
    try:
        return "OK", function(*arguments)
    except (Skipped, Failed) as reason:
        print(f"  {reason}")
        return "SKIPPED" if isinstance(reason, Skipped) else "FAILED", None


def judge_of(check, outcome, run, out):
    """(outcome, text) of a run that was made, in a thread of its own."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
    with out.keep() as text:
        if outcome == "OK":
            outcome, _ = outcome_of(check.check, run)
    return outcome, text.getvalue()


def say(name, text, outcome):
    print(f"[ RUN      ] {name}\n{text}[ {outcome:>8} ] {name}", flush=True)


def make_each(check, cases):
    """(case, text, outcome) of each; while it is judged the next one is made."""
    before = None
    with contextlib.redirect_stdout(Kept(sys.stdout)) as out, concurrent.futures.ThreadPoolExecutor(1) as judges:
        for case in [*cases, None]:
            made = None
            if case:
                print(f"[ PROFILE  ] {case.name}", flush=True)
                with out.keep() as text:
                    outcome, run = outcome_of(check.record, case)
                made = case, text.getvalue(), (outcome, run)
            if before:
                earlier, text, judged = before
                outcome, more = judged.result()
                yield earlier, text + more, outcome
            before = made and (*made[:2], judges.submit(judge_of, check, *made[2], out))


def run_all(check, cases, only=""):
    """Counts by outcome."""
    counts = collections.Counter()
    for case, text, outcome in make_each(check, (case for case in cases if re.search(only, case.name))):
        say(case.name, text, outcome)
        counts[outcome] += 1
    return counts


def parser():
    made = argparse.ArgumentParser()
    made.add_argument("--full", action="store_true", default=FULL)
    made.add_argument("--only", default="", help="names of runs that match this")
    made.add_argument("--seconds", type=float)
    made.add_argument("--keep", help="directory to leave the profiles in")
    made.add_argument("--examples", action="store_true", help="what is wrong, passed or not")
    made.add_argument("--no-install", action="store_true")
    return made


def main(kind):
    """kind: a Check. What it has made goes in the end."""
    made = parser()
    kind.add_flags(made)
    options = made.parse_args()
    options.seconds = options.seconds or kind.seconds[options.full]
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        return runs.SKIP
    if kind.groups and not options.no_install:
        install(kind.language.name, *kind.groups[options.full])
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)  # a runtime may be no root
        try:
            check = kind(options, directory)
            # Who asks for a run by its name means all of them.
            counts = run_all(check, check.cases() if options.full or options.only else check.default_cases(), options.only)
        except Skipped as reason:
            print(reason)
            return runs.SKIP
    print(f"{counts['OK']} true, {counts['FAILED']} not, {counts['SKIPPED']} skipped")
    if not counts["OK"] and not counts["FAILED"]:
        print("skip: no run was possible")
        return runs.SKIP
    return 1 if counts["FAILED"] else 0


# --- runtimes that come and go --------------------------------------------------------------------

class Lifetimes(unittest.TestCase):
    """What tests of a language's lifetimes share."""
    kind = None     # its Check

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("profiling needs root")
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        try:
            cls.check = cls.kind(parser().parse_args([]), cls.directory)
        except Skipped as reason:
            raise unittest.SkipTest(str(reason))
        cls.found = cls.runtimes()
        if not cls.found:
            raise unittest.SkipTest("no runtime here")

    @classmethod
    def runtimes(cls):
        return cls.kind.language.find()

    def record(self, command):
        try:
            profile, done = self.kind.language.record(command, os.path.join(self.directory, "out.pb.gz"),
                                                      sleeper=self.check.sleeper(Case(self.found[-1])))
        except Skipped as reason:
            return self.skipTest(str(reason))
        self.effort = done.effort
        return profile, done

    def judged(self, judge, samples, threshold=THRESHOLD, fewest=verdicts.FEWEST):
        verdict = verdicts.Verdict(judge, samples)
        problems = list(verdict.problems(threshold, fewest, min(LATE_MOST, self.effort.waited)))
        if problems:
            verdict.print_wrong()
        self.assertEqual(problems, [])

    def record_both(self, commands, comm):
        """Profiles two at once: [(samples of a process, what it printed)] of those named so, in order of their pids."""
        outputs = [os.path.join(self.directory, f"said{number}") for number in range(len(commands))]
        script = "".join(f"{runs.shlex.join(command)} >{output} & " for command, output in zip(commands, outputs))
        profile, _ = self.record(["sh", "-c", script + "wait"])
        by_process = collections.defaultdict(list)
        for sample in profile.samples:
            if str(sample.labels.get("comm")).startswith(comm) and not runs.is_starter(sample):
                by_process[sample.labels["pid"]].append(sample)
        largest = sorted(by_process.values(), key=lambda own: -sum(s.count for s in own))[:2]
        self.assertEqual(len(largest), 2, f"two of {comm}")
        texts = []
        for output in outputs:
            with open(output, encoding="utf-8") as file:
                texts.append(file.read())
            if "skip:" in texts[-1]:
                self.skipTest(texts[-1].strip())
        return sorted(largest, key=lambda own: own[0].labels["pid"]), texts

    def record_short_lives(self, command, times, comm):
        """(samples of all of those named so, what they printed)"""
        profile, done = self.record(["sh", "-c", f"i=0; while [ $i -lt {times} ]; do {runs.shlex.join(command)}; "
                                                 "i=$((i+1)); done"])
        return [s for s in runs.not_of_sleeper(profile.samples, done)
                if str(s.labels.get("comm")).startswith(comm) and not runs.is_starter(s)], done.stdout

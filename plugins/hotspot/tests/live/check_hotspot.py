#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/Burner.java in every Java of this machine and judges each stack (chains.py).

    check_hotspot.py [--full] [--bars] [--only REGEX] [--seconds N] [--keep DIRECTORY] [--examples]

Quick: one runtime of each of 8, 11, 17, 21, 25 and 28; --full: all, and flags of theirs. A run fails
that is far below its bar (verdicts.SLACK); one that is below by less says so; --bars: it fails, too. Names that never ran fail always. Where the profiler is comes from EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR. A line
"[       OK ] NAME" for each run, one for each scenario that is below its bar.
Exit status: 0, 1 when a run failed, 77 when this machine cannot profile.
"""
import dataclasses
import glob
import os
import re
import sys
import zipfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import chains  # noqa: E402
import javas  # noqa: E402
import runs  # noqa: E402
from runs import Failed, Skipped, skip  # noqa: E402
from verdicts import Verdict  # noqa: E402

THRESHOLD = 99.5        # percent of samples: complete, and true
STARTUP_THRESHOLD = 98.0
STARTUP_SECONDS = 2
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
    archive: bool = False    # classes come from a file that an earlier run wrote

    @property
    def name(self):
        return runs.name_of(self.runtime.name, self.label)

    def argv(self, directory, seconds, writes=False):
        """writes: the run before that one, for its archive."""
        archive = archive_options(self.runtime, directory, writes) if self.archive else []
        path = os.path.join(directory, "burner.jar") if self.archive else directory
        options = [*javas.options_of(self.runtime), *self.options, *archive, "-Dnatives=" + directory,
                   "-cp", path, "Burner", str(1 if writes else self.seconds or seconds), *self.scenarios]
        return self.runtime.argv(options, directory, self.way)


def archive_options(runtime, directory, writes):
    """An AOT cache, with code of its own from 26 on; before 25 a dynamic archive of class data."""
    path = os.path.join(directory, f"classes-{runtime.name}")
    if javas.major(runtime) >= 25:
        return [f"-XX:AOTCache{'Output' if writes else ''}={path}.aot"]
    return [f"-XX:{'ArchiveClassesAtExit' if writes else 'SharedArchiveFile'}={path}.jsa"]


def write_archive(case, directory):
    """Of a jar: classes in a directory are not archived."""
    with zipfile.ZipFile(os.path.join(directory, "burner.jar"), "w") as jar:
        for name in glob.glob(os.path.join(directory, "*.class")):
            jar.write(name, os.path.basename(name))
    done = javas.run(case.argv(directory, 1, writes=True), 120)
    if not glob.glob(os.path.join(directory, f"classes-{case.runtime.name}.*")):
        raise Skipped(f"skip: no archive: {(done.stdout + done.stderr)[-300:]}")


# --- judging --------------------------------------------------------------------------------------

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
    if case.archive:
        write_archive(case, library.directory)
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
    amount = [] if case.attach else verdict.amount_problems(runs.frequency_of(samples), profile.lost)
    verdict.check(case.threshold, amount, options.bars, options.examples)


# --- which ----------------------------------------------------------------------------------------

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
        if javas.major(runtime) >= 17 if options.full else runtime is quick[-1]:
            yield Case(runtime, "archive", archive=True)
    for runtime in quick if options.full else quick[-2:]:
        yield Case(runtime, "attached", attach=True, seconds=ATTACHED_SECONDS)
        if runtime.root:
            yield Case(runtime, "container", way="container", scenarios=("many", "turns", "deep500"),
                       seconds=4)


def arguments():
    parser = runs.parser()
    parser.add_argument("--bars", action="store_true", help="no slack below a bar, and one try")
    options = parser.parse_args()
    options.seconds = options.seconds or (10 if options.full else 7)
    options.tries = 1 if options.bars else options.tries
    return options


def prepare(options, directory):
    if not javas.build(directory):
        skip("native", "no C compiler: no native code between Java's")
    library = javas.Library(directory)
    return cases(options), lambda case: check(case, library, options)


def main(options):
    return runs.main(options, "hotspot", lambda directory: prepare(options, directory))


if __name__ == "__main__":
    sys.exit(main(arguments()))

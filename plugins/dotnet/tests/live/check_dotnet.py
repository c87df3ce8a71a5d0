#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/Burner.cs and compares every stack with what it says of itself (burner.py).

    check_dotnet.py [--full] [--only REGEX] [--seconds N] [--examples]

The program is published once in each form, with the SDK that is here, into the cache of runtimes;
EP_DOTNET_PROGRAMS=DIR takes such a directory as it is, from another machine if need be: DIR/FORM/Burner, or
DIR/Burner. What cannot be had is a skip. By default the framework-dependent form runs, from its start on and
attached while it runs; --full: each form, and each way to run it.
"""
import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import burner   # and with it where the kit is
import counting
import perf_map
import runs
import runtimes
import stacks

LOADED = r"dotnet: (longer unwinder loaded|no longer unwinder|unwinder loaded.* run$)"
PUBLISH_SECONDS = 280
COMPLETE, TRUE = 99.8, 99.9     # percent of samples, attached; of a start:
LINES = 99.5                    # of callers in stacks whose leaf burns
STARTED = 98.0
STARTED_DEPTH = "300"   # the unwinder that is loaded first has fewer frames in a run
FEWEST = 200
FREQUENCY = 499
FEWEST_NAMES = 100
PRINT_NAMES = "plugins/dotnet/tests/live/dotnet_print_names"
# Seconds of the program's CPU time in which the language need not be attached, at most: as long as the profiler worked
# and waited for a CPU.
LATE_MOST = 1.0
LATE = "[truncated: sampled before its language was attached]", "[truncated: no unwind rule and no frame pointer]"
DEFAULT = "10"
ALONE = "-r", "linux-x64", "--self-contained"
FORMS = {       # of publishing: label, arguments; all but the first need NuGet
    "10": (),
    "8_alone": ("-p:BurnerFramework=net8.0", *ALONE),
    "9_alone": ("-p:BurnerFramework=net9.0", *ALONE),
    "10_single": (*ALONE, "-p:PublishSingleFile=true"),
    "10_r2r": (*ALONE, "-p:PublishReadyToRun=true", "-p:DebugType=embedded"),
}
SETTINGS = {    # of the runtime: label, variables
    "start": {},
    "default": {},
    "no_tiers": {"DOTNET_TieredCompilation": "0"},
    "no_r2r": {"DOTNET_ReadyToRun": "0"},
    "no_wx": {"DOTNET_EnableWriteXorExecute": "0"},
    "rich": {"DOTNET_RichDebugInfo": "1"},
    "names": {},    # none is recorded: they are compared with the runtime's
    "no_pgo": {"DOTNET_TieredPGO": "0", "DOTNET_OSR_HitLimit": "1"},
}


# --- the program ------------------------------------------------------------------------------------------

def digest(paths):
    """Of what the program is made of: another text is another directory."""
    made = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            made.update(file.read())
    return made.hexdigest()[:16]


def publish(form, directory):
    """Raises Skipped."""
    dotnet = shutil.which("dotnet")
    if not dotnet:
        raise runs.Skipped("skip: no dotnet here, and no EP_DOTNET_PROGRAMS")
    with tempfile.TemporaryDirectory() as sources:
        for path in burner.SOURCES:
            shutil.copy(path, sources)
        command = [dotnet, "publish", "-c", "Release", "-o", directory + ".new", "-m:1", "-nodeReuse:false",
                   "-p:UseSharedCompilation=false", *FORMS[form], "Burner.csproj"]
        settings = {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", "MSBUILDDISABLENODEREUSE": "1"}
        try:
            done = subprocess.run(command, cwd=sources, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=PUBLISH_SECONDS, env={**os.environ, **settings}, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise runs.Skipped(f"skip: dotnet publish took more than {PUBLISH_SECONDS} s") from None
    if done.returncode:
        raise runs.Skipped("skip: dotnet publish: " + (done.stdout.strip().splitlines() or ["no word"])[-1])
    os.rename(directory + ".new", directory)


def program(form):
    """The command, without arguments. Raises Skipped."""
    given = os.environ.get("EP_DOTNET_PROGRAMS")
    directory = os.path.join(given or os.path.join(runtimes.CACHE, "dotnet-programs-" + digest(burner.SOURCES)), form)
    if given and not os.path.isdir(directory) and form == DEFAULT:
        directory = given
    if not given and not os.path.exists(os.path.join(directory, burner.PROGRAM)):
        os.makedirs(os.path.dirname(directory), exist_ok=True)
        publish(form, directory)
    path = os.path.join(directory, burner.PROGRAM)
    if not os.access(path, os.X_OK):
        raise runs.Skipped(f"skip: no program in {directory}")
    return path


# --- runs -------------------------------------------------------------------------------------------------

def judge_run(done, path, bars, is_start, examples):
    """Raises Failed."""
    said = burner.Said(done.stdout)
    samples = runs.process_of(stacks.read_profile(path, stacks.LineProfile).samples, runs.is_starter)
    judge = burner.Judge(said)
    wrong = {"complete": 0, "true": 0}
    texts = {}
    n = sum(sample.count for sample in samples)
    late = int(FREQUENCY * min(LATE_MOST, done.effort.waited + done.effort.ran)) if is_start else 0
    for sample in samples:
        incomplete = burner.why_incomplete(sample.frames)
        if incomplete in LATE and late >= sample.count:
            late -= sample.count
            continue
        for what, why in (("complete", incomplete), ("true", judge.why_wrong(sample.frames))):
            if why:
                wrong[what] += sample.count
                texts[what, why] = texts.get((what, why), 0) + sample.count
    n_wrong_lines = sum(judge.wrong_lines.values())
    print(f"  {n} samples, {wrong['complete']} not complete, {wrong['true']} not true, {len(judge.seen)} of "
          f"{len(said.stacks)} stacks seen, {n_wrong_lines} of {judge.n_lines} lines not equal")
    if counting.is_missed(n_wrong_lines, max(judge.n_lines, 1), LINES) or examples:
        for text, count in sorted(judge.wrong_lines.items(), key=lambda item: -item[1])[:10]:
            print(f"    {count} lines: {text}")
    problems = [f"{n_wrong_lines} of {judge.n_lines} lines are not equal"
                for _ in [0] if counting.is_missed(n_wrong_lines, max(judge.n_lines, 1), LINES) or not judge.n_lines]
    problems += [f"{wrong[what]} of {n} samples are not {what}" for what, bar in bars.items()
                if counting.is_missed(wrong[what], n, bar)]
    problems += [f"no sample of {name}" for name in said.stacks if name not in judge.seen and not examples and n > 2000]
    if problems or examples:
        for (what, why), count in sorted(texts.items(), key=lambda item: -item[1])[:10]:
            print(f"    {count} not {what}: {why[:400]}")
    if n < FEWEST:
        problems.append(f"only {n} samples")
    if problems:
        raise runs.Failed("; ".join(problems))


def mapped_runtime(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        paths = [words[5] for words in map(str.split, maps) if len(words) > 5]
    return next((path for path in paths if path.endswith("/libcoreclr.so")), None)


def judge_names(path, directory):
    """All JIT code of a process, by the runtime's own map of it. Raises Skipped, Failed."""
    tool = os.path.join(os.path.dirname(os.environ["EBPF_PROFILER_BINARY"]), "..", "..", PRINT_NAMES)
    if not os.path.exists(tool):
        raise runs.Skipped(f"skip: no {PRINT_NAMES}")
    env = {**runs.environment("DOTNET_", "CORECLR_"), "DOTNET_PerfMapEnabled": "3", "DOTNET_NOLOGO": "1",
           "DOTNET_PerfMapJitDumpPath": directory}
    with subprocess.Popen([path, "30"], env=env, stdout=subprocess.DEVNULL) as process:
        try:
            time.sleep(4)
            runtime = mapped_runtime(process.pid)
            if not runtime:
                raise runs.Skipped("skip: the runtime is in the program itself")
            done = subprocess.run([tool, str(process.pid), runtime], check=False, capture_output=True, text=True, timeout=60)
            with open(os.path.join(directory, f"perf-{process.pid}.map"), encoding="utf-8") as file:
                said = perf_map.said(file)
        finally:
            process.kill()
    names, costs = perf_map.named(done.stdout.splitlines())
    n, wrong = perf_map.differences(said, names)
    print(f"  {n} names compared with the runtime's, {len(wrong)} differ; median: "
          + ", ".join(f"{what} {median / 1000:.1f} us" for what, (median, _) in costs.items()))
    for text in wrong[:10]:
        print("    " + text)
    if wrong or n < FEWEST_NAMES:
        raise runs.Failed(f"{len(wrong)} of {n} names differ: {done.stderr[-300:]}")


def run_one(label, settings, path, options, directory):
    if label == "names":
        judge_names(path, directory)
        return
    profile = os.path.join(directory, label + ".pb.gz")
    env = {**runs.environment("DOTNET_", "CORECLR_"), **settings, "DOTNET_NOLOGO": "1"}
    if "DOTNET_ROOT" in os.environ:
        env["DOTNET_ROOT"] = os.environ["DOTNET_ROOT"]
    if label == "start":
        done = runs.record([path, str(options.seconds), STARTED_DEPTH], profile, env, FREQUENCY, timeout=120)
        bars = {"complete": STARTED, "true": STARTED}
    else:
        done = runs.record([path, str(options.seconds + 25)], profile, env, FREQUENCY, timeout=180, loaded=LOADED,
                           after=1.0, seconds=options.seconds, is_told=True)
        bars = {"complete": COMPLETE, "true": TRUE}
    if done.returncode:
        raise runs.Failed(f"exit status {done.returncode}: {done.stderr[-1000:]}")
    judge_run(done, profile, bars, label == "start", options.examples)


def cases(options):
    """(name, form, label)"""
    forms, labels = (FORMS, SETTINGS) if options.full else ([DEFAULT], ("start", "default", "names"))
    for form in forms:
        for label in labels:
            name = f"dotnet_{form}_{label}"
            if re.search(options.only, name):
                yield name, form, label


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", default=bool(os.environ.get("EBPF_PROFILER_TEST_FULL")))
    parser.add_argument("--only", default="", help="names of runs that match this")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--examples", action="store_true", help="what is wrong, passed or not")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        return runs.SKIP
    counts = {"OK": 0, "SKIPPED": 0, "FAILED": 0}
    with tempfile.TemporaryDirectory() as directory:
        for name, form, label in cases(options):
            print(f"[ RUN      ] {name}", flush=True)
            outcome = "OK"
            try:
                run_one(label, SETTINGS[label], program(form), options, directory)
            except (runs.Skipped, runs.Failed) as reason:
                print(f"  {reason}")
                outcome = "SKIPPED" if isinstance(reason, runs.Skipped) else "FAILED"
            counts[outcome] += 1
            print(f"[ {outcome:>8} ] {name}", flush=True)
    print(f"{counts['OK']} true, {counts['FAILED']} not, {counts['SKIPPED']} skipped")
    if not counts["OK"] and not counts["FAILED"]:
        print("skip: no run was possible")
        return runs.SKIP
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())

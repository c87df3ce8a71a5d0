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
import collections
import glob
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import burner   # and with it where the kit is
import counting
import outcomes
import perf_map
import runs
import runtimes
import shares
import stacks

LOADED = r"dotnet: (longer unwinder loaded|no longer unwinder|unwinder loaded.* run$)"
PUBLISH_SECONDS = 280, 1200     # by default, and with --full: some of its forms compile all of the runtime ahead
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
    "11_alone": ("-p:RuntimeFrameworkVersion=11.0.0", *ALONE),   # the program is of the SDK that is here
    "10_r2r": (*ALONE, "-p:PublishReadyToRun=true", "-p:DebugType=embedded"),
}
SHARED = {      # of the runtime of another form, as an installation: label, form, arguments
    "8": ("8_alone", ("-p:BurnerFramework=net8.0",)),
    "9": ("9_alone", ("-p:BurnerFramework=net9.0",)),
}
MORE_FORMS = {  # that run as they are
    "10_trimmed": (*ALONE, "-p:PublishTrimmed=true"),
    "10_compressed": (*ALONE, "-p:PublishSingleFile=true", "-p:EnableCompressionInSingleFile=true"),
    "10_composite": (*ALONE, "-p:PublishReadyToRun=true", "-p:PublishReadyToRunComposite=true"),
    **{form: arguments for form, (_, arguments) in SHARED.items()},
    "10_musl": ("-r", "linux-musl-x64", "--self-contained"),
}
MUSL = "10_musl"
# Stacks end in musl's libc, which has no rules, and 64 turns through it are too many. Percent that lead to Main.
LEAD_TO_MAIN = 95.0
MORE_SETTINGS = "start", "default"
SETTINGS = {    # of the runtime: label, variables
    "start": {},
    "default": {},
    "no_tiers": {"DOTNET_TieredCompilation": "0"},
    "no_r2r": {"DOTNET_ReadyToRun": "0"},
    "no_wx": {"DOTNET_EnableWriteXorExecute": "0"},
    "rich": {"DOTNET_RichDebugInfo": "1"},
    "shares": {},   # methods that measure their own CPU time
    "names": {},    # none is recorded: they are compared with the runtime's
    "no_pgo": {"DOTNET_TieredPGO": "0", "DOTNET_OSR_HitLimit": "1"},
    "churn": {},    # memory of code that is another's a moment later
    "trip": {},     # many threads, and collections: return addresses that were replaced
}
CPU_COUNTS = 1000000    # for a second that a program measured: it has no margin
FEWEST_MADE, FEWEST_TRIPS = 50, 5   # fewer say nothing; an idle machine has 27 to 194 in the trip


# --- the program ------------------------------------------------------------------------------------------

def digest(paths):
    """Of what the program is made of: another text is another directory."""
    made = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            made.update(file.read())
    return made.hexdigest()[:16]


def install(form, directory):
    """A directory for DOTNET_ROOT: the host of this machine, and the runtime that came with a self-contained program."""
    host = os.path.join(os.path.dirname(os.path.realpath(shutil.which("dotnet"))), "host")
    with open(os.path.join(directory, burner.PROGRAM + ".runtimeconfig.json"), encoding="utf-8") as file:
        version = json.load(file)["runtimeOptions"]["framework"]["version"]
    alone = os.path.dirname(program(SHARED[form][0]))
    shared = os.path.join(directory, "root", "shared", "Microsoft.NETCore.App", version)
    os.makedirs(shared)
    os.symlink(host, os.path.join(directory, "root", "host"))
    names = [name for name in os.listdir(alone) if name.endswith((".dll", ".so")) and
             not name.startswith((burner.PROGRAM, "libhostfxr"))]
    for name in names:
        os.symlink(os.path.join(alone, name), os.path.join(shared, name))
    target, package = ".NETCoreApp,Version=v" + version.rpartition(".")[0], "Microsoft.NETCore.App.Runtime.linux-x64/" + version
    files = {"runtime": {name: {} for name in names if name.endswith(".dll")},
             "native": {name: {} for name in names if name.endswith(".so")}}
    with open(os.path.join(shared, "Microsoft.NETCore.App.deps.json"), "w", encoding="utf-8") as file:
        json.dump({"runtimeTarget": {"name": target + "/linux-x64"}, "targets": {target + "/linux-x64": {package: files}},
                   "libraries": {package: {"type": "package", "serviceable": True, "sha512": ""}}}, file)


def prepare_musl(directory):
    """A directory for LD_LIBRARY_PATH: what .NET's build for musl asks for, and a shim for LD_PRELOAD. Raises Skipped."""
    libraries = os.path.join(directory, "musl")
    os.makedirs(libraries)
    for name in ("libstdc++.so.6", "libgcc_s.so.1"):
        path = subprocess.run(["gcc", "-print-file-name=" + name], check=False, capture_output=True, text=True).stdout.strip()
        shutil.copy(path, os.path.join(libraries, name))
    for name, source in (("shim.so", os.path.join(burner.PROGRAMS, "musl_shim.c")), ("ld-linux-x86-64.so.2", "/dev/null")):
        command = ["musl-gcc", "-shared", "-fPIC", "-O1", "-o", os.path.join(libraries, name), "-x", "c", source]
        if not shutil.which(command[0]) or subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode:
            raise runs.Skipped("skip: no musl-gcc (Debian: musl-tools)")


def command_of(path):
    """musl's libraries are for the program alone: the profiler that starts it has its own."""
    libraries = os.path.join(os.path.dirname(path), "musl")
    if not os.path.isdir(libraries):
        return [path]
    return ["env", "LD_PRELOAD=" + os.path.join(libraries, "shim.so"), "LD_LIBRARY_PATH=" + libraries, path]


def publish(form, directory, seconds):
    """Raises Skipped. Two tests may come here at once: the first one's is taken."""
    dotnet = shutil.which("dotnet")
    if not dotnet:
        raise runs.Skipped("skip: no dotnet here, and no EP_DOTNET_PROGRAMS")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(directory)) as work:
        sources, made = os.path.join(work, "sources"), os.path.join(work, "made")
        os.mkdir(sources)
        for path in burner.SOURCES:
            shutil.copy(path, sources)
        command = [dotnet, "publish", "-c", "Release", "-o", made, "-m:1", "-nodeReuse:false",
                   "-p:UseSharedCompilation=false", *{**FORMS, **MORE_FORMS}[form], "Burner.csproj"]
        settings = {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", "MSBUILDDISABLENODEREUSE": "1"}
        try:
            done = subprocess.run(command, cwd=sources, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=seconds, env={**os.environ, **settings}, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise runs.Skipped(f"skip: dotnet publish took more than {seconds} s") from None
        if done.returncode:
            raise runs.Skipped("skip: dotnet publish: " + (done.stdout.strip().splitlines() or ["no word"])[-1])
        if form in SHARED:
            install(form, made)
        if form == MUSL:
            prepare_musl(made)
        try:
            os.rename(made, directory)
        except OSError:
            if not os.path.isdir(directory):
                raise


def program(form, is_full=True):
    """The command, without arguments. Raises Skipped."""
    given = os.environ.get("EP_DOTNET_PROGRAMS")
    directory = os.path.join(given or os.path.join(runtimes.CACHE, "dotnet-programs-" + digest(burner.SOURCES)), form)
    if given and not os.path.isdir(directory) and form == DEFAULT:
        directory = given
    if not given and not os.path.exists(os.path.join(directory, burner.PROGRAM)):
        os.makedirs(os.path.dirname(directory), exist_ok=True)
        publish(form, directory, PUBLISH_SECONDS[is_full])
    path = os.path.join(directory, burner.PROGRAM)
    if not os.access(path, os.X_OK):
        raise runs.Skipped(f"skip: no program in {directory}")
    return path


# --- runs -------------------------------------------------------------------------------------------------

def why_not_to_main(frames):
    """Where libc has no rules: the program's own frames have to lead to its first one."""
    own = burner.own_names([frame.name for frame in frames])
    return None if not own or own[-1] == burner.MAIN else f"not led to Main: {burner.why_incomplete(frames)}"


def judge_run(done, path, bars, is_start, examples, why_incomplete=burner.why_incomplete):
    """Raises Failed."""
    said = burner.Said(done.stdout)
    samples = runs.process_of(stacks.read_profile(path, stacks.LineProfile).samples, runs.is_starter)
    judge = burner.Judge(said)
    wrong = {"complete": 0, "true": 0}
    texts = {}
    n = sum(sample.count for sample in samples)
    late = int(FREQUENCY * min(LATE_MOST, done.effort.waited + done.effort.ran)) if is_start else 0
    for sample in samples:
        incomplete = why_incomplete(sample.frames)
        if incomplete in LATE and late >= sample.count:
            late -= sample.count
            continue
        is_cut = incomplete and why_incomplete != burner.why_incomplete     # there is no root to compare from
        for what, why in (("complete", incomplete), ("true", None if is_cut else judge.why_wrong(sample.frames))):
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


def why_not_made(frames):
    """
    Of the methods of scenario churn: each was called by the mark that its number says. None: it is right; "": there is
    none; a name that is not known is right.
    """
    for frame, caller in zip(frames, frames[1:]):
        match = burner.MADE.fullmatch(frame.name)
        if match:
            mark = f"Burner.Churn.Mark{int(match[1]) % 8}"
            return None if caller.name == mark else f"{frame.name} is called by {caller.name}, not {mark}"
    return ""


def judge_churn(samples):
    """Raises Failed."""
    whys = collections.Counter()
    for sample in samples:
        whys[why_not_made(sample.frames)] += sample.count
    wrong = {why: count for why, count in whys.items() if why}
    unknown = sum(s.count for s in samples if any(map(stacks.is_unknown, s.frames)))
    print(f"  {sum(whys.values())} samples, {whys[None]} in methods that were made, {unknown} with one that was gone, "
          f"{sum(wrong.values())} with another's name")
    if wrong:
        raise runs.Failed(next(iter(wrong)))
    if whys[None] < FEWEST_MADE:
        raise runs.Failed(f"only {whys[None]} samples of what was made")


def is_in_trip(frames, trip):
    """Below the runtime's frames: OnHijackTripThread, which a collection has put there."""
    return any(frame.name == trip for frame in frames)


CROWD = "Aside.Crowd.Middle", "Aside.Crowd.Work"


def why_not_tripped(frames, trip):
    """The callers of a method whose return address was replaced: what it is called by is there, once."""
    below = [frame.name for frame in frames[[frame.name for frame in frames].index(trip) + 1:]]
    if below[0] == CROWD[0] and below[1] == CROWD[1] or below[0] == CROWD[1]:
        return None
    return "below the trip: " + " ".join(below[:4])


TRIP = re.compile(rb"\x50\x55\x53\x41\x57\x41\x56\x41\x55\x41\x54\x51?\x52\x50\x48\x89\xe7")     # plugins/dotnet/helpers.c


def trip_in(path):
    """The name of OnHijackTripThread of this file in a profile; None: it is not there."""
    with open(path, "rb") as file:
        data = file.read()
    found = TRIP.search(data)
    segments = struct.unpack_from("<H", data, 56)[0]
    for at in range(segments):      # Elf64_Phdr: type, flags, offset, address, .., bytes in the file
        kind, _, off, address, _, n = struct.unpack_from("<IIQQQQ", data, 64 + 56 * at)
        if kind == 1 and found and off <= found.start() < off + n:
            return f"{os.path.basename(path)}+{found.start() - off + address:#x}"
    return None


def find_trip(path):
    """In the runtime beside the program, in the program itself, or in the one that is installed."""
    installed = os.path.join(os.path.dirname(os.path.realpath(shutil.which("dotnet"))), "shared/Microsoft.NETCore.App/10.*")
    for place in (os.path.join(os.path.dirname(path), "libcoreclr.so"), path, *glob.glob(installed + "/libcoreclr.so")[-1:]):
        name = trip_in(place) if os.path.exists(place) else None
        if name:
            return name
    raise runs.Failed(f"no OnHijackTripThread for {path}")


def judge_trip(samples, path):
    """Raises Failed."""
    trip, whys, incomplete = find_trip(path), collections.Counter(), collections.Counter()
    for sample in samples:
        why = burner.why_incomplete(sample.frames)
        if why:
            incomplete[why] += sample.count
        if is_in_trip(sample.frames, trip) and why not in LATE:
            whys[why or why_not_tripped(sample.frames, trip)] += sample.count
    n, n_trips = sum(s.count for s in samples), sum(whys.values())
    print(f"  {n} samples, {sum(incomplete.values())} not complete, {n_trips} in {trip}, {n_trips - whys[None]} of these not true")
    if n_trips != whys[None]:
        raise runs.Failed(", ".join(f"{count} {why}" for why, count in whys.items() if why))
    if counting.is_missed(sum(incomplete.values()), n, COMPLETE):
        raise runs.Failed(str(incomplete))
    if n_trips < FEWEST_TRIPS:
        raise runs.Failed(f"only {n_trips} samples where a return address had been replaced")


def why_not_shared(samples, said):
    """said: CPU seconds by method. What is beyond the margin of counts, as text."""
    counts = dict.fromkeys(said, 0)
    for sample in samples:
        for name in {frame.name for frame in sample.frames} & counts.keys():
            counts[name] += sample.count
    known = {name: seconds * CPU_COUNTS for name, seconds in said.items()}
    print("  " + ", ".join(f"{name.rpartition('.')[2]} {counts[name]} samples, {seconds:.2f} s"
                           for name, seconds in said.items()))
    return list(shares.problems(counts, known))


def judge_shares(samples, said):
    """Raises Failed."""
    problems = why_not_shared(samples, said)
    if problems:
        raise runs.Failed("; ".join(problems))
    if sum(s.count for s in samples) < FEWEST:
        raise runs.Failed("only few samples")


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
    root = os.path.join(os.path.dirname(path), "root")
    if os.path.isdir(root):
        env["DOTNET_ROOT"] = root
    if label in ("churn", "trip", "shares"):
        done = runs.record([path, str(options.seconds + 25), "50", label], profile, env, FREQUENCY, timeout=180, loaded=LOADED,
                           after=1.0, seconds=(4 if label == "churn" else 2) * options.seconds, is_told=True)
        samples = runs.process_of(stacks.read_profile(profile, stacks.LineProfile).samples, runs.is_starter)
        if label == "shares":
            judge_shares(samples, burner.Said(done.stdout).shares)
        else:
            judge_churn(samples) if label == "churn" else judge_trip(samples, path)
        return
    if os.path.isdir(os.path.join(os.path.dirname(path), "musl")):
        done = runs.record([*command_of(path), str(options.seconds + 25)], profile, env, FREQUENCY, timeout=180, loaded=LOADED,
                           after=1.0, seconds=options.seconds, is_told=True)
        judge_run(done, profile, {"complete": LEAD_TO_MAIN, "true": TRUE}, False, options.examples, why_not_to_main)
        return
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
    forms, labels = (FORMS, SETTINGS) if options.full else ([DEFAULT], ("start", "default", "shares", "names"))
    for form in [*forms, *(MORE_FORMS if options.full else ())]:
        for label in labels if form in forms else MORE_SETTINGS[form == MUSL:]:
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
    with tempfile.TemporaryDirectory() as directory:
        return outcomes.run_each(cases(options), lambda _, form, label: run_one(
            label, SETTINGS[label], program(form, options.full), options, directory))


if __name__ == "__main__":
    sys.exit(main())

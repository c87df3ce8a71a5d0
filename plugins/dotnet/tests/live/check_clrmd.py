#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the managed stacks of all threads with those of ClrMD, in the same cores.

    check_clrmd.py [--full] [--only REGEX] [--moments N] [--examples]

A program with several threads runs. The runtime's createdump writes a core at random moments. Then
`ebpf-profiler dump --core` and ClrMD (programs/Stacks.cs, Microsoft.Diagnostics.Runtime from NuGet)
show the stacks. Method for method they must be the same, with three known differences: ClrMD shows
the dead frames below a handler that runs; it leaves out stubs and System.Runtime.EH, which looks for
a handler; and where the innermost frame is a stub or a helper it shows none, or begins further out. Exit status 77: no program, no createdump, no NuGet.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import burner   # and with it where the kit is
import check_dotnet
import outcomes
import runs
import runtimes

sys.dont_write_bytecode = True  # this is a source tree
SECONDS = 120           # of one command
WARM = 2.0              # seconds of CPU time before the first core
# Percent of the stacks that ClrMD must show: else it is no judge. It is seldom one of exceptions.
SHOWN = {"all": 80.0, "thrown": 50.0, "crowd": 90.0}
FORMS = "10", "8_alone", "9_alone"
SCENARIOS = {           # of the burner
    "all": [],          # all of its stacks in turn: generics, lambdas, iterators, async, exceptions
    "thrown": ["thrown"],
    "crowd": ["trip"],  # twelve threads, and collections
}
TOOL = [os.path.join(burner.PROGRAMS, name) for name in ("Stacks.cs", "Stacks.csproj")]


# --- what both say --------------------------------------------------------------------------------

def bare(name):
    """Without type arguments and parameters. Stubs have a name in brackets."""
    if name.startswith("["):
        return name
    name = name.partition("(")[0]
    while "[" in name:
        shorter = re.sub(r"\[[^\[\]]*\]", "", name)
        if shorter == name:
            break
        name = shorter
    return name.removeprefix("DynamicClass.")


def read_clrmd(text):
    """
    {thread: names, the innermost one first}. Frames of the runtime are left out, and those that
    ClrMD knows no method of: one of a thread without any other frame was seen, in 157 stacks.
    """
    threads, names = {}, None
    for words in (line.split("\t") for line in text.splitlines()):
        if words[0] == "THREAD":
            names = threads.setdefault(int(words[1]), [])
        elif words[0] == "FRAME" and words[1] != "0" and words[3]:
            names.append(bare(words[3]))
    return threads


def read_own(text):
    threads, names = {}, None
    for line in text.splitlines():
        match = re.match(r"thread (\d+) ", line)
        if match:
            names = threads.setdefault(int(match[1]), [])
        elif line.startswith("dotnet  "):
            words = line.split("  ")
            names.append(bare(words[3] if len(words) > 3 else words[1]))
    return threads


def is_compared(name):
    """ClrMD does not show all stubs, and leaves out the runtime's own code that handles exceptions."""
    return not name.startswith(("[", "System.Runtime.EH.")) and "IL_STUB" not in name


def is_without_dead(shown, own):
    """
    Are the lists equal without the frames between a handler and its method: where they part, and
    ClrMD has the method of the last frame once more further out?
    """
    same = 0
    while same < min(len(shown), len(own)) and shown[same] == own[same]:
        same += 1
    if same == len(shown) == len(own):
        return True
    return same > 0 and any(shown[again] == own[same - 1] and
                            is_without_dead(shown[again + 1:], own[same:])
                            for again in range(same, len(shown)))


def begins_further_out(shown, own):
    """Is `shown` what lies below the frames that only `own` has, dead ones of a handler with it?"""
    same = 0
    while same < min(len(shown), len(own)) and shown[-1 - same] == own[-1 - same]:
        same += 1
    head = shown[:len(shown) - same]
    return 0 < same < len(own) and all(name.startswith(burner.HANDLERS) for name in head)


def compare(shown, own):
    """What a stack is: "equal", "dead frames", "not shown", "further out", "differs"."""
    shown, own = ([name for name in names if is_compared(name)] for names in (shown, own))
    if shown == own:
        return "equal"
    if not shown:
        return "not shown"
    if is_without_dead(shown, own):
        return "dead frames"
    return "further out" if begins_further_out(shown, own) else "differs"


# --- the programs ---------------------------------------------------------------------------------

def tool():
    """The command of ClrMD's side. Raises Skipped."""
    directory = os.path.join(runtimes.CACHE, "dotnet-clrmd-" + check_dotnet.digest(TOOL))
    path = os.path.join(directory, "out", "Stacks")
    if os.path.exists(path):
        return path
    if not shutil.which("dotnet"):
        raise runs.Skipped("skip: no dotnet here")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    for source in TOOL:
        shutil.copy(source, directory)
    command = ["dotnet", "publish", "-c", "Release", "-o", "out", "-m:1", "-nodeReuse:false",
               "-p:UseSharedCompilation=false"]
    try:
        done = subprocess.run(command, cwd=directory, check=False, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=SECONDS,
                              env={**os.environ, "DOTNET_CLI_TELEMETRY_OPTOUT": "1"})
    except subprocess.TimeoutExpired:
        raise runs.Skipped(f"skip: dotnet publish took more than {SECONDS} s") from None
    if done.returncode or not os.path.exists(path):
        lines = done.stdout.strip().splitlines() or ["no word"]
        raise runs.Skipped("skip: dotnet publish: " + lines[-1])
    return path


def runtime_directory(pid):
    path = check_dotnet.mapped_runtime(pid)
    directory = os.path.dirname(path or "")
    if not path or not os.path.exists(os.path.join(directory, "createdump")):
        raise runs.Skipped("skip: no createdump beside the runtime")
    return directory


def said_by(*command):
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise runs.Failed(f"{command[0]}: {(done.stderr or done.stdout)[-300:]}")
    return done.stdout


def compare_moment(process, reader, directory):
    """{what: stacks}, and texts of those that differ."""
    runtime, core = runtime_directory(process.pid), os.path.join(directory, "core")
    said_by(os.path.join(runtime, "createdump"), "--full", "-f", core, str(process.pid))
    shown = read_clrmd(said_by(reader, core, os.path.join(runtime, "libmscordaccore.so")))
    own = read_own(said_by(os.environ["EBPF_PROFILER_BINARY"], "dump", "--core", core))
    os.unlink(core)
    found, texts = collections.Counter(), []
    for thread, names in shown.items():
        if not names and not own.get(thread):
            continue
        verdict = compare(names, own.get(thread, []))
        found[verdict] += 1
        if verdict == "differs":
            texts.append(f"ClrMD {' '.join(names[:12])}\n     ours {' '.join(own.get(thread, [])[:12])}")
    return found, texts


def run_one(options, form, scenario):
    """Raises Skipped, Failed."""
    reader, program = tool(), check_dotnet.program(form, options.full)
    found, texts = collections.Counter(), []
    env = {**runs.environment("DOTNET_", "CORECLR_"), "DOTNET_NOLOGO": "1"}
    with tempfile.TemporaryDirectory() as directory, \
            subprocess.Popen([program, "600", "40", *SCENARIOS[scenario]], env=env,
                             stdout=subprocess.DEVNULL) as process:
        try:
            runs.wait_used(process, WARM)
            for moment in range(options.moments):
                time.sleep(0.05 + 0.013 * (moment % 7))
                one, more = compare_moment(process, reader, directory)
                found += one
                texts += more
        finally:
            process.kill()
    n = sum(found.values())
    print(f"  {n} stacks: " + ", ".join(f"{count} {what}" for what, count in sorted(found.items())))
    for text in texts[:5]:
        print("    " + text)
    if found["differs"]:
        raise runs.Failed(f"{found['differs']} of {n} stacks differ")
    hidden = found["not shown"] + found["further out"]
    # A core has a stack at the least: that of the thread that works.
    if n < options.moments or 100 * (n - hidden) < SHOWN[scenario] * n:
        raise runs.Failed(f"only {n} stacks, of which ClrMD does not show {hidden} whole")


def cases(options):
    for form in FORMS if options.full else FORMS[:1]:
        for scenario in SCENARIOS:
            name = f"clrmd_{form}_{scenario}"
            if re.search(options.only, name):
                yield name, form, scenario


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true",
                        default=bool(os.environ.get("EBPF_PROFILER_TEST_FULL")))
    parser.add_argument("--only", default="", help="names of runs that match this")
    parser.add_argument("--moments", type=int, default=12, help="cores of each run")
    options = parser.parse_args()
    return outcomes.run_each(cases(options), lambda _, *case: run_one(options, *case))


if __name__ == "__main__":
    sys.exit(main())

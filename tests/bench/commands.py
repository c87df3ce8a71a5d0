# SPDX-License-Identifier: Apache-2.0
"""Whether the samples of a command that is over at once have all their names, and what that costs.

The command runs in a loop. `record` at 499 Hz says how many of its samples have a name for each frame of a language; an
agent at 99 Hz, which has met the language before, what it costs beside the loop.
"""
import os
import re
import shlex
import subprocess
import tempfile
import time

import beside
import measure
import stacks

UNKNOWN = re.compile(r"\[[\w-]+: unknown function\]")
SECONDS = 10
ALONE = 8


def loop(command, seconds):
    """A shell script that runs it again and again."""
    return f"end=$(($(date +%s) + {seconds})); while [ $(date +%s) -lt $end ]; do {shlex.join(command)}; done"


def lacks_name(sample):
    return any(UNKNOWN.match(frame.name) for frame in sample.frames)


def program_of(command):
    """Its path; of `chroot ROOT PROGRAM` as it is in there."""
    return command[2] if os.path.basename(command[0]) == "chroot" else command[0]


def named(command):
    """(samples of the command, those with all names)"""
    program = program_of(command)
    own = tuple(os.path.basename(name)[:15] for name in (program, os.path.realpath(program)))  # Node 26: node-MainThread
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out.pb.gz")
        done = subprocess.run([measure.BINARY, "record", "-q", "-F", "499", "-o", out, "--", "sh", "-c",
                               loop(command, SECONDS)], env=measure.environment(), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        measure.check_status(done.returncode, done.stderr)
        samples = [s for s in stacks.read_profile(out).samples if s.labels.get("comm", "").startswith(own)]
    return sum(s.count for s in samples), sum(s.count for s in samples if not lacks_name(s))


def agent_cost(command):
    """Percent of a CPU at 99 Hz, beside the loop, from its first second on."""
    with measure.Procs() as procs, measure.Agent(procs, 99, interval="60s") as agent:
        agent.wait_sampling()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        time.sleep(5)
        procs.start(["sh", "-c", loop(command, SECONDS + 5)], cpus=measure.cpu_list()[:1])
        before, start = beside.scheduled(agent.proc.pid)[0], time.monotonic()
        time.sleep(SECONDS)
        return 100 * (beside.scheduled(agent.proc.pid)[0] - before) / (time.monotonic() - start)


def rows(name, command, bar=None, cost_bar=None):
    n, good = named(command)
    if n < 200:
        measure.skip_row(f"{name}: samples with all names", f"{n} samples")
        return
    measure.row(f"{name}: samples with all names, of {n}", 100 * good / n, "%", f">= {bar}" if bar else "", bar, at_least=True)
    if cost_bar:
        measure.row("the agent beside the loop, 99 Hz", agent_cost(command), "% CPU", f"<= {cost_bar}", cost_bar)


def alone(name, command, bar):
    """The command by itself, as a user records it: the first of its language since the profiler began."""
    n = good = 0
    with tempfile.TemporaryDirectory() as directory:
        for i in range(ALONE):
            out = os.path.join(directory, f"{i}.pb.gz")
            measure.record(["-F", "1999", "-o", out], command)
            samples = stacks.read_profile(out).samples
            n += sum(s.count for s in samples)
            good += sum(s.count for s in samples if not lacks_name(s))
    measure.row(f"{name}, recorded alone, {ALONE} times: samples with all names, of {n}", 100 * good / max(n, 1), "%",
                f">= {bar}", bar, at_least=True)


def script_row(name, script, bar):
    """Of all that a shell script runs: the share of the samples with a frame of a language."""
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out.pb.gz")
        measure.record(["-F", "499", "-o", out], ["sh", "-ec", script])
        samples = [s for s in stacks.read_profile(out).samples
                   if any(f.file == "" and not f.name.startswith("[") for f in s.frames) or lacks_name(s)]
    n = sum(s.count for s in samples)
    good = sum(s.count for s in samples if not lacks_name(s))
    measure.row(f"{name}: samples with all names, of {n}", 100 * good / max(n, 1), "%", f">= {bar}", bar, at_least=True)


def each_release(name, found, args, bar, wanted):
    """A row for each of these major releases, of the runtime that the live tests would take first."""
    for major in wanted:
        runtime = next((r for r in found if r.numbers[0] == major), None)
        if runtime:
            rows(f"{name} {runtime.version}, {' '.join(args)}", runtime.argv(args), bar)
        else:
            measure.skip_row(f"{name} {major}: samples with all names", "it is not installed")

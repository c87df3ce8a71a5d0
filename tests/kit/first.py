# SPDX-License-Identifier: Apache-2.0
"""The first program of a language on this machine: no unwinder for it is loaded when it starts.

It works for some seconds, in two ways: as the command of `record`, which may know the language by what the command is
before it starts it; and under `record -a`, which has seen no such program yet. Of its CPU time: how much is in raw
stacks, how much of that the profiler calls complete, and what the profiler itself took. Raw is an address in code
that nobody knows, and what else the language says of a stack (is_raw): its interpreter, without a frame of its own.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import measure
import stacks

ROUNDS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "5"))
SECONDS = 4
FREQUENCY = 499
STARTS_AFTER = 1.5  # seconds of `record -a`
OVERHEAD = re.compile(r"overhead: profiler ([0-9.]+) % of one CPU")
WAYS = (("the command of record", False, 0.5, 6), ("first under record -a", True, 3, None))     # bars: raw; profiler


def shares(path, pids, is_raw):
    """Of the processes' CPU time: raw, raw and called complete; in percent."""
    total = raw = called = 0
    for sample in stacks.read_profile(path, stacks.LineProfile).samples:
        if pids and sample.labels.get("pid") not in pids:
            continue
        total += sample.weight_ns
        if any(stacks.is_unknown(frame) for frame in sample.frames) or is_raw(sample.frames):
            raw += sample.weight_ns
            called += sample.weight_ns * (not any(stacks.is_error(frame) for frame in sample.frames))
    if not total:
        sys.exit("no samples of the program")
    return 100 * raw / total, 100 * called / total


def record(directory, command, everything, is_raw):
    path = os.path.join(directory, "first.pb.gz")
    words = [measure.BINARY, "record", "-F", str(FREQUENCY), "--force", "-o", path]
    pids = set()

    def start():
        time.sleep(STARTS_AFTER)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as program:
            pids.add(program.pid)

    if everything:
        thread = threading.Thread(target=start)
        thread.start()
        words += ["-a", "-d", f"{SECONDS + STARTS_AFTER + 1:g}s"]
    else:
        words += ["--", *command]
    done = subprocess.run(words, env=measure.environment(), capture_output=True, text=True, check=False)
    if everything:
        thread.join()
    if done.returncode:
        sys.exit(done.stderr[-1000:])
    return (*shares(path, pids, is_raw), float(OVERHEAD.search(done.stderr)[1]))


def own(what, found):
    """Of these the machine's own: what enters another one's root is no command that a user gives to `record`."""
    runtimes = [runtime for runtime in found if not runtime.root]
    if not runtimes:
        measure.skip_row(f"{what}: raw", f"no {what} of this machine itself")
    return runtimes


def bench(what, command, is_raw=lambda frames: False):
    """Rows for one runtime; what: its name. command: works for SECONDS."""
    with tempfile.TemporaryDirectory() as directory:
        for text, everything, bar, most in WAYS:
            rounds = [record(directory, command, everything, is_raw) for _ in range(ROUNDS)]
            raw, called, cpu = (statistics.median(column) for column in zip(*rounds))
            measure.row(f"{what}, {text}: raw", raw, "%", f"<= {bar}", bar)
            measure.row(f"{what}, {text}: of that called complete", called, "%")
            measure.row(f"{what}, {text}: profiler, of one CPU", cpu, "%", f"<= {most}" if most else "", most)

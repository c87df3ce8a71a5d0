#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first JVM: no program for it is loaded when it starts.

A Java starts and works for four seconds, in two ways: as the command of `record`, which loads the language
before it starts the command when it knows it by its launcher; and under `record -a`, which has not seen a JVM
before. Of the JVM's CPU time: how much is in samples with an address in code that nobody knows, how much of that
the profiler calls complete, and what the profiler itself took.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import measure
import javas
import stacks

RELEASE = int(os.environ.get("EBPF_PROFILER_BENCH_JAVA", "17").split()[0])
ROUNDS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "5"))
SECONDS = 4
FREQUENCY = 499
STARTS_AFTER = 1.5  # seconds of `record -a`
OVERHEAD = re.compile(r"overhead: profiler ([0-9.]+) % of one CPU")


def chosen():
    return next((r for r in sorted(javas.find(), key=lambda r: r.root) if javas.major(r) == RELEASE), None)


def shares(path, pids):
    """Of the processes' CPU time: raw, raw and called complete; in percent."""
    total = raw = called = 0
    for sample in stacks.read_profile(path).samples:
        if pids and sample.labels.get("pid") not in pids:
            continue
        total += sample.weight_ns
        if any(stacks.is_unknown(frame) for frame in sample.frames):
            raw += sample.weight_ns
            called += sample.weight_ns * (not any(stacks.is_error(frame) for frame in sample.frames))
    if not total:
        sys.exit("no samples of the JVM")
    return 100 * raw / total, 100 * called / total


def record(directory, command, everything):
    path = os.path.join(directory, "first.pb.gz")
    words = [measure.BINARY, "record", "-F", str(FREQUENCY), "--force", "-o", path]
    pids = set()

    def start():
        time.sleep(STARTS_AFTER)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as java:
            pids.add(java.pid)

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
    return (*shares(path, pids), float(OVERHEAD.search(done.stderr)[1]))


def main():
    measure.begin()
    runtime = chosen()
    if not runtime:
        return measure.skip(f"no JVM {RELEASE}")
    directory = tempfile.mkdtemp()
    try:
        javas.build(directory)
        command = javas.command(runtime, directory, str(SECONDS))
        for text, everything, bar in (("the command of record", False, 0.5), ("first under record -a", True, 3)):
            rounds = [record(directory, command, everything) for _ in range(ROUNDS)]
            raw, called, cpu = (statistics.median(column) for column in zip(*rounds))
            measure.row(f"JVM {RELEASE}, {text}: in code that nobody knows", raw, "%", f"<= {bar}", bar)
            measure.row(f"JVM {RELEASE}, {text}: of that called complete", called, "%", "0", 0.0)
            measure.row(f"JVM {RELEASE}, {text}: profiler, of one CPU", cpu, "%", "<= 6" if not everything else "",
                        6 if not everything else None)
    finally:
        shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())

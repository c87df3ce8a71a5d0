#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Periodic programs at 20 Hz: does the profile give each of them its own CPU time?

Four programs work for 5 ms each 50 ms, in different phases, and say how much CPU time they used. The
profile's weight of each is compared with that. Sampling clocks of exactly 50 ms would be in lockstep
with them.
"""
import collections
import os
import re
import signal
import subprocess
import tempfile
import time

import measure
import stacks  # in tests/kit

SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "60"))
FREQ, PERIOD_MS, BURST_MS = 20, 50, 5
PHASES_MS = (0, 12.5, 25, 37.5)
SETTLE = 2.5  # s: the recording has begun


def run_programs(procs):
    """{pid: CPU seconds, as the program says}"""
    programs = [procs.start([measure.program("bursts"), str(SECONDS), str(PERIOD_MS), str(BURST_MS),
                             str(phase)], stdout=subprocess.PIPE, text=True) for phase in PHASES_MS]
    return {program.pid: int(program.communicate()[0]) / 1e9 for program in programs}


def seen_by_us(path):
    """{pid: (CPU seconds by weight, samples)}"""
    seen = collections.defaultdict(lambda: (0, 0))
    for sample in stacks.read_profile(path).samples:
        seconds, count = seen[sample.labels["pid"]]
        seen[sample.labels["pid"]] = seconds + sample.weight_ns / 1e9, count + sample.count
    return seen


def errors_of(used, seen):
    """Per cent that each program got too much."""
    errors = []
    for pid, seconds in used.items():
        got, samples = seen.get(pid, (0, 0))
        errors.append(100 * (got / seconds - 1))
        measure.note(f"pid {pid}: {samples} samples, {got:.2f} s of {seconds:.2f} s, "
                     f"{errors[-1]:+.1f} %")
    return errors


def report(used, seen, lost):
    errors = errors_of(used, seen)
    measure.row(f"4 programs, {BURST_MS} ms each {PERIOD_MS} ms, {SECONDS:.0f} s at {FREQ} Hz: "
                "farthest from its CPU time", max(map(abs, errors)), "%", "<= 25", 25)
    measure.row("mean of the four", abs(sum(errors) / len(errors)), "%", "<= 5", 5)
    measure.row("samples lost meanwhile, ticks that never came among them", lost, "")


def main():
    measure.begin()
    with tempfile.TemporaryDirectory() as directory, measure.Procs() as procs:
        path = os.path.join(directory, "x.pb.gz")
        recorder = procs.start([measure.BINARY, "record", "-a", "-F", str(FREQ), "-d", f"{SECONDS + 60:.0f}s",
                                "-o", path], stderr=subprocess.PIPE, text=True, env=measure.environment())
        time.sleep(SETTLE)
        if recorder.poll() is not None:
            measure.check_status(recorder.returncode, recorder.stderr.read())
        used = run_programs(procs)
        recorder.send_signal(signal.SIGINT)
        summary = recorder.communicate(timeout=60)[1]
        measure.check_status(recorder.returncode, summary)
        report(used, seen_by_us(path), int(re.search(r"(\d+) samples lost", summary)[1]))


if __name__ == "__main__":
    main()

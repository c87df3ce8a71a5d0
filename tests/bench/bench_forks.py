#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What forks of a process with many mappings cost the agent.

A process with 2000 executable mappings forks 300 times a second, its children end at once; then one with one of these.
CPU time is that of the agent's threads, by /proc/PID/stat, while they fork. With --than BUILD the agent of another build
directory takes turns with this one, and the ratio of both is a row. EBPF_PROFILER_BENCH_SECONDS and _ROUNDS: 10 and 3.
"""
import argparse
import os
import statistics
import subprocess
import time

import measure

MAPPINGS = 2000
RATE = 300
FREQ = 20
SETTLE = 3  # seconds: what it maps is known then, and its rows are written
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "10"))
ROUNDS = int(os.environ.get("EBPF_PROFILER_BENCH_ROUNDS", "3"))


def use_build(build):
    measure.BINARY = os.path.join(build, "core", "cli", "ebpf-profiler")
    measure.PLUGINS = os.path.join(build, "plugins", "together")


def microseconds_a_fork(mappings):
    """Of the agent's CPU time."""
    with measure.Procs() as procs, measure.Agent(procs, FREQ) as agent:
        agent.wait_sampling()
        run = procs.start([measure.program("forkstorm"), str(SECONDS), str(RATE), str(mappings)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        run.stdout.readline()
        time.sleep(SETTLE)
        before = measure.cpu_seconds(agent.proc.pid)
        out, _ = run.communicate("\n", timeout=SECONDS + 60)
        used = measure.cpu_seconds(agent.proc.pid) - before
        agent.stop()
    if run.returncode != 0:
        raise SystemExit(f"forkstorm failed with {run.returncode}")
    forks = int(out.split()[0])
    measure.note(f"{measure.BINARY}: {mappings} mappings: {forks} forks, {1e6 * used / forks:.1f} us each")
    return 1e6 * used / forks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--than", metavar="BUILD")
    builds = [measure.BUILD] + [path for path in [parser.parse_args().than] if path]
    found = {(build, mappings): [] for build in builds for mappings in (MAPPINGS, 1)}
    for _ in range(ROUNDS):
        for build, mappings in found:
            use_build(build)
            found[build, mappings].append(microseconds_a_fork(mappings))
    medians = {key: statistics.median(values) for key, values in found.items()}
    for (build, mappings), value in medians.items():
        which = "" if build == measure.BUILD else ", the other build"
        measure.row(f"agent CPU for each fork of a process with {mappings} mappings more{which}, median of {ROUNDS}",
                    value, "us")
    for build in builds[1:]:
        measure.row("as a part of the other build's", medians[measure.BUILD, MAPPINGS] / medians[build, MAPPINGS], "",
                    "<= 0.5", 0.5)


if __name__ == "__main__":
    main()

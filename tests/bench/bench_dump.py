#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a process stands still for `dump`: runtimes that are installed, busy and idle, TIMES each."""
import os
import re
import statistics
import subprocess
import tempfile

import fleet
import measure

TIMES = 50
BAR_MS, BAR_THREADS_MS = 10, 30     # of a process with more than MANY threads
MANY = 16
STOOD = re.compile(r"(\d+) threads?; the process stood still for ([0-9.]+) ms")


def stops_of(pid):
    """[(threads, ms)]"""
    stops = []
    for _ in range(TIMES):
        done = subprocess.run([measure.BINARY, "dump", "-p", str(pid)], capture_output=True, text=True, errors="replace",
                              check=True)
        match = STOOD.search(done.stderr)
        stops.append((int(match[1]), float(match[2])))
    return stops


def main():
    if os.geteuid() != 0:
        measure.skip("dump needs root")
    with tempfile.TemporaryDirectory() as directory, measure.Procs() as procs:
        started = {}
        for kind, commands in (("busy", fleet.BUSY), ("idle", fleet.SLEEPERS)):
            for command in filter(fleet.installed, commands):
                name = f"{os.path.basename(command[0])}, {kind}"
                if name not in started:
                    started[name] = procs.start(command)
        before = len(procs.all)
        fleet.start_java(procs, directory)
        if len(procs.all) > before:
            started["java, idle"] = procs.all[-1]
        measure.time.sleep(3)
        for name, process in started.items():
            stops = stops_of(process.pid)
            times = [ms for _, ms in stops]
            bar = BAR_THREADS_MS if stops[-1][0] > MANY else BAR_MS
            measure.row(f"dump, {name}, {stops[-1][0]} threads: stood still", statistics.median(times), "ms", f"<= {bar}",
                        bar)
            measure.row(f"dump, {name}: longest of {TIMES}", max(times), "ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

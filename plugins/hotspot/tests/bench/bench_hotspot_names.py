#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What naming a compiled frame costs, over a JVM of each release: names_of_hotspot does it, over Units.java."""
import os
import re
import subprocess
import sys

import measure
import javas
import benches

HERE = os.path.dirname(os.path.realpath(__file__))

RELEASES = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_JAVA", "8 17 21 25").split()]
MILLISECONDS = "4000"
PROGRAM = os.path.join(measure.BUILD, "plugins", "hotspot", "tests", "names_of_hotspot")
LINE = re.compile(r"(.*): median (\d+) ns, 99% (\d+) ns \((\d+)\)")
BARS = {"known": 1000, "known nmethod, new place": 1000, "new nmethod": 100000}  # ns
TAIL = {"new nmethod": 1000000}


def measure_runtime(runtime, directory):
    with measure.Procs() as procs:
        java = procs.start(runtime.argv(["-Xmx256m", "-cp", directory, "Units", MILLISECONDS], directory),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if java.stdout.readline().strip() != b"ready":
            sys.exit(f"JDK {javas.major(runtime)}: it does not run")
        done = javas.run([PROGRAM, str(java.pid)])
    rows = LINE.findall(done.stdout)
    if done.returncode or {row[0] for row in rows} != set(BARS):
        sys.exit(f"JDK {javas.major(runtime)}: {done.returncode}\n{done.stdout}{done.stderr}")
    for what, median, tail, number in rows:
        name = f"{what}, JDK {javas.major(runtime)}"
        measure.row(f"{name}, median of {number}", int(median), "ns", f"<= {BARS[what]}", BARS[what])
        limit = TAIL.get(what)
        measure.row(f"{name}, 99th percentile", int(tail), "ns", f"<= {limit}" if limit else "", limit)


def prepare(directory):
    benches.must_be_built(PROGRAM)
    javas.compile_java([os.path.join(HERE, "programs", "Units.java")], directory)


if __name__ == "__main__":
    benches.each("JVM", lambda: sorted(javas.find(), key=lambda r: not r.root), javas.major, RELEASES, measure_runtime, prepare)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What naming a frame costs, over a Node of each release: names_of_node names all functions of known.js's process,
each first when nothing is known of it, then again. Means."""
import os
import re
import subprocess
import sys

import measure
import nodes
import benches

HERE = os.path.dirname(os.path.realpath(__file__))

MAJORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_NODE", "8 12 18 22 26").split()]
PROGRAM = os.path.join(measure.BUILD, "plugins", "v8", "tests", "names", "names_of_node")
SOURCE = os.path.join(HERE, "..", "names", "known.js")
TIME = re.compile(r"^TIME new (\d+) known (\d+) of (\d+); (\d+) bytes", re.M)
NEW_BAR, KNOWN_BAR = 100000, 1000   # ns


def measure_runtime(runtime, _):
    major = nodes.major(runtime)
    with measure.Procs() as procs:
        node = procs.start(runtime.argv([SOURCE, "1"]), stdout=subprocess.PIPE)
        if node.stdout.readline() != b"ready\n":
            sys.exit(f"Node {major}: it does not run")
        done = nodes.run([PROGRAM, str(node.pid), str(major), SOURCE])
    found = TIME.search(done.stdout)
    if done.returncode or not found or not int(found[3]):
        sys.exit(f"Node {major}: {done.returncode}\n{done.stdout[-500:]}{done.stderr[-500:]}")
    new, known, number, kept = (int(word) for word in found.groups())
    measure.row(f"new function, Node {major}, mean of {number}", new, "ns", f"<= {NEW_BAR}", NEW_BAR)
    measure.row(f"known function, Node {major}", known, "ns", f"<= {KNOWN_BAR}", KNOWN_BAR)
    measure.row(f"kept of them, Node {major}", kept / 1024, "KiB")


if __name__ == "__main__":
    # Without root file systems: the script is where it is.
    benches.each("Node", lambda: [r for r in nodes.find() if not r.root], nodes.major, MAJORS, measure_runtime,
                 lambda _: benches.must_be_built(PROGRAM))

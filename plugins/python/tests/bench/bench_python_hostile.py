#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What four hostile processes cost their neighbours: each sample of theirs has new frames, and the line table of
each function is a megabyte. Beside them a Python wants its names, short programs have /proc read, and the agent ends.
"""
import glob
import os
import sys
import tempfile
import time

import measure
import pythons
import stacks

SECONDS = 15
N_HOSTILE = 4

NEIGHBOUR = """
import time
def burn(end):
    while time.process_time() < end: pass
scope, number = {"burn": burn}, 0
while True:
    number += 1
    exec("def neighbour_%d(end): burn(end)" % number, scope)
    scope["neighbour_%d" % number](time.process_time() + 0.05)
"""

SHORT = "while :; do sleep 0.02; /bin/sleep 0.01; done"


class Agent(measure.Agent):
    """One that loads no program for another language that happens to run: this cannot be taken back at the end."""

    def config(self):
        return super().config().replace('#languages = ["all"]', 'languages = ["python"]')


def named_share(paths):
    """Of the neighbour's samples those that have a function of it."""
    named = total = 0
    for path in paths:
        for sample in stacks.read_profile(path).samples:
            names = [frame.name for frame in sample.frames]
            if sample.labels.get("thread_name") == "neighbour":
                total += sample.count
                named += sample.count * any(name.startswith("neighbour_") for name in names)
    return named, total


def main():
    measure.begin()
    with tempfile.TemporaryDirectory() as directory, measure.Procs() as procs:
        python = os.path.join(directory, "neighbour")
        os.symlink(os.path.realpath(sys.executable), python)
        with Agent(procs, 99, interval="5s") as agent:
            agent.wait_sampling()
            for _ in range(N_HOSTILE):
                procs.start([sys.executable, "-c", pythons.GREEDY])
            time.sleep(2)
            procs.start([python, "-c", NEIGHBOUR])
            procs.start(["/bin/sh", "-c", SHORT])
            time.sleep(SECONDS)
            counters = agent.counters()
            begin = time.monotonic()
            agent.proc.terminate()
            agent.proc.wait(120)
            took = time.monotonic() - begin
            named, total = named_share(sorted(glob.glob(agent.directory.name + "/*.pb.gz")))
        late = counters.get("process reads that waited more than 50 ms for a worker", 0)
        measure.row("hostile: the agent ends", took, "s", "<= 1", 1)
        measure.row("hostile: /proc reads that wait more than 50 ms", 100 * late / max(counters["processes read"], 1),
                    "%", "<= 1", 1)
        measure.row("hostile: samples over the interval's limit", counters["samples over the interval's limit"], "")
        measure.row("hostile: /proc reads", counters["processes read"], "")
        measure.row("hostile: the neighbour's samples with names", 100 * named / max(total, 1), "%", ">= 95", 95,
                    at_least=True)
        measure.row("hostile: the neighbour's samples", total, "")
        measure.row("hostile: CPU used by the agent", counters["ms of CPU used by the agent"], "ms")


if __name__ == "__main__":
    main()

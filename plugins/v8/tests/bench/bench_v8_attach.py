#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a Node costs the agent: CPU time until it is known, and memory.

How is in tests/kit/arrivals.py. Last: the agent's CPU at 20 Hz while one Node works all the time.
"""
import os
import time

import measure
import nodes
import arrivals
import benches

HERE = os.path.dirname(os.path.realpath(__file__))

MAJORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_NODE", "18 26").split()]
CPU_BAR = 0.3   # percent of one CPU
LOADED = "v8: unwinder loaded"
SOURCE = os.path.join(HERE, "programs", "load.js")


def measure_agent(runtime):
    """CPU time of an agent that sees a busy one."""
    with measure.Procs() as procs, measure.Agent(procs, arrivals.FREQUENCY, interval="10s", verbose=1) as agent:
        agent.wait_sampling()
        procs.start(runtime.argv([SOURCE, "1000000"]))
        agent.wait_for(LOADED, 90)
        time.sleep(arrivals.SECONDS)
        before = measure.cpu_seconds(agent.proc.pid)
        time.sleep(2 * arrivals.SECONDS)
        used = measure.cpu_seconds(agent.proc.pid) - before
    measure.row(f"agent CPU at {arrivals.FREQUENCY} Hz, one Node {nodes.major(runtime)} busy", 100 * used / (2 * arrivals.SECONDS),
                "% of one CPU", f"<= {CPU_BAR}", CPU_BAR)


def measure_runtime(runtime, _):
    arrivals.bench("v8", f"Node {nodes.major(runtime)}", runtime.argv([SOURCE, "500"]))
    measure_agent(runtime)


if __name__ == "__main__":
    benches.each("Node", lambda: [r for r in nodes.find() if not r.root], nodes.major, MAJORS, measure_runtime)

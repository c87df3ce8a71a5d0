#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a Node costs the agent: CPU time until it is known, and memory.

An agent that knows one already sees so many more, which start, work a little and sleep. The same is done by an
agent without the plugin, in turn: what it takes for any process, its files, its samples and its native frames, is in
both. The difference is of the plugin, by process; the value is the median of the rounds. Memory is RSS and the maps
of BPF. Last: the agent's CPU at 20 Hz while one Node works all the time.
"""
import os
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(HERE, "..", "..", "..", "..", "tests", "bench")]
import bench_memory  # noqa: E402
import measure  # noqa: E402
import nodes  # noqa: E402

MAJORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_NODE", "18 26").split()]
PROCESSES = 10
ROUNDS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "8"))  # until all is done that they cost
FREQUENCY = 20
CPU_BAR = 0.3   # percent of one CPU
LOADED = "v8: unwinder loaded"
MIB = 1 << 20
SOURCE = os.path.join(HERE, "programs", "load.js")


def chosen():
    found = {}
    for runtime in nodes.find():
        if not runtime.root:
            found.setdefault(nodes.major(runtime), runtime)
    return [found[major] for major in MAJORS if major in found]


def without_plugin(directory):
    """A directory of plugins that has all but this one."""
    path = os.path.join(directory, "plugins")
    os.mkdir(path)
    for name in os.listdir(measure.PLUGINS):
        if name != "v8.so":
            shutil.copy(os.path.join(measure.PLUGINS, name), path)
    return path


def observe(agent):
    pid = agent.proc.pid
    return {"cpu": measure.cpu_seconds(pid), "maps": bench_memory.map_bytes(pid),
            "rss": measure.status_bytes(pid)["RssAnon"]}


def one_round(plugins, runtime):
    """{what: ms of CPU or MiB, of one process}"""
    kept, measure.PLUGINS = measure.PLUGINS, plugins
    with measure.Procs() as procs, measure.Agent(procs, FREQUENCY, interval="600s", verbose=1) as agent:
        measure.PLUGINS = kept
        agent.wait_sampling()
        procs.start(runtime.argv([SOURCE, "500"]))
        if os.path.exists(os.path.join(plugins, "v8.so")):
            agent.wait_for(LOADED, 90)
        time.sleep(SECONDS)     # the file's tables, longer runs of the unwinders
        before = observe(agent)
        for _ in range(PROCESSES):
            procs.start(runtime.argv([SOURCE, "500"]))
            time.sleep(0.2)
        time.sleep(SECONDS)
        after = observe(agent)
    return {"cpu": 1e3 * (after["cpu"] - before["cpu"]) / PROCESSES,
            "rss": (after["rss"] - before["rss"]) / PROCESSES / MIB,
            "maps": (after["maps"] - before["maps"]) / PROCESSES / MIB}


def verdict(values, bar):
    """Rounds that are further apart than the bar, or below nothing by it, say nothing."""
    low, high = min(values), max(values)
    if high - low > bar or low < -bar:
        return f"the noise is larger: {low:.3g} to {high:.3g}"
    return "met" if statistics.median(values) <= bar else "missed"


def measure_processes(runtime, plain):
    rounds = []
    for number in range(ROUNDS):
        order = (measure.PLUGINS, plain) if number % 2 else (plain, measure.PLUGINS)
        found = {plugins: one_round(plugins, runtime) for plugins in order}
        rounds.append((found[measure.PLUGINS], found[plain]))
        measure.note(f"{rounds[-1]}")
    what = f"Node {nodes.major(runtime)}, of the plugin's, median of {ROUNDS} rounds"
    for key, unit, bar, name in (("cpu", "ms", 10, "CPU time"), ("rss", "MiB", 1, "memory"),
                                 ("maps", "MiB", 1, "maps of BPF")):
        values = [a[key] - b[key] for a, b in rounds]
        print(f"{name} of the agent for a {what}\t{statistics.median(values):.4g}\t{unit}\t<= {bar}\t"
              f"{verdict(values, bar)}", flush=True)
        measure.row("with all that any process costs", statistics.median(a[key] for a, _ in rounds), unit)


def measure_agent(runtime):
    """CPU time of an agent that sees a busy one."""
    with measure.Procs() as procs, measure.Agent(procs, FREQUENCY, interval="10s", verbose=1) as agent:
        agent.wait_sampling()
        procs.start(runtime.argv([SOURCE, "1000000"]))
        agent.wait_for(LOADED, 90)
        time.sleep(SECONDS)
        before = observe(agent)["cpu"]
        time.sleep(2 * SECONDS)
        used = observe(agent)["cpu"] - before
    measure.row(f"agent CPU at {FREQUENCY} Hz, one Node {nodes.major(runtime)} busy", 100 * used / (2 * SECONDS),
                "% of one CPU", f"<= {CPU_BAR}", CPU_BAR)


def main():
    measure.begin()
    found = chosen()
    if not found:
        measure.skip("no Node was found")
    with tempfile.TemporaryDirectory() as directory:
        plain = without_plugin(directory)
        for runtime in found:
            measure_processes(runtime, plain)
            measure_agent(runtime)


if __name__ == "__main__":
    main()

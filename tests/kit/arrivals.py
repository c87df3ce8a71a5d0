# SPDX-License-Identifier: Apache-2.0
"""What a process of a language costs the agent: CPU time until it is known, and memory.

An agent that knows one already sees so many more, which start, work a little and sleep. The same is done by an
agent without the plugin, in turn: what it takes for any process, its files, its samples and its native frames, is in
both. The difference is of the plugin, by process; the value is the median of the rounds. Memory is RSS and the maps
of BPF.
"""
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import bench_memory
import measure

PROCESSES = 10
ROUNDS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "8"))  # until all is done that they cost
FREQUENCY = 20
MIB = 1 << 20
CPU_BAR = 10    # ms
BARS = ("rss", "MiB", 1, "memory"), ("maps", "MiB", 1, "maps of BPF")


def without_plugin(language, directory):
    """A directory of plugins that has all but this one."""
    path = os.path.join(directory, "plugins")
    os.mkdir(path)
    for name in os.listdir(measure.PLUGINS):
        if name != language + ".so":
            shutil.copy(os.path.join(measure.PLUGINS, name), path)
    return path


def observe(agent):
    pid = agent.proc.pid
    return {"cpu": 1e3 * measure.cpu_seconds(pid), "maps": bench_memory.map_bytes(pid) / MIB,
            "rss": measure.status_bytes(pid)["RssAnon"] / MIB}


def one_round(plugins, language, command):
    """{what: ms of CPU or MiB, of one process}"""
    kept, measure.PLUGINS = measure.PLUGINS, plugins
    with measure.Procs() as procs, measure.Agent(procs, FREQUENCY, interval="600s", verbose=1) as agent:
        measure.PLUGINS = kept
        agent.wait_sampling()
        procs.start(command, stdin=subprocess.PIPE)     # some wait for its end
        if os.path.exists(os.path.join(plugins, language + ".so")):
            agent.wait_for(language + ": unwinder loaded", 90)
        time.sleep(SECONDS)     # the file's tables, longer runs of the unwinders
        before = observe(agent)
        for _ in range(PROCESSES):
            procs.start(command, stdin=subprocess.PIPE)
            time.sleep(0.2)
        time.sleep(SECONDS)
        after = observe(agent)
    return {key: (after[key] - before[key]) / PROCESSES for key in before}


def verdict(values, bar):
    """Rounds that are further apart than the bar, or below nothing by it, say nothing."""
    low, high = min(values), max(values)
    if high - low > bar or low < -bar:
        return f"the noise is larger: {low:.3g} to {high:.3g}"
    return "met" if statistics.median(values) <= bar else "missed"


def bench(language, what, command, cpu_bar=CPU_BAR):
    """Rows for one runtime; what: its name. command: works for half a second, then waits. cpu_bar: ms."""
    with tempfile.TemporaryDirectory() as directory:
        plain, rounds = without_plugin(language, directory), []
        for number in range(ROUNDS):
            order = (measure.PLUGINS, plain) if number % 2 else (plain, measure.PLUGINS)
            found = {plugins: one_round(plugins, language, command) for plugins in order}
            rounds.append((found[measure.PLUGINS], found[plain]))
            measure.note(f"{rounds[-1]}")
    for key, unit, bar, name in (("cpu", "ms", cpu_bar, "CPU time"), *BARS):
        values = [ours[key] - other[key] for ours, other in rounds]
        print(f"{name} of the agent for a {what}, of the plugin's, median of {ROUNDS} rounds\t"
              f"{statistics.median(values):.4g}\t{unit}\t<= {bar}\t{verdict(values, bar)}", flush=True)
        measure.row("with all that any process costs", statistics.median(ours[key] for ours, _ in rounds), unit)

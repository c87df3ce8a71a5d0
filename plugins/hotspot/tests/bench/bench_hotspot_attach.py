#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a JVM costs the agent: CPU time until it is known, and memory; with many compiled methods too.

An agent that knows one JVM already sees so many more, which start, work a little and sleep. The same is done by an
agent without the plugin, in turn: what it takes for any process, its files, its samples and its native frames, is in
both. The difference is of the plugin, by process; the value is the median of the rounds. Memory is RSS and the maps
of BPF. Then agents come to a JVM with 1000 compiled methods, and to one with 100 000.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(HERE, "..", "..", "..", "..", "tests", "bench")]
import bench_memory  # noqa: E402
import measure  # noqa: E402
import javas  # noqa: E402

RELEASE = int(os.environ.get("EBPF_PROFILER_BENCH_JAVA", "17").split()[0])
PROCESSES = 10
ROUNDS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
FREQUENCY = 20
SECONDS = 8  # from the start of the processes to what they have cost
COPIES = {"1000 compiled methods": 1, "100 000 compiled methods": 100}
LOADED = "hotspot: unwinder loaded"
MANY = ["-Xcomp", "-XX:-Inline", "-XX:TieredStopAtLevel=1", "-XX:CompileCommand=quiet",
        "-XX:CompileCommand=compileonly,Thousand::*", "-XX:ReservedCodeCacheSize=240m", "-Xmx256m"]
MIB = 1 << 20


def thousand():
    """A class of a thousand small methods, and one that calls them all."""
    methods = "".join(f"    static int m{n}(int x) {{ return x * {n} + {n * 7 % 13}; }}\n" for n in range(1000))
    calls = "".join(f"        x += m{n}(x);\n" for n in range(1000))
    return (f"public class Thousand {{\n    static int sink;\n{methods}    public static void all() {{\n"
            f"        int x = sink;\n{calls}        sink = x;\n    }}\n}}\n")


def chosen():
    found = [r for r in sorted(javas.find(), key=lambda r: not r.root) if javas.major(r) == RELEASE]
    return found[0] if found else None


def without_plugin(directory):
    """A directory of plugins that has all but this one."""
    path = os.path.join(directory, "plugins")
    os.mkdir(path)
    for name in os.listdir(measure.PLUGINS):
        if name != "hotspot.so":
            shutil.copy(os.path.join(measure.PLUGINS, name), path)
    return path


def observe(agent):
    pid = agent.proc.pid
    return {"cpu": measure.cpu_seconds(pid), "maps": bench_memory.map_bytes(pid),
            "rss": measure.status_bytes(pid)["RssAnon"]}


def start_methods(procs, runtime, directory, copies):
    java = procs.start(runtime.argv([*MANY, "-cp", directory, "Methods", str(copies)], directory),
                       stdout=subprocess.PIPE)
    if java.stdout.readline() != b"ready\n":
        sys.exit("the JVM does not run")


def load(java, directory):
    """A JVM that works for half a second, then waits."""
    return java.argv(["-Xmx64m", "-XX:+UseSerialGC", "-cp", directory, "Load", "500"], directory)


def one_round(plugins, runtime, directory):
    """{what: ms of CPU or MiB, of one process}"""
    measure.PLUGINS = plugins
    with measure.Procs() as procs, measure.Agent(procs, FREQUENCY, interval="600s", verbose=1) as agent:
        agent.wait_sampling()
        procs.start(load(runtime, directory), stdin=subprocess.PIPE)
        if os.path.exists(os.path.join(plugins, "hotspot.so")):
            agent.wait_for(LOADED, 60)
        time.sleep(SECONDS)  # libjvm.so's tables, longer runs of the unwinders
        before = observe(agent)
        for _ in range(PROCESSES):
            procs.start(load(runtime, directory), stdin=subprocess.PIPE)
            time.sleep(0.2)
        time.sleep(SECONDS)
        after = observe(agent)
    return {"cpu": 1e3 * (after["cpu"] - before["cpu"]) / PROCESSES,
            "rss": (after["rss"] - before["rss"]) / PROCESSES / MIB,
            "maps": (after["maps"] - before["maps"]) / PROCESSES / MIB}


def methods_round(runtime, directory, copies):
    """MiB of an agent that comes to such a JVM and sees it for a while."""
    with measure.Procs() as procs:
        start_methods(procs, runtime, directory, copies)
        with measure.Agent(procs, FREQUENCY, interval="600s", verbose=1) as agent:
            agent.wait_for(LOADED, 60)
            time.sleep(SECONDS)
            found = observe(agent)
    return (found["rss"] + found["maps"]) / MIB


def verdict(values, bar):
    """Rounds that are further apart than the bar say nothing."""
    low, high = min(values), max(values)
    if high - low > bar:
        return f"the noise is larger: {low:.3g} to {high:.3g}"
    return "met" if statistics.median(values) < bar else "missed"


def measure_processes(runtime, directory, plain):
    rounds = []
    for number in range(ROUNDS):
        order = (measure.PLUGINS, plain) if number % 2 else (plain, measure.PLUGINS)
        kept = measure.PLUGINS
        found = {plugins: one_round(plugins, runtime, directory) for plugins in order}
        measure.PLUGINS = kept
        rounds.append((found[kept], found[plain]))
        measure.note(f"{rounds[-1]}")
    for what, unit, bar, name in (("cpu", "ms", 10, "CPU time"), ("rss", "MiB", 1, "memory"),
                                  ("maps", "MiB", 1, "maps of BPF")):
        values = [ours[what] - other[what] for ours, other in rounds]
        print(f"{name} of the agent for a JVM {RELEASE}, of the plugin's, median of {ROUNDS} rounds\t"
              f"{statistics.median(values):.4g}\t{unit}\t< {bar}\t{verdict(values, bar)}", flush=True)
        measure.row("with all that any process costs", statistics.median(ours[what] for ours, _ in rounds), unit)


def measure_methods(runtime, directory):
    found = {}
    for what, copies in COPIES.items():
        found[what] = statistics.median(methods_round(runtime, directory, copies) for _ in range(ROUNDS))
        measure.row(f"memory of an agent that sees a JVM with {what}", found[what], "MiB")
    few, many = found.values()
    measure.row("of it for the methods", many - few, "MiB", "< 1", 1)


def main():
    measure.begin()
    runtime = chosen()
    if not runtime:
        measure.skip(f"no JVM {RELEASE} was found")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        source = os.path.join(directory, "Thousand.java")
        with open(source, "w", encoding="utf-8") as file:
            file.write(thousand())
        try:
            javas.compile_java([source, os.path.join(HERE, "programs", "Methods.java"),
                                os.path.join(HERE, "..", "unit", "Load.java")], directory)
        except javas.Skipped as reason:
            measure.skip(str(reason))
        measure_processes(runtime, directory, without_plugin(directory))
        measure_methods(runtime, directory)


if __name__ == "__main__":
    main()

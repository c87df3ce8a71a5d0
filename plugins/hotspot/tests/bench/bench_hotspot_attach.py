#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a JVM costs the agent: CPU time until it is known, and memory; with many compiled methods too.

How is in tests/kit/arrivals.py. Then agents come to a JVM with 1000 compiled methods, and to one with 100 000.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

import measure
import javas
import arrivals

HERE = os.path.dirname(os.path.realpath(__file__))

RELEASE = int(os.environ.get("EBPF_PROFILER_BENCH_JAVA", "17").split()[0])
COPIES = {"1000 compiled methods": 1, "100 000 compiled methods": 100}
LOADED = "hotspot: unwinder loaded"
MANY = ["-Xcomp", "-XX:-Inline", "-XX:TieredStopAtLevel=1", "-XX:CompileCommand=quiet",
        "-XX:CompileCommand=compileonly,Thousand::*", "-XX:ReservedCodeCacheSize=240m", "-Xmx256m"]


def thousand():
    """A class of a thousand small methods, and one that calls them all."""
    methods = "".join(f"    static int m{n}(int x) {{ return x * {n} + {n * 7 % 13}; }}\n" for n in range(1000))
    calls = "".join(f"        x += m{n}(x);\n" for n in range(1000))
    return (f"public class Thousand {{\n    static int sink;\n{methods}    public static void all() {{\n"
            f"        int x = sink;\n{calls}        sink = x;\n    }}\n}}\n")


def chosen():
    return next((r for r in sorted(javas.find(), key=lambda r: not r.root) if javas.major(r) == RELEASE), None)


def start_methods(procs, runtime, directory, copies):
    java = procs.start(runtime.argv([*MANY, "-cp", directory, "Methods", str(copies)], directory),
                       stdout=subprocess.PIPE)
    if java.stdout.readline() != b"ready\n":
        sys.exit("the JVM does not run")


def load(java, directory):
    """A JVM that works for two seconds, then waits."""
    return java.argv(["-Xmx64m", "-XX:+UseSerialGC", "-cp", directory, "Units", "500"], directory)


def methods_round(runtime, directory, copies):
    """MiB of an agent that comes to such a JVM and sees it for a while."""
    with measure.Procs() as procs:
        start_methods(procs, runtime, directory, copies)
        with measure.Agent(procs, arrivals.FREQUENCY, interval="600s", verbose=1) as agent:
            agent.wait_for(LOADED, 60)
            time.sleep(arrivals.SECONDS)
            found = arrivals.observe(agent)
    return found["rss"] + found["maps"]


def measure_methods(runtime, directory):
    found = {}
    for what, copies in COPIES.items():
        found[what] = statistics.median(methods_round(runtime, directory, copies) for _ in range(arrivals.ROUNDS))
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
            javas.compile_java([source, *(os.path.join(HERE, "programs", name) for name in
                                           ("Methods.java", "Units.java"))], directory)
        except javas.Skipped as reason:
            measure.skip(str(reason))
        arrivals.bench("hotspot", f"JVM {RELEASE}", load(runtime, directory))
        measure_methods(runtime, directory)


if __name__ == "__main__":
    main()

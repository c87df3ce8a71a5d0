#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What choosing costs: 2000 processes that work now and then, one of which is recorded.

The kernel times every run of the entry program (bpf_stats). Choices that nobody who works fits leave nothing but
events of others, while all CPUs are busy, and of the idle task, while nothing is: windows in which the CPUs were
nine tenths one or the other are compared. The agent's CPU time is that of the recording alone, without its
start, and is held against one without a filter; both see the same processes.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import measure

PROCESSES = int(os.environ.get("EBPF_PROFILER_BENCH_PROCESSES", "2000"))
RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
SECONDS = os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "4")
FREQ = "999"
WINDOW = 0.25
WINDOWS = 8
GROUP = "ep-bench"
BURN = "while True: pass"


def record(directory, *arguments):
    """(counters, agent CPU in % of one CPU)"""
    run = subprocess.run([measure.BINARY, "record", "-v", "-F", FREQ, "-d", SECONDS, *arguments, "--force", "-o",
                          directory + "/x.pb.gz"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                         check=False, env=measure.environment(), preexec_fn=measure.die_with_parent, timeout=120)
    if run.returncode not in (0, 5):
        measure.check_status(run.returncode, run.stderr)
    counters = measure.parse_counters(run.stderr)
    cost = re.search(r"profiler ([0-9.]+) % of one CPU", run.stderr)
    return counters, float(cost[1]) if cost else 0.0


def idle_ticks():
    """(of the idle task, all) of all CPUs: /proc/stat."""
    fields = [int(word) for word in measure.read_text("/proc/stat").splitlines()[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)


def watch(directory, arguments):
    """[(share of idle time, ns of an event)] of windows of a recording."""
    windows = []
    with measure.Procs() as procs:
        profiler = procs.start([measure.BINARY, "record", "-F", FREQ, "-d", "60", *arguments, "--force", "-o",
                                directory + "/x.pb.gz"], env=measure.environment())
        end = time.monotonic() + 20
        while profiler.poll() is None and measure.bpf_cost(profiler.pid)[1] < 100:
            if time.monotonic() > end:
                return windows
            time.sleep(0.1)
        for _ in range(WINDOWS):
            cost, ticks = measure.bpf_cost(profiler.pid), idle_ticks()
            time.sleep(WINDOW)
            cost_, ticks_ = measure.bpf_cost(profiler.pid), idle_ticks()
            runs, time_there_was = cost_[1] - cost[1], ticks_[1] - ticks[1]
            if runs and time_there_was:
                windows.append(((ticks_[0] - ticks[0]) / time_there_was, 1e9 * (cost_[0] - cost[0]) / runs))
    return windows


def make_group():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        root = next((line.split()[4] for line in file if " - cgroup2 " in line), None)
    if not root:
        return None
    path = os.path.join(root, GROUP)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError:
        return None
    return path


def choices(sleeper, group):
    """Each with nobody in it who works."""
    found = {"-p": ["-p", str(sleeper)], "-t": ["-t", str(sleeper)], "--comm": ["--comm", "nobody*"],
             "--exe": ["--exe", "/nowhere/*"], "-u": ["-u", "4242"]}
    if group:
        with open(group + "/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(sleeper))
        found["-G"] = ["-G", GROUP]
        found["--comm, -u and -G"] = ["--comm", "!nobody*", "-u", "root", "-G", GROUP]
    return found


def price(windows, is_idle):
    """Lower quartile: other guests of a hypervisor come in bursts. None: the CPUs were never like that."""
    prices = sorted(ns for share, ns in windows if (share > 0.9 if is_idle else share < 0.1))
    return prices[len(prices) // 4] if prices else None


def report_agent(directory):
    all_of_it, one = [], []
    for _ in range(RUNS):
        counters, cpu = record(directory, "-a")
        all_of_it.append(cpu)
        analysed_all = counters["executables analysed"]
        counters, cpu = record(directory, "--comm", "chosen")
        one.append(cpu)
        analysed = counters["executables analysed"]
        measure.note(f"agent: {all_of_it[-1]} % of a CPU without a filter, {cpu} % with; executables analysed "
                     f"{analysed_all} and {analysed}")
    with_, without = statistics.median(one), statistics.median(all_of_it)
    measure.row("agent CPU with --comm, of that without a filter", 100 * with_ / without, "%", "<= 10", 10)
    measure.row("the same, of one CPU: with, and without", f"{with_:.2f}, {without:.2f}", "%")
    # Its own program, the loader, the C library and the vDSO: what one process maps.
    measure.row("executables analysed with --comm, of the one and of others", analysed, "", "<= 4", 4)


def report_events(directory, named):
    idle = []
    for _ in range(RUNS):
        idle += watch(directory, named["-p"])
    idle_ns = price(idle, True)
    if idle_ns:
        measure.row("BPF time of an event of the idle task", idle_ns, "ns")
    else:
        measure.skip_row("BPF time of an event of the idle task", "this machine is never idle")
    return idle_ns


def report_others(directory, named, idle_ns):
    windows = {name: [] for name in named}
    for _ in range(RUNS):
        for name, arguments in named.items():
            windows[name] += watch(directory, arguments)
    for name, found in windows.items():
        ns = price(found, False)
        if ns is None:
            measure.skip_row(f"BPF time of an event of others, {name}", "the CPUs were not busy")
            continue
        measure.row(f"BPF time of an event of others, {name}", ns, "ns")
        if idle_ns:
            measure.row(f"the same, of an idle one's, {name}", ns / idle_ns, "times", "<= 1.2", 1.2)


def main():
    measure.begin()
    group = make_group()
    with tempfile.TemporaryDirectory() as directory, measure.Procs() as procs:
        sleeper = procs.start(["sleep", "1000"])
        named = choices(sleeper.pid, group)
        idle_ns = report_events(directory, named)
        runners = procs.start([measure.program("runners"), str(PROCESSES)], stdout=subprocess.PIPE, text=True)
        runners.stdout.readline()
        time.sleep(2)
        report_agent(directory)
        with measure.Procs() as busy:
            for cpu in measure.cpu_list():
                busy.start([sys.executable, "-c", BURN], {cpu})
            report_others(directory, named, idle_ns)
    if group:
        time.sleep(0.5)
        os.rmdir(group)


if __name__ == "__main__":
    main()

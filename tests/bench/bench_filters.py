#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What choosing costs: 2000 processes that work now and then, one of which is recorded.

The kernel times every run of the entry program (bpf_stats). Runs of the others are nearly all there are while
all CPUs are busy; those of the idle task are while nothing else is. The agent's CPU time is that of the
recording alone, without its start, and is held against one without a filter; both see the same processes.
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
IDLE, OTHERS = "samples of the idle task, not recorded", "samples outside the process filter"
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


def event_ns(counters):
    return counters["BPF ns per event, idle ones included"]


def share(counters, name):
    return counters[name] / max(1, counters["samples taken"] + counters[IDLE] + counters[OTHERS])


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


def choices(pid, group):
    found = {"-p": ["-p", str(pid)], "-t": ["-t", str(pid)], "--comm": ["--comm", "chosen"],
             "--exe": ["--exe", "/nowhere/*"], "-u": ["-u", "4242"]}
    if group:
        with open(group + "/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(pid))
        found["-G"] = ["-G", GROUP]
        found["all of them"] = ["-p", str(pid), "--comm", "chosen", "-u", "root", "-G", GROUP]
    return found


def idle_price(directory):
    """ns of an event of the idle task; None where it is never idle."""
    prices = []
    for _ in range(RUNS):
        counters, _ = record(directory, "-p", str(os.getpid()))
        if share(counters, IDLE) > 0.8:
            prices.append(event_ns(counters))
        measure.note(f"idle events {share(counters, IDLE):.0%}: {event_ns(counters)} ns")
    return min(prices) if prices else None


def others_prices(directory, named):
    """{option: ns of an event of another process}, all CPUs busy."""
    prices = {name: [] for name in named}
    for _ in range(RUNS):
        for name, arguments in named.items():
            counters, _ = record(directory, *arguments)
            measure.note(f"{name}: events of others {share(counters, OTHERS):.0%}: {event_ns(counters)} ns")
            if share(counters, OTHERS) > 0.8:
                prices[name].append(event_ns(counters))
    return {name: statistics.median(found) for name, found in prices.items() if found}


def report_agent(directory, named):
    all_of_it, one = [], []
    for _ in range(RUNS):
        counters, cpu = record(directory, "-a")
        all_of_it.append(cpu)
        analysed_all = counters["executables analysed"]
        counters, cpu = record(directory, *named["--comm"])
        one.append(cpu)
        analysed = counters["executables analysed"]
        measure.note(f"agent: {all_of_it[-1]} % of a CPU without a filter, {cpu} % with; executables analysed "
                     f"{analysed_all} and {analysed}")
    with_, without = statistics.median(one), statistics.median(all_of_it)
    measure.row("agent CPU with --comm, of that without a filter", 100 * with_ / without, "%", "<= 10", 10)
    measure.row("the same, of one CPU: with, and without", f"{with_:.2f}, {without:.2f}", "%")
    # Its own program, the loader, the C library and the vDSO: what one process maps.
    measure.row("executables analysed with --comm, of the one and of others", analysed, "", "<= 4", 4)


def main():
    measure.begin()
    group = make_group()
    with tempfile.TemporaryDirectory() as directory, measure.Procs() as procs:
        idle = idle_price(directory)
        runners = procs.start([measure.program("runners"), str(PROCESSES)], stdout=subprocess.PIPE, text=True)
        named = choices(int(runners.stdout.readline().split()[1]), group)
        time.sleep(2)
        report_agent(directory, named)
        with measure.Procs() as busy:
            for cpu in measure.cpu_list():
                busy.start([sys.executable, "-c", BURN], {cpu})
            prices = others_prices(directory, named)
    if group:
        time.sleep(0.5)
        os.rmdir(group)
    if idle:
        measure.row("BPF time of an event of the idle task, best run", idle, "ns")
    for name, ns in prices.items():
        measure.row(f"BPF time of an event of others, {name}", ns, "ns")
        if idle:
            measure.row(f"the same, of an idle one's, {name}", ns / idle, "times", "<= 1.2", 1.2)
    if not idle:
        measure.skip_row("BPF time of an event of others against an idle one's", "this machine is never idle")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a storm of 1000 execs a second costs the agent, and perf in the same storm.

Storms of equal length in turn, one under the agent at 20 Hz, one under `perf record -F 20 -a -g`, which of
them begins alternates. CPU time is that of the profiler's threads, user and system, by /proc/PID/stat: from
the storm's first exec until the profiler was told to end, a second after the last, and ended, with its file
written. What it puts off counts; perf reads its file once more at its end, for build ids. The time without
that end is a row of its own. What interrupts, BPF and records cost the storm itself is in neither; the
rate that was reached and the CPU time of the whole machine, beside those with nobody watching, tell.
EBPF_PROFILER_BENCH_SECONDS and _ROUNDS: 20 and 3.
"""
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

import measure  # it knows where the modules of the live tests are
import judge
import sessions
from judge import Programs

RATE = 1000
LEAST_RATE = 0.9 * RATE  # the storm that the bars are of
FREQ = 20
BAR = 1.4
SETTLE = 3  # seconds: a start is another bench's
AFTER = 1
LOST = ("samples dropped: ring buffer full", "process events dropped: ring buffer full",
        "side-band records lost", "samples whose stack was lost")
PERF = shutil.which("perf")
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "20"))
ROUNDS = int(os.environ.get("EBPF_PROFILER_BENCH_ROUNDS", "3"))
NOTHING = os.path.join(measure.BUILD, "tests", "live", "nothing")
STORMERS = Programs({"execstorm": {"execstorm"}, "nothing": {"nothing"}})


def process_cpu(pid):
    """Seconds, user and system, of all threads, ended ones too: fields 14 and 15, man 5 proc."""
    fields = measure.read_text(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / measure.TICK


def machine_cpu():
    """Seconds of all CPUs that were not idle: man 5 proc, /proc/stat."""
    ticks = [int(n) for n in measure.read_text("/proc/stat").splitlines()[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / measure.TICK


def storm(procs, seconds):
    """Execs per second, and percent of one CPU that the whole machine was busy."""
    before = machine_cpu()
    run = procs.start([measure.program("execstorm"), str(seconds), str(RATE), NOTHING],
                      stdout=subprocess.PIPE, text=True)
    out, _ = run.communicate(timeout=seconds + 60)
    if run.returncode != 0:
        raise SystemExit(f"execstorm failed with {run.returncode}")
    parts = [line.split() for line in out.splitlines()]
    took = max(float(took) for _, took in parts)
    return sum(int(number) for number, _ in parts) / took, 100 * (machine_cpu() - before) / took


def through_storm(procs, proc, seconds, end_signal):
    """Percents of one CPU that `proc` took, with its end and without, and what storm() says."""
    before, fine_before = process_cpu(proc.pid), measure.cpu_seconds(proc.pid)
    found = storm(procs, seconds)
    time.sleep(AFTER)
    during = measure.cpu_seconds(proc.pid)
    proc.send_signal(end_signal)
    os.waitid(os.P_PID, proc.pid, os.WEXITED | os.WNOWAIT)  # a zombie still has its times
    return [100 * used / seconds for used in (process_cpu(proc.pid) - before, during - fine_before)] + [*found]


class Storms:
    """What was found in them."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.cpu, self.during = {"agent": [], "perf": []}, {"agent": [], "perf": []}
        self.rates = {"agent": [], "perf": [], "nobody": []}
        self.busy = {"agent": [], "perf": [], "nobody": []}
        self.tally, self.lost = judge.Tally(), dict.fromkeys(LOST, 0)
        self.images = {"frames": judge.collections.Counter(), "name": judge.collections.Counter()}

    def note(self, who, cpu, during, rate, busy):
        self.cpu[who].append(cpu)
        self.during[who].append(during)
        self.rates[who].append(rate)
        self.busy[who].append(busy)
        measure.note(f"{who}: {cpu:.2f} % of one CPU, {during:.2f} without its end, {rate:.0f} execs/s")

    def under_agent(self):
        with measure.Procs() as procs, measure.Agent(procs, FREQ) as agent:
            agent.wait_sampling()
            time.sleep(SETTLE)
            self.note("agent", *through_storm(procs, agent.proc, self.seconds, signal.SIGTERM))
            counters = measure.parse_counters(agent.stop())
            samples = list(filter(STORMERS.has, sessions.read_directory(agent.directory.name)))
        self.tally.add(samples)
        for kind, wrong in STORMERS.wrong_images(samples).items():
            self.images[kind].update(wrong)
        for name in LOST:
            self.lost[name] += counters[name]

    def under_perf(self):
        with measure.Procs() as procs, tempfile.TemporaryDirectory() as directory:
            perf = procs.start([PERF, "record", "-q", "-F", str(FREQ), "-a", "-g", "-o",
                                directory + "/perf.data", "--", "sleep", "1000"])
            time.sleep(SETTLE)
            if perf.poll() is not None:
                raise SystemExit(f"perf ended with {perf.poll()}")
            self.note("perf", *through_storm(procs, perf, self.seconds, signal.SIGINT))
            perf.wait()
            measure.note(f"perf wrote {os.path.getsize(directory + '/perf.data')} bytes")

    def under_nobody(self):
        with measure.Procs() as procs:
            rate, busy = storm(procs, self.seconds)
        self.rates["nobody"].append(rate)
        self.busy["nobody"].append(busy)


def print_cpu(storms):
    ours = statistics.median(storms.cpu["agent"])
    n = len(storms.cpu["agent"])
    measure.row(f"agent CPU in a storm of {RATE} execs/s at {FREQ} Hz, median of {n}", ours,
                "% of one CPU", f"<= {BAR}", BAR)
    if not PERF:
        measure.skip_row("perf record in the same storm", "no perf (package linux-perf)")
        return
    theirs = statistics.median(storms.cpu["perf"])
    measure.row(f"perf record -F {FREQ} -a -g in the same storm, median of {n}", theirs, "% of one CPU")
    measure.row("agent CPU as a multiple of perf's", ours / max(theirs, 0.01), "", "< 1", 0.999)
    for who, values in storms.during.items():
        measure.row(f"{who} without its end", statistics.median(values), "% of one CPU")


def report(storms):
    print_cpu(storms)
    for who, rates in storms.rates.items():
        if rates:
            measure.row(f"execs per second, {who} watching", statistics.median(rates), "/s",
                        f">= {LEAST_RATE:.0f}", LEAST_RATE, True)
            measure.row(f"all CPU time of the machine, {who} watching", statistics.median(storms.busy[who]),
                        "% of one CPU")
    sessions.print_tally("agent in the storm", storms.tally)
    sessions.print_images("agent in the storm", storms.images, storms.tally.all)
    for name, number in storms.lost.items():
        measure.row("agent in the storm: " + name, number, "", "0", 0)


def main():
    measure.begin()
    storms = Storms(SECONDS)
    order = [storms.under_nobody, storms.under_agent] + ([storms.under_perf] if PERF else [])
    for _ in range(ROUNDS):
        for under in order:
            under()
        order.reverse()
    report(storms)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of the agent over a long day: an hour of churn at 49 Hz, then five minutes of rest.

    bench_days.py [--minutes N] [--rest N]

The churn: a program of each language that is installed runs on and makes new functions; short ones of each are started
again and again; C is built; a program that nobody has seen before is compiled, run and removed; small tools are
forked, tens a second. The agent has the sample configuration, an output for pprof and one for OTLP, whose receiver
is here. Each 30 s RSS, what of it is BPF's, and the agent's own counters are noted on stderr: names of owners come from
its text. All of the load is at nice 10, and takes what CPU time there is.

Flat: the highest RSS of the last quarter beside that of minutes 10 to 20, or of the second quarter in a shorter run.
"""
import argparse
import os
import signal
import statistics
import sys
import tempfile
import time

import fleet
import loads
import measure
from bench_memory import rss_of_maps

sys.path.append(os.path.join(measure.ROOT, "tests", "otlp"))
import server  # noqa: E402

FREQ = 49
STEP = 30  # s
PATIENCE = 120  # s, for its counters, where much else is to be done
MIB = 1 << 20
FLAT = 2 * MIB  # RSS that two looks at the same state may differ by: pages of files, a batch under way
OUTPUT = """
[[exporter]]
type = "otlp"
interval = "5s"
endpoint = "{url}"
"""

# 60 functions with names of their own.
UNSEEN = """i=0
while :; do
    i=$((i + 1))
    {{ for j in $(seq 60); do echo "__attribute__((noinline)) unsigned unseen_${{i}}_$j(unsigned n) {{
        for (unsigned k = 0; k < 100000; k++) n = n * 31 + (n >> 3) + $j; return n; }}"; done
      echo "int main(int c, char **v) {{ unsigned n = c;"
      for j in $(seq 60); do echo "for (int r = 0; r < 8; r++) n += unseen_${{i}}_$j(n);"; done
      echo "return n == 1; }}"; }} >{directory}/unseen.c
    gcc -O1 -o {directory}/unseen-$i {directory}/unseen.c && {directory}/unseen-$i
    rm -f {directory}/unseen-$i
    sleep 1
done"""
TOOLS = "while :; do i=0; while [ $i -lt 40 ]; do i=$((i + 1)); /bin/true; done; ls -lR /etc | sort | wc; sleep 1; done"


def scripts_of(directory):
    """Shell texts, each of which runs until it is killed."""
    project = os.path.join(directory, "project")
    os.makedirs(project)
    loads.write_project(project)
    yield fleet.again(f"make -s -C {project} clean program", 1)
    yield UNSEEN.format(directory=directory)
    yield TOOLS
    yield from fleet.churn(directory)


class Load:
    """Processes in a session each: what they started ends with them."""

    def __init__(self, procs, directory):
        self.started = [procs.start(["nice", "-n", "10", "sh", "-c", text], start_new_session=True)
                        for text in scripts_of(directory)]

    def end(self):
        for process in self.started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def swallow(connection, _):
    """Takes all requests, keeps none."""
    http = server.Http2(connection)
    while True:
        stream = http.next_request()
        http.bodies.pop(stream, None)
        http.answer(stream)


class Agent(measure.Agent):
    """With a second output."""

    def config(self):
        self.receiver = server.Server(swallow)
        text = super().config().replace('enable = ["pprof"]', 'enable = ["pprof", "otlp"]')
        return text + OUTPUT.format(url=self.receiver.url)


class Watch:
    """What was seen, each STEP seconds."""

    def __init__(self, agent):
        self.agent, self.start, self.seen = agent, time.monotonic(), []

    def look(self):
        pid = self.agent.proc.pid
        status, counters = measure.status_bytes(pid), self.agent.counters(PATIENCE)
        minute = (time.monotonic() - self.start) / 60
        self.seen.append((minute, status["VmRSS"], rss_of_maps(pid), counters))
        owners = ", ".join(f"{name.replace('bytes of ', '').removeprefix('heap: ')} {value / MIB:.1f}"
                           for name, value in counters.items()
                           if name.startswith(("bytes", "heap: ")) and value >= MIB // 20)
        measure.note(f"minute {minute:.1f}: RSS {status['VmRSS'] / MIB:.1f} (anonymous {status['RssAnon'] / MIB:.1f}, maps "
                     f"{self.seen[-1][2] / MIB:.1f}), {counters['processes known']} processes, "
                     f"{counters['executables known']} executables; MiB of {owners}")

    def go_on(self, minutes):
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            time.sleep(max(0, min(STEP, end - time.monotonic())))
            self.look()

    def highest(self, first, last):
        return max(rss for minute, rss, *_ in self.seen if first <= minute <= last + 0.1)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("EBPF_PROFILER_BENCH_MINUTES", "60")))
    parser.add_argument("--rest", type=float, default=5)
    return parser.parse_args()


def report(watch, minutes, rest):
    settled = min(10, minutes / 4)
    early, late = watch.highest(settled, 2 * settled), watch.highest(minutes * 3 / 4, minutes)
    for mark in sorted({1, settled, minutes / 2, minutes}):
        minute, rss, maps, _ = min(watch.seen, key=lambda look: abs(look[0] - mark))
        measure.row(f"RSS, minute {minute:.0f} of churn; of it BPF maps", f"{rss / MIB:.1f}; {maps / MIB:.1f}", "MiB")
    measure.row(f"highest RSS from minute {settled:.0f} on", watch.highest(settled, minutes) / MIB, "MiB", "<= 40", 40)
    measure.row(f"the last quarter's highest RSS beside that of minutes {settled:.0f} to {2 * settled:.0f}",
                (late - early) / MIB, "MiB", f"<= {FLAT // MIB}", FLAT / MIB)
    _, rss, maps, counters = watch.seen[-1]
    measure.row(f"RSS {rest:.0f} min after the load ended", rss / MIB, "MiB", "<= 20", 20)
    measure.row("of it BPF maps", maps / MIB, "MiB")
    for name in ("forks", "execs", "samples taken", "samples lost", "processes known", "executables known"):
        measure.row("agent's counter: " + name, counters[name], "")
    heap = [look[3]["bytes of heap"] / MIB for look in watch.seen if look[0] <= minutes]
    measure.row("heap under churn, median", statistics.median(heap), "MiB")


def main():
    arguments = parse_arguments()
    measure.begin()
    with tempfile.TemporaryDirectory(prefix="bench-days-") as directory, measure.Procs() as procs:
        load = Load(procs, directory)
        with Agent(procs, FREQ, interval="60s") as agent:
            agent.wait_sampling()
            watch = Watch(agent)
            watch.go_on(arguments.minutes)
            load.end()
            watch.go_on(arguments.rest)
            report(watch, arguments.minutes, arguments.rest)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to change the configuration of an agent that samples.

An agent at 999 Hz has its file changed again and again, each time its rate, its filter or its exporter, and is told by
SIGHUP; another one beside it, which sees the same machine, is left alone. Both write pprof files, of which each says how
many ticks were lost. Two programs keep the machine busy. EBPF_PROFILER_BENCH_CHANGES (1000) in
EBPF_PROFILER_BENCH_MINUTES (10).
"""
import contextlib
import glob
import os
import re
import signal
import sys
import tempfile
import time

import measure

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "kit"))
import stacks  # noqa: E402  of the kit

CHANGES = int(os.environ.get("EBPF_PROFILER_BENCH_CHANGES", "1000"))
MINUTES = float(os.environ.get("EBPF_PROFILER_BENCH_MINUTES", "10"))
WARM = 20  # changes, before memory and descriptors are looked at


class Reloaded(measure.Agent):
    """Its configurations come one after the other; number 0 is that of the one left alone."""

    def config(self, number=0):
        self.output = os.path.join(self.directory.name, f"out{number // 3 % 2}")
        os.makedirs(self.output, 0o700, exist_ok=True)
        freq = 999 if number % 3 == 0 else 998
        chosen = '[filter]\ncomm = ["!no-such-program"]\n' if number % 3 == 1 else ""
        return (f'[sampling]\nfreq = {freq}\n[plugins]\nenable = ["pprof"]\ndir = "{measure.PLUGINS}"\n{chosen}'
                f'[[exporter]]\ntype = "pprof"\ninterval = "20s"\nkeep = 100000\ndirectory = "{self.output}"\n')

    def change(self, number):
        with open(os.path.join(self.directory.name, "profiler.toml"), "w", encoding="utf-8") as file:
            file.write(self.config(number))
        self.proc.send_signal(signal.SIGHUP)

    def rss_kib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", measure.read_text(f"/proc/{self.proc.pid}/status")).group(1))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.proc.pid}/fd"))

    def collect(self, found):
        """(samples, lost) of the files that are there now, which go."""
        for path in glob.glob(os.path.join(self.directory.name, "out*", "profile-*.pb.gz")):
            comments = " ".join(stacks.read_profile(path).comments)
            samples, lost = re.search(r"samples: (\d+) at \d+ Hz, (\d+) lost", comments).groups()
            found[0] += int(samples)
            found[1] += int(lost)
            os.unlink(path)


def main():
    busy = [sys.executable, "-c", "while True: pass"]
    found, alone = [0, 0], [0, 0]
    with measure.Procs() as procs, Reloaded(procs, 999) as agent, Reloaded(procs, 999) as other:
        for _ in range(2):
            procs.start(["nice", *busy])
        agent.wait_sampling()
        other.wait_sampling()
        rss, descriptors, begun = 0, 0, time.monotonic()
        for number in range(1, CHANGES + 1):
            agent.change(number)
            with contextlib.suppress(ValueError):
                time.sleep(begun + number * MINUTES * 60 / CHANGES - time.monotonic())
            if number == WARM:
                time.sleep(5)  # what has ended is closed
                rss, descriptors = agent.rss_kib(), agent.descriptors()
            if number % 50 == 0:
                agent.collect(found)
        time.sleep(5)
        grown = agent.rss_kib() - rss, agent.descriptors() - descriptors
        taken = len(re.findall(r"sampling at \d+ Hz", agent.text())) - 1
        cost = measure.cpu_seconds(agent.proc.pid), measure.cpu_seconds(other.proc.pid)
        agent.stop()
        other.stop()
        agent.collect(found)
        other.collect(alone)
    for name, (samples, lost) in (("changed", found), ("left alone", alone)):
        measure.row(f"{name}: samples lost, of {samples} and those", 100 * lost / (samples + lost), "%")
    measure.row(f"SIGHUPs {CHANGES}: configurations that took over", taken, "")
    measure.row("RSS grown since the 20th change", grown[0] / 1024, "MiB")
    measure.row("descriptors more", grown[1], "", "0", 0)
    measure.row("CPU time of a change", 1000 * (cost[0] - cost[1]) / taken, "ms")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time from the start of the agent to its first sample, with 50 idle and 2 busy processes.

The first run of its BPF program is seen from outside: the kernel counts runs (bpf_stats), and the count
is read each millisecond from before the agent is started. The first complete sample (not of itself)
is told by the agent at debug level, by the clock that this bench starts it with. Medians of runs, caches
warm.
"""
import statistics
import tempfile
import time

import bpfprogs
import fleet
import measure

RUNS = 9
PATTERN = r"first complete sample at (\d+) ns, pid (\d+)"


def first_sample_ms(freq):
    with measure.Procs() as procs, measure.Agent(procs, freq, verbose=2) as agent:
        match = agent.wait_for(PATTERN, 20)
        agent.proc.kill()
    return (int(match[1]) - agent.start_ns) / 1e6


def first_run_ms(freq):
    """From before the agent's fork and exec until its sampling program has run; others' do not count."""
    watch, others = bpfprogs.Watch(), set()
    with measure.Procs() as procs, measure.Agent(procs, freq) as agent:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            ran = watch.ran() - others
            now_ns = time.monotonic_ns()
            if ran and ran & bpfprogs.ids_of(agent.proc.pid):
                break
            others |= ran
            time.sleep(0.001)
        else:
            raise SystemExit(f"no sampling program ran in 20 s:\n{agent.text()[-2000:]}")
        agent.proc.kill()
    watch.close()
    return (now_ns - agent.start_ns) / 1e6


def print_times(what, freq, bar, sign, measure_one):
    times = sorted(measure_one(freq) for _ in range(RUNS))
    measure.note(f"{what}, {freq} Hz: " + " ".join(f"{ms:.0f}" for ms in times))
    measure.row(f"{what}, 52 processes, {freq} Hz, median of {RUNS}", statistics.median(times), "ms",
                f"{sign} {bar}", bar)
    measure.row("the same, best and worst", f"{times[0]:.0f} to {times[-1]:.0f}", "ms")


def main():
    measure.begin()
    with measure.Procs() as procs, tempfile.TemporaryDirectory() as directory:
        fleet.start_sleepers(procs, 50, directory)
        fleet.start_busy(procs)
        time.sleep(3)
        with measure.bpf_stats():
            for freq in (999, 20):
                print_times("process start to first BPF run", freq, 150, "<=", first_run_ms)
        for freq in (999, 20):
            print_times("start to first complete sample", freq, 300, "<", first_sample_ms)


if __name__ == "__main__":
    main()

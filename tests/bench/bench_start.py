#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time from the start of the agent to the first complete sample, with 50 idle and 2 busy processes.

The agent says at debug level when its first complete sample (not of itself) was taken, by the clock
that this bench starts it with. Medians of runs, caches warm.
"""
import statistics
import tempfile
import time

import fleet
import measure

RUNS = 9
PATTERN = r"first complete sample at (\d+) ns, pid (\d+)"


def first_sample_ms(freq):
    with measure.Procs() as procs, measure.Agent(procs, freq, verbose=2) as agent:
        match = agent.wait_for(PATTERN, 20)
        agent.proc.kill()
    return (int(match[1]) - agent.start_ns) / 1e6


def main():
    measure.begin()
    with measure.Procs() as procs, tempfile.TemporaryDirectory() as directory:
        fleet.start_sleepers(procs, 50, directory)
        fleet.start_busy(procs)
        time.sleep(3)
        for freq, bar in ((999, 300), (20, 300)):
            times = sorted(first_sample_ms(freq) for _ in range(RUNS))
            measure.note(f"{freq} Hz: " + " ".join(f"{ms:.0f}" for ms in times))
            measure.row(f"start to first complete sample, 52 processes, {freq} Hz, median of {RUNS}",
                        statistics.median(times), "ms", f"< {bar}", bar)
            measure.row("the same, best and worst", f"{times[0]:.0f} to {times[-1]:.0f}", "ms")


if __name__ == "__main__":
    main()

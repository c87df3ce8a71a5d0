#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent costs by itself, when there is nothing or little to do: CPU time and wake-ups.

The agent runs with the sample configuration, at 20 Hz and an interval of a minute. After it has settled
its CPU time is the scheduler's (schedstat), its wake-ups are the times its threads gave up the CPU to
wait for something (voluntary_ctxt_switches). This bench starts no process meanwhile, and reads a few
files in /proc every five seconds. What others on the machine started is told beside, for the agent has
to look at each of them; the bar of the wake-ups is of the windows in which nobody forked.
"""
import os
import re
import subprocess
import time

import measure

SETTLE = float(os.environ.get("EBPF_PROFILER_BENCH_SETTLE", "15"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "60"))  # an interval, so one batch is in it
WINDOW = 5
SLEEPERS = 3000


def wakeups(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            status = measure.read_text(f"/proc/{pid}/task/{task}/status")
        except FileNotFoundError:
            continue
        total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M)[1])
    return total


def forks():
    """Of the whole machine since it runs, threads among them."""
    return int(re.search(r"^processes (\d+)", measure.read_text("/proc/stat"), re.M)[1])


def watch(agent):
    """(wake-ups, forks) of each window."""
    windows, last = [], (wakeups(agent.proc.pid), forks())
    for _ in range(max(1, round(SECONDS / WINDOW))):
        time.sleep(WINDOW)
        now = (wakeups(agent.proc.pid), forks())
        windows.append((now[0] - last[0], now[1] - last[1]))
        last = now
    return windows


def report_wakeups(name, windows, bar):
    quiet = [woken for woken, forked in windows if forked == 0]
    text = f"{name}: wake-ups while nobody forks"
    if quiet:
        measure.row(f"{text}, {len(quiet)} of {len(windows)} windows of {WINDOW} s",
                    sum(quiet) / len(quiet) / WINDOW, "/s", f"<= {bar}", bar)
    else:
        measure.skip_row(text, f"somebody forked in each window of {WINDOW} s")


def observe(agent, counters_first):
    """Its own counters come first, and at the end last: telling them costs it time, which is not to be measured."""
    counters = agent.counters() if counters_first else None
    time.sleep(0.2)
    pid = agent.proc.pid
    found = {"cpu": measure.cpu_seconds(pid), "wakeups": wakeups(pid), "time": time.monotonic(),
             "loop": measure.cpu_seconds(pid, pid)}
    return dict(found, counters=counters or agent.counters())


def report(name, before, after, ms_bar):
    seconds = after["time"] - before["time"]
    measure.row(f"{name}: agent CPU", 1000 * (after["cpu"] - before["cpu"]) / seconds, "ms/s",
                f"<= {ms_bar}", ms_bar)
    measure.row("of it in the loop", 1000 * (after["loop"] - before["loop"]) / seconds, "ms/s")
    measure.row(f"{name}: wake-ups", (after["wakeups"] - before["wakeups"]) / seconds, "/s")
    for counter in ("samples taken", "forks", "execs"):
        measure.row("meanwhile: " + counter,
                    (after["counters"][counter] - before["counters"][counter]) / seconds, "/s")


def bench(name, procs, ms_bar, wakeups_bar=None):
    with measure.Agent(procs, 20, interval="60s") as agent:
        agent.wait_sampling()
        time.sleep(SETTLE)
        before = observe(agent, True)
        windows = watch(agent)
        after = observe(agent, False)
    if any(proc.poll() is not None for proc in procs.all if proc is not agent.proc):
        raise SystemExit(f"{name}: a program that was to run has ended")
    report(name, before, after, ms_bar)
    if wakeups_bar:
        report_wakeups(name, windows, wakeups_bar)


def main():
    measure.begin()
    with measure.Procs() as procs:
        bench("idle machine", procs, 1.5, 3)
    with measure.Procs() as procs:
        for cpu in measure.cpu_list():
            procs.start([measure.program("coststack"), "many", "0"], {cpu})
        bench("all CPUs busy, 20 Hz", procs, 3)
    with measure.Procs() as procs:
        sleepers = procs.start([measure.program("sleepers"), str(SLEEPERS)], stdout=subprocess.PIPE)
        if sleepers.stdout.readline() != b"ready\n":
            raise SystemExit("sleepers did not start")
        bench(f"{SLEEPERS} sleeping processes", procs, 1.5)
        sleepers.stdout.close()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent costs by itself, when there is nothing or little to do: CPU time and wake-ups.

The agent runs with the sample configuration, at 20 Hz and an interval of a minute. After it has settled
its CPU time is the scheduler's (schedstat), its wake-ups are the times its threads gave up the CPU to
wait for something (voluntary_ctxt_switches). This bench sleeps meanwhile: it starts no process and
reads nothing. What others on the machine started meanwhile is told beside, for the agent has to look
at each of them.
"""
import os
import re
import subprocess
import time

import measure

SETTLE = float(os.environ.get("EBPF_PROFILER_BENCH_SETTLE", "15"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "60"))  # an interval, so one batch is in it
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


def observe(agent):
    """Its own counters come first: telling them costs it time, which is not to be measured."""
    counters = agent.counters()
    time.sleep(0.2)
    pid = agent.proc.pid
    return {"cpu": measure.cpu_seconds(pid), "wakeups": wakeups(pid), "time": time.monotonic(),
            "loop": measure.cpu_seconds(pid, pid), "counters": counters}


def observe_end(agent):
    """The other way round."""
    pid = agent.proc.pid
    found = {"cpu": measure.cpu_seconds(pid), "wakeups": wakeups(pid), "time": time.monotonic(),
             "loop": measure.cpu_seconds(pid, pid)}
    return dict(found, counters=agent.counters())


def report(name, before, after, ms_bar, wakeups_bar=None):
    seconds = after["time"] - before["time"]
    measure.row(f"{name}: agent CPU", 1000 * (after["cpu"] - before["cpu"]) / seconds, "ms/s",
                f"<= {ms_bar}", ms_bar)
    measure.row("of it in the loop", 1000 * (after["loop"] - before["loop"]) / seconds, "ms/s")
    measure.row(f"{name}: wake-ups", (after["wakeups"] - before["wakeups"]) / seconds, "/s",
                f"<= {wakeups_bar}" if wakeups_bar else "", wakeups_bar)
    for counter in ("samples taken", "forks", "execs"):
        measure.row("meanwhile: " + counter,
                    (after["counters"][counter] - before["counters"][counter]) / seconds, "/s")


def bench(name, procs, ms_bar, wakeups_bar=None):
    with measure.Agent(procs, 20, interval="60s") as agent:
        agent.wait_sampling()
        time.sleep(SETTLE)
        before = observe(agent)
        time.sleep(SECONDS)
        after = observe_end(agent)
    if any(proc.poll() is not None for proc in procs.all if proc is not agent.proc):
        raise SystemExit(f"{name}: a program that was to run has ended")
    report(name, before, after, ms_bar, wakeups_bar)


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

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of the agent with the sample config after a minute at 20 Hz, 100 processes running.

RSS is what the kernel says (VmRSS). BPF memory is the memlock of every map the agent has, those of the
delta store's chunks among them by its own counter. What the agent maps of it is in both: the sum
leaves that part of RSS out, and a row tells how much it is.
"""
import os
import re
import tempfile
import time

import fleet
import measure

PROCESSES = 100
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "60"))
MIB = 1 << 20
MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ ")


def rss_of_maps(pid):
    """Bytes of RSS that are BPF maps, which the process has mapped."""
    size, is_map = 0, False
    for line in measure.read_text(f"/proc/{pid}/smaps").splitlines():
        if MAPPING.match(line):
            is_map = "bpf-map" in line or "bpf_map" in line
        elif is_map and line.startswith("Rss:"):
            size += int(line.split()[1]) * 1024
    return size


def map_bytes(pid):
    """Memory of the BPF maps that the agent holds a descriptor of."""
    maps = {info["map_id"]: int(info["memlock"]) for info in measure.fdinfo(pid) if "map_type" in info}
    return sum(maps.values())


def count_processes():
    """Processes with an address space of their own, that is without kernel threads."""
    found = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += bool(os.readlink(f"/proc/{name}/exe"))
        except OSError:
            pass
    return found


def report(agent):
    pid = agent.proc.pid
    counters = agent.counters()
    status, shared = measure.status_bytes(pid), rss_of_maps(pid)
    bpf = max(counters["bytes of BPF memory"], map_bytes(pid))
    rss = status["VmRSS"]
    measure.row(f"RSS, {count_processes()} processes, {SECONDS:.0f} s at 20 Hz", rss / MIB, "MiB",
                "<= 30", 30)
    measure.row("RSS + BPF memory", (rss - shared + bpf) / MIB, "MiB", "<= 64", 64)
    measure.row("BPF memory", bpf / MIB, "MiB")
    measure.row("of it mapped by the agent, in RSS too", shared / MIB, "MiB")
    measure.row("RSS without that", (rss - shared) / MIB, "MiB")
    measure.row("highest RSS so far", status["VmHWM"] / MIB, "MiB")
    measure.row("RSS: anonymous", status["RssAnon"] / MIB, "MiB")
    measure.row("RSS: of files", (status["RssFile"] + status.get("RssShmem", 0)) / MIB, "MiB")
    for name in ("bytes of heap", "bytes of it in unwind tables",
                 *(name for name in counters if name.startswith("heap: "))):
        measure.row("agent's counter: " + name, counters[name] / MIB, "MiB")
    for name in ("processes known", "executables known"):
        measure.row("agent's counter: " + name, counters[name], "")


def main():
    measure.begin()
    with measure.Procs() as procs, tempfile.TemporaryDirectory() as directory:
        pipe = fleet.start_sleepers(procs, PROCESSES - 2, directory)
        fleet.start_busy(procs)
        time.sleep(3)
        with measure.Agent(procs, 20, interval="10s") as agent:
            agent.wait_sampling()
            time.sleep(SECONDS)
            report(agent)
        os.close(pipe)


if __name__ == "__main__":
    main()

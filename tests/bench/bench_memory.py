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
MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ (\S+) \S+ \S+ \d+ *(.*)$")


def kind_of(flags, path):
    if "bpf-map" in path or "bpf_map" in path:
        return "BPF maps"
    if "perf_event" in path:
        return "perf buffers"
    if path.startswith("[heap]"):
        return "heap ([heap])"
    if path.startswith("[stack"):
        return "main stack"
    if path.startswith("/memfd:") or path.startswith("/dev/"):
        return "memfd"
    if path.startswith("/"):
        file = os.path.basename(path)
        private = "data of" if "w" in flags else "text of"
        if ".so" not in file and file != "ebpf-profiler":
            return f"mapped file {file}"
        return f"{private} " + ("libraries" if ".so" in file else file)
    return "anonymous mappings (thread stacks and arenas, large malloc)"


def breakdown(pid):
    """{kind: bytes of RSS}"""
    sizes, kind = {}, ""
    for line in measure.read_text(f"/proc/{pid}/smaps").splitlines():
        match = MAPPING.match(line)
        if match:
            kind = kind_of(match[1], match[2])
        elif line.startswith("Rss:"):
            sizes[kind] = sizes.get(kind, 0) + int(line.split()[1]) * 1024
    return {kind: size for kind, size in sizes.items() if size}


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
    status, parts = measure.status_bytes(pid), breakdown(pid)
    shared = parts.get("BPF maps", 0)
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
    for kind, size in sorted(parts.items(), key=lambda item: -item[1]):
        if size >= 100 << 10:
            measure.row(f"RSS: {kind}", size / MIB, "MiB")
    for name in ("bytes of heap", "bytes of it in unwind tables", "bytes of symbol tables",
                 "bytes of traces and names"):
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

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time of samples whose traces are new, of programs that are young: loops of short Pythons, before and after the
keepers of one agent were taken out of its programs' array. All that a sample costs is charged to its first program."""
import ctypes
import statistics
import struct
import sys
import time

import bpfprogs
import commands
import measure

MAP_DELETE_ELEM, MAP_GET_FD_BY_ID = 3, 14  # linux/bpf.h, enum bpf_cmd
TYPE_PROG_ARRAY = "3"                      # enum bpf_map_type
HZ, SECONDS, TURNS, BAR = 499, 5, 4, 40


def remove_keepers(pid):
    """The upper half of the array is theirs (ebpf-profiler/bpf/internal/record.h)."""
    arrays = {info["map_id"]: int(info["max_entries"]) for info in measure.fdinfo(pid)
              if info.get("map_type") == TYPE_PROG_ARRAY}
    removed = 0
    for number, n in arrays.items():
        fd = bpfprogs.bpf(MAP_GET_FD_BY_ID, ctypes.create_string_buffer(struct.pack("=III", int(number), 0, 0)))
        for key in range(n // 2, n):
            word = ctypes.create_string_buffer(struct.pack("=I", key))
            attributes = struct.pack("=IIQQQ", fd, 0, ctypes.addressof(word), 0, 0)
            removed += bpfprogs.bpf(MAP_DELETE_ELEM, ctypes.create_string_buffer(attributes)) is not None
    if removed == 0:
        sys.exit("the agent has no keeper")


def per_sample_us(agent):
    before = measure.bpf_cost(agent.proc.pid)[0]
    time.sleep(SECONDS)
    return 1e6 * (measure.bpf_cost(agent.proc.pid)[0] - before) / (HZ * SECONDS)


def turn(command):
    """(us with keepers, us without) of one agent."""
    with measure.Procs() as procs, measure.Agent(procs, HZ, interval="60s") as agent:
        agent.wait_sampling()
        procs.start(command).wait()  # the language is met, its keeper loaded
        time.sleep(3)
        procs.start(["sh", "-c", commands.loop(command, 2 * SECONDS + 3)], cpus=measure.cpu_list()[:1])
        time.sleep(1)
        kept = per_sample_us(agent)
        remove_keepers(agent.proc.pid)
        return kept, per_sample_us(agent)


def main():
    measure.begin()
    with measure.bpf_stats():
        for text in "1", "import json,re,subprocess":
            turns = [turn([sys.executable, "-c", text]) for _ in range(TURNS)]
            more = statistics.median(100 * (kept / without - 1) for kept, without in turns)
            measure.row(f"python3 -c {text}: a sample, without keepers",
                        statistics.median(without for _, without in turns), "us")
            measure.row("with keepers: more than that", more, "%", f"<= {BAR}", BAR)


if __name__ == "__main__":
    main()

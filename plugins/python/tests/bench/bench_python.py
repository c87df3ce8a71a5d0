#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The short benches of Python: see tests/kit/benches.py. EBPF_PROFILER_BENCH_PYTHON: minor releases of `bpf`."""
import ctypes
import glob
import os
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import benches
import beside
import bpfprogs
import commands
import over_budget
import language
import measure
import names
import pythons
import slopes
import stacks

MINORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_PYTHON", "6 7 8 9 10 11 12 13 14 15").split()]
DEPTHS = 20, 220
FRAMES_PER_RUN = 40
BAR = 200       # ns
HOSTILE_SECONDS = 15
KEEPER_HZ, KEEPER_SECONDS, KEEPER_BAR = 499, 5, 40
MAP_DELETE_ELEM, MAP_GET_FD_BY_ID = 3, 14  # linux/bpf.h, enum bpf_cmd
TYPE_PROG_ARRAY = "3"                      # enum bpf_map_type
PROGRAM = """
import sys
def spin():
    print("ready", flush=True)
    while True:
        pass
def call(depth):
    if depth == 0:
        spin()
    call(depth - 1)
call(int(sys.argv[1]))
"""


def bench_agent():
    beside.rows("a busy Python", [sys.executable, pythons.WORKLOAD, "burn", "1000"], 20, 1.5)


def bench_bpf():
    """
    From 3.11 on a call from Python to Python makes no native frame, so the slope is Python's alone. Before, each call
    has its native frames, which are walked too: there the price is that of all frames of a call, divided by their number.
    """
    found = [r for r in pythons.LANGUAGE.find() if not {"freethreaded", "debug"} & set(r.flavors)]
    slopes.bench("python", list(language.first_of_each(found, lambda r: r.numbers[1], MINORS).values()), DEPTHS,
                 lambda runtime, _: [(f"Python {runtime.version}", BAR, ["-c", PROGRAM])], FRAMES_PER_RUN)


def bench_names():
    names.bench("python", "code object", 50, 1)


# --- programs that are gone when names are read --------------------------------------------------------

# Each function is new, runs for some microseconds, and has a long name, as has its file; for most of its first second.
HOSTILE = """
import time
end = time.time() + 0.9
number = 0
while time.time() < end:
    number += 1
    name = "f%d_" % number + "n" * 200
    exec(compile("def %s():\\n for i in range(300): pass\\n%s()\\n" % (name, name), "/%s.py" % ("p" * 200), "exec"), {})
"""


def hostile():
    """Two CPUs of such programs."""
    program = shlex.join([sys.executable, "-c", HOSTILE])
    loop = f"for i in 1 2 3 4 5 6; do {program}; done"
    with tempfile.TemporaryDirectory() as directory:
        counters = measure.record(["-F", "999", "-o", os.path.join(directory, "out.pb.gz")],
                                  ["sh", "-c", f"({loop}) & ({loop}); wait"])
    measure.row("programs of new functions alone, 999 Hz: samples dropped", counters["samples dropped: ring buffer full"],
                "samples", "0", 0)
    measure.row("heap of the profiler", counters["bytes of heap"] / 1e6, "MB")


MODULES = ("json re subprocess argparse collections csv dataclasses datetime decimal difflib enum fnmatch fractions "
           "functools gzip hashlib heapq html inspect ipaddress itertools logging os pathlib pickle pprint queue random "
           "shlex shutil socket sqlite3 statistics string tempfile textwrap threading tokenize typing uuid").split()
# %s: two of these, a number, the first of these
TEST = """import unittest
import %s, %s
class Test%d(unittest.TestCase):
    def test_names(self):
        self.assertTrue(sorted(dir(%s)))
    def test_text(self):
        self.assertEqual(len(repr(list(range(200)))), 890)
unittest.main()
"""


def write_tests(directory):
    for i in range(200):
        two = MODULES[i % len(MODULES)], MODULES[(7 * i + 3) % len(MODULES)]
        with open(os.path.join(directory, f"test_{i}.py"), "w", encoding="utf-8") as file:
            file.write(TEST % (*two, i, two[0]))
    return f"cd {directory}; for t in test_*.py; do {sys.executable} $t 2>/dev/null; done"


def bench_commands():
    """`python3 -c 1` and three imports, of each minor there is; tests, five imports, and what is hostile."""
    hostile()
    with tempfile.TemporaryDirectory() as directory:
        commands.script_row("200 test programs", write_tests(directory), 97)
    commands.alone("python3, five imports", [sys.executable, "-c", "import os,json,re,subprocess,asyncio"], 98)
    found = {runtime.numbers[:2]: runtime for runtime in pythons.LANGUAGE.find()
             if not runtime.root and "debug" not in runtime.flavors}
    for _, runtime in sorted(found.items()):
        for text in "1", "import json,re,subprocess":
            cost_bar = 3 if runtime.numbers[:2] == sys.version_info[:2] and text == "1" else None
            commands.rows(f"Python {runtime.version}, {text}", runtime.argv(["-c", text]), 98, cost_bar)


# --- beside what is hostile -----------------------------------------------------------------------------

class Agent(measure.Agent):
    """One that loads no program for another language that happens to run: this cannot be taken back at the end."""

    def config(self):
        return super().config().replace('#languages = ["all"]', 'languages = ["python"]')


def named_share(paths):
    """Of the neighbour's samples those that have a function of it."""
    named = total = 0
    for path in paths:
        for sample in stacks.read_profile(path).samples:
            if sample.labels.get("thread_name") == "neighbour":
                total += sample.count
                named += sample.count * any(frame.name.startswith("neighbour_") for frame in sample.frames)
    return named, total


def bench_hostile():
    """
    What four hostile processes cost their neighbours: each sample of theirs has new frames, and the line table of each
    function is a megabyte. Beside them a Python wants its names, short programs have /proc read, and the agent ends.
    """
    with tempfile.TemporaryDirectory() as directory, measure.Procs() as procs:
        python = os.path.join(directory, "neighbour")
        os.symlink(os.path.realpath(sys.executable), python)
        with Agent(procs, 99, interval="5s") as agent:
            agent.wait_sampling()
            for _ in range(4):
                procs.start([sys.executable, "-c", pythons.GREEDY])
            time.sleep(2)
            neighbour = procs.start([python, "-c", over_budget.NEIGHBOUR], stdin=subprocess.PIPE)
            neighbour.stdin.write(b"\n")
            neighbour.stdin.flush()
            procs.start(["/bin/sh", "-c", "while :; do sleep 0.02; /bin/sleep 0.01; done"])
            time.sleep(HOSTILE_SECONDS)
            counters = agent.counters()
            begin = time.monotonic()
            agent.proc.terminate()
            agent.proc.wait(120)
            took = time.monotonic() - begin
            named, total = named_share(sorted(glob.glob(agent.directory.name + "/*.pb.gz")))
        late = counters.get("process reads that waited more than 50 ms for a worker", 0)
        measure.row("hostile: the agent ends", took, "s", "<= 1", 1)
        measure.row("hostile: /proc reads that wait more than 50 ms", 100 * late / max(counters["processes read"], 1),
                    "%", "<= 1", 1)
        measure.row("hostile: samples over the interval's limit", counters["samples over the interval's limit"], "")
        measure.row("hostile: /proc reads", counters["processes read"], "")
        measure.row("hostile: the neighbour's samples with names", 100 * named / max(total, 1), "%", ">= 95", 95,
                    at_least=True)
        measure.row("hostile: the neighbour's samples", total, "")
        measure.row("hostile: CPU used by the agent", counters["ms of CPU used by the agent"], "ms")


# --- keepers ----------------------------------------------------------------------------------------------

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
    time.sleep(KEEPER_SECONDS)
    return 1e6 * (measure.bpf_cost(agent.proc.pid)[0] - before) / (KEEPER_HZ * KEEPER_SECONDS)


def turn(command):
    """(us with keepers, us without) of one agent."""
    with measure.Procs() as procs, measure.Agent(procs, KEEPER_HZ, interval="60s") as agent:
        agent.wait_sampling()
        procs.start(command).wait()  # the language is met, its keeper loaded
        time.sleep(3)
        procs.start(["sh", "-c", commands.loop(command, 2 * KEEPER_SECONDS + 3)], cpus=measure.cpu_list()[:1])
        time.sleep(1)
        kept = per_sample_us(agent)
        remove_keepers(agent.proc.pid)
        return kept, per_sample_us(agent)


def bench_keeper():
    """
    BPF time of samples whose traces are new, of programs that are young: loops of short Pythons, before and after the
    keepers of one agent were taken out of its programs' array. All that a sample costs is charged to its first program.
    """
    with measure.bpf_stats():
        for text in "1", "import json,re,subprocess":
            turns = [turn([sys.executable, "-c", text]) for _ in range(4)]
            more = statistics.median(100 * (kept / without - 1) for kept, without in turns)
            measure.row(f"python3 -c {text}: a sample, without keepers",
                        statistics.median(without for _, without in turns), "us")
            measure.row("with keepers: more than that", more, "%", f"<= {KEEPER_BAR}", KEEPER_BAR)


if __name__ == "__main__":
    benches.main(globals())

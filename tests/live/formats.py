# SPDX-License-Identifier: Apache-2.0
"""What each file of one recording says, read by what is not ours: of each sample the innermost function, the innermost
function that has a line, with it, pid, comm, second, and CPU time in nanoseconds. Where a format has not, there is None.

Readers are written from the formats' own definitions. With a tool (go, flamegraph.pl, ..) it is the tool that reads.
"""
import base64
import collections
import decimal
import gzip
import json
import os
import re
import shutil
import subprocess

import otlp_rows

Row = collections.namedtuple("Row", "function place pid comm second ns")
UNNAMED = re.compile(r"\+0x[0-9a-f]+$|^0x[0-9a-f]+$")     # what has no name is called so


def place_of(frames):
    """The first (function, line) of those, leaf first, that has a line."""
    return next((frame for frame in frames if frame[1]), None)


def tool(name):
    """A script of FlameGraph or another program: in PATH, or in the directory that FLAMEGRAPH names."""
    return shutil.which(name) or shutil.which(name, path=os.environ.get("FLAMEGRAPH", ""))


# --- pprof, by go -------------------------------------------------------------------------------

SAMPLE = re.compile(r"^ +\d+ +(\d+): (\d+(?: \d+)*) *$")
LABEL = re.compile(r"(\w+):\[(.*?)\](?= \w+:\[|$)")
LOCATION = re.compile(r"^ +(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*)$")
INLINED = re.compile(r"^ {13,}(\S.*)$")
LINE = re.compile(r"^(.*?) (<[^>]*>|\S*?):(\d+)(?::\d+)? s=\d+(?:\(.*\))?$")   # <frozen x> is a file


def frame_of(text):
    function, _, line = LINE.match(text).groups()
    return function, int(line)


def frames_of_locations(text):
    """{location: [(function, line)]}, innermost first."""
    found = {}
    for line in text.split("\nMappings\n")[0].splitlines():
        location = LOCATION.match(line)
        if location:
            frames = found[location.group(1)] = [frame_of(location.group(2))]
        elif INLINED.match(line):
            frames.append(frame_of(INLINED.match(line).group(1)))
    return found


def read_pprof(path):
    text = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-raw", path], capture_output=True, text=True,
                          check=True).stdout
    samples, places = text.split("\nSamples:\n")[1].split("\nLocations\n")
    known = frames_of_locations(places)
    rows, labels = [], {}
    for line in reversed(samples.splitlines()):     # labels stand behind their sample
        found = SAMPLE.match(line)
        if found:
            pid = int(labels["pid"].removesuffix(" id"))
            frames = [frame for location in found.group(2).split() for frame in known[location]]
            rows.append(Row(frames[0][0], place_of(frames), pid, labels.get("comm"), None, int(found.group(1))))
            labels = {}
        else:
            labels.update(LABEL.findall(line.strip()))
    return rows


# --- the Firefox Profiler ---------------------------------------------------------------------

def check_firefox(profile):
    """Tables have equal columns, and every index is of a row."""
    shared = profile["shared"]
    for name, table in shared.items():
        if isinstance(table, dict):
            assert all(len(column) == table["length"] for key, column in table.items() if key != "length"), name
    frames, stack_table, funcs = shared["frameTable"], shared["stackTable"], shared["funcTable"]
    for column, rows in ((stack_table["frame"], frames["length"]), (frames["func"], funcs["length"]),
                         (frames["category"], len(profile["meta"]["categories"])),
                         (funcs["name"], len(shared["stringArray"])),
                         (shared["resourceTable"]["lib"], len(profile["libs"])),
                         (shared["resourceTable"]["name"], len(shared["stringArray"])),
                         (shared["sources"]["filename"], len(shared["stringArray"]))):
        assert all(0 <= index < rows for index in column)
    for column, rows in ((frames["nativeSymbol"], shared["nativeSymbols"]["length"]),
                         (funcs["source"], shared["sources"]["length"])):
        assert all(index is None or 0 <= index < rows for index in column)
    assert all(-1 <= index < shared["resourceTable"]["length"] for index in funcs["resource"])
    assert all(prefix is None or prefix < row for row, prefix in enumerate(stack_table["prefix"]))
    for thread in profile["threads"]:
        samples = thread["samples"]
        assert samples["time"] == sorted(samples["time"]) and samples["weightType"] == "tracing-ms"
        assert all(len(samples[key]) == samples["length"] for key in ("stack", "time", "weight", "threadCPUDelta"))


def frames_of_stack(shared, stack):
    frames, names = shared["frameTable"], shared["stringArray"]
    while stack is not None:
        frame = shared["stackTable"]["frame"][stack]
        yield names[shared["funcTable"]["name"][frames["func"][frame]]], frames["line"][frame] or 0
        stack = shared["stackTable"]["prefix"][stack]


def read_firefox(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        profile = json.load(file, parse_float=decimal.Decimal)
    check_firefox(profile)
    assert profile["meta"]["preprocessedProfileVersion"] == 61
    shared, start = profile["shared"], profile["meta"]["startTime"]
    rows = []
    for thread in profile["threads"]:
        samples = thread["samples"]
        for stack, time, weight in zip(samples["stack"], samples["time"], samples["weight"]):
            frames = list(frames_of_stack(shared, stack))
            rows.append(Row(frames[0][0], place_of(frames), int(thread["pid"].split(".")[0]), thread["processName"],
                            int((start + time) // 1000), int(weight * 1000000)))
    return rows


def threads_of_firefox(path):
    """How often there is each (pid, tid, name, time, weight, functions with their lines)."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        profile = json.load(file, parse_float=decimal.Decimal)
    check_firefox(profile)
    threads = collections.Counter()
    for thread in profile["threads"]:
        samples = thread["samples"]
        for stack, time, weight in zip(samples["stack"], samples["time"], samples["weight"]):
            frames = tuple(frames_of_stack(profile["shared"], stack))
            threads[thread["pid"], thread["tid"], thread["name"], time, weight, frames] += 1
    return threads


# --- folded stacks, and what perf script prints ------------------------------------------------

def rows_of_folded(text):
    for line in text.splitlines():
        stack, ns = line.rsplit(" ", 1)
        frames = stack.split(";")
        yield Row(re.sub(r"_\[[kij]\]$", "", frames[-1]), None, None, frames[0], None, int(ns))


def read_folded(path):
    with open(path, encoding="utf-8") as file:
        return list(rows_of_folded(file.read()))


HEAD = re.compile(r"^(\S.*?)\s+(\d+)/(\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\d+) cpu-clock:\s*$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.+) \((\S*)\)$")


def read_perf(path):
    rows = []
    with open(path, encoding="utf-8") as file:
        for block in file.read().split("\n\n"):
            lines = [line for line in block.splitlines() if line and not line.startswith("#")]
            if lines:
                head, frame = HEAD.match(lines[0]), FRAME.match(lines[1])
                assert all(map(FRAME.match, lines[1:])), block
                rows.append(Row(frame.group(2), None, int(head.group(2)), None, int(head.group(5)), int(head.group(7))))
    return rows


def read_collapsed(path):
    """By stackcollapse-perf.pl, as it tidies names: functions without what stands behind a parenthesis."""
    done = subprocess.run([tool("stackcollapse-perf.pl"), path], capture_output=True, text=True, check=True)
    return list(rows_of_folded(done.stdout))


# --- OTLP ---------------------------------------------------------------------------------------

def rows_of_otlp(data):
    return [Row(row.frames[0][0], place_of(row.frames), row.resource.get("process.pid"),
                row.resource.get("ebpf_profiler.process.comm"), ns // 1000000000, weight)
            for row in otlp_rows.rows(data)
            for ns, weight in zip(row.times_ns, row.values or [row.period_ns] * len(row.times_ns), strict=True)]


def read_otlp(path):
    with gzip.open(path, "rb") as file:
        return rows_of_otlp(file.read())


CARRIED = re.compile(r'<script type="application/octet-stream" id="profile">([^<]*)</script>')


def read_page(path):
    """What the page carries. That its tables show it is for the page's own tests."""
    with open(path, encoding="utf-8") as file:
        return rows_of_otlp(gzip.decompress(base64.b64decode(CARRIED.search(file.read()).group(1))))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Self and total shares of JavaScript functions, by us and by V8's own profiler (node --cpu-prof), in separate runs.

They take turns, since V8 makes other position tables when it profiles itself; what is counted is of all turns. A
share is within the margin when it is no further from the other than 3 standard deviations of what both counts allow
(binomial, pooled), and a quarter of a point, by which runs of one program differ. Functions are told by name and file.

What V8's profiler does otherwise is taken from both:
- its samples are of the main thread; ours of other threads are left out;
- (garbage collector), (program) and (idle) have no stack: ours of the collector, or without JavaScript, are left out;
- a builtin that is a function has a frame without a URL, any other and C++ none: both belong to their caller here;
- code that was interrupted itself is the function that it was compiled for, inlined ones are shown of callers alone
  (profiler/symbolizer.cc, SymbolizeTickSample, 12.4): of such a leaf ours are left out, too;
- a name is without its class, and without "new".
Two things cannot: where a leaf has no frame, its caller's is skipped (the same place says so), and the time is the
caller's caller's. And V8's samples are of time, ours of CPU time: in the collector the main thread waits for others.

EBPF_PROFILER_BENCH_NODE: majors; EBPF_PROFILER_BENCH_RUNS: turns; EBPF_PROFILER_BENCH_SECONDS: of each.
"""
import collections
import glob
import json
import os
import re
import sys
import types

import measure
import calls
import nodes
import benches
import real
import runs
import shares
import stacks

HERE = os.path.dirname(os.path.realpath(__file__))

MAJORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_NODE", "18 22 24").split()]
RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "8"))
SCRIPT = os.path.join(HERE, "programs", "shares.js")
RATE, INTERVAL = 499, 2000  # Hz; us
POINTS = 0.25
BAR = 95                    # percent of the shares
COLLECTOR = "(garbage collector)"
WORDS = re.compile(r"^((async|new|get|set|static) )+")


def key_of(name, source):
    name = WORDS.sub("", name).rpartition(".")[2]
    return name or "(anonymous)", os.path.basename(source)


class Counts:
    """Samples of the main thread that have JavaScript, by function; those of the collector apart."""

    def __init__(self):
        self.own, self.total, self.samples, self.collector = collections.Counter(), collections.Counter(), 0, 0

    def add(self, functions, count):
        """functions: leaf first."""
        self.samples += count
        self.own[functions[0]] += count
        for function in set(functions):
            self.total[function] += count

    def collector_share(self):
        return 100 * self.collector / max(1, self.collector + self.samples)


# --- by us ----------------------------------------------------------------------------------------

class Profile(stacks.LineProfile):
    """Frames are (frame, that of the function whose code it is in)."""

    def frames_of(self, location):
        frames = super().frames_of(location)
        return [(frame, frames[-1]) for frame in frames]


def functions_of(frames):
    """Of JavaScript, leaf first; of a leaf that was interrupted itself the function that its code is of."""
    user = frames[len(frames) - len(stacks.without_kernel([frame for frame, _ in frames])):]
    if user and calls.is_script(user[0][0]):
        inlined = next((i for i, (frame, code) in enumerate(user) if frame is code), 0)
        user = user[inlined:]
    return [key_of(frame.name, frame.source) for frame, _ in user if calls.is_script(frame)]


def by_us(runtime, words, counts, directory):
    idle = runtime.argv([os.path.join(calls.PROGRAMS, "idle.js")])
    path = os.path.join(directory, "ours.pb.gz")
    _, done = nodes.record(runtime.argv(words), path, sleeper=idle, frequency=RATE, timeout=300)
    samples = runs.not_of_sleeper(stacks.read_profile(path, Profile).samples, done)
    for sample in runs.process_of(samples):
        if sample.labels.get("tid") != sample.labels.get("pid"):
            continue
        functions = functions_of(sample.frames)
        if any(frame.name == COLLECTOR and not frame.file for frame, _ in sample.frames):
            counts.collector += sample.count
        elif functions:
            counts.add(functions, sample.count)


# --- by V8 ----------------------------------------------------------------------------------------

def by_v8(runtime, words, counts, directory):
    options = ["--cpu-prof", f"--cpu-prof-interval={INTERVAL}", "--cpu-prof-dir=" + directory]
    nodes.run(runtime.argv([*options, *words]), 300)
    path = max(glob.glob(os.path.join(directory, "*.cpuprofile")), default="", key=os.path.getsize)
    if not path:
        sys.exit(f"Node {nodes.major(runtime)} made no profile")
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    os.unlink(path)
    by_id = {node["id"]: node for node in profile["nodes"]}
    waiting = [(profile["nodes"][0]["id"], ())]
    while waiting:
        number, above = waiting.pop()
        node = by_id[number]
        frame, hits = node["callFrame"], node.get("hitCount", 0)
        stack = (key_of(frame["functionName"], frame["url"]), *above) if frame["url"] else above
        if frame["functionName"] == COLLECTOR:
            counts.collector += hits
        elif hits and stack:
            counts.add(stack, hits)
        waiting += [(child, stack) for child in node.get("children", ())]


# --- beside each other ----------------------------------------------------------------------------

def show(what, ours, theirs, label):
    """Rows of one kind of share."""
    n, m = ours.samples, theirs.samples
    a, b = getattr(ours, what), getattr(theirs, what)
    benches.shares_row(f"{label}, {'self' if what == 'own' else what}", a, n, b, m,
                       lambda a, b: shares.over(a, n, b, m, 0) - POINTS, BAR)
    if what == "own":
        same = sum(min(a[key] / n, b[key] / m) for key in a)
        measure.row(f"the same function in both, of {m} and {n} samples", 100 * same, "%")


def compare(runtime, words, label, directory):
    ours, theirs = Counts(), Counts()
    for number in range(RUNS):
        order = [(by_us, ours), (by_v8, theirs)]
        for profile, counts in order[::-1] if number % 2 else order:
            profile(runtime, words, counts, directory)
    if not ours.samples or not theirs.samples:
        sys.exit(f"{label}: {ours.samples} samples here, {theirs.samples} there")
    show("own", ours, theirs, label)
    show("total", ours, theirs, label)
    measure.row("the collector's share, here", ours.collector_share(), "%")
    measure.row("and there", theirs.collector_share(), "%")


def tsc(directory):
    """The compiler's command, or why there is none."""
    try:
        real.install(real.CACHE)
    except runs.Skipped as reason:
        return None, str(reason)
    words = real.program_tsc(types.SimpleNamespace(node="node"), os.path.join(directory, "out"))[5:]
    at = [os.path.join(real.CACHE, word) if word.startswith("node_modules/") else word for word in words]
    return at, ""


def measure_runtime(runtime, directory):
    label = f"Node {nodes.major(runtime)}"
    compare(runtime, [SCRIPT, str(SECONDS)], label, directory)
    compiler, why = tsc(directory)
    if compiler:
        compare(runtime, compiler, label + ", TypeScript's compiler", directory)
    else:
        measure.skip_row(f"{label}, TypeScript's compiler", why)


if __name__ == "__main__":
    benches.each("Node", lambda: [r for r in nodes.find()[::-1] if not r.root], nodes.major, MAJORS, measure_runtime)

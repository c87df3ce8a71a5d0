#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Self and total shares of Ruby's methods, by us, by StackProf and by rbspy: each in runs of its own of one program.

They take turns; what is counted is of all turns, below Work.all. A share is within the margin when it is no further
from the other than 3 standard deviations of what both counts allow, or a quarter of a point, by which runs of one
program differ. Methods are told by name; blocks, rescue and ensure belong to theirs, as StackProf has them from 3.0 on.

What the others do otherwise is taken from both (functions are of StackProf's stackprof.c):
- the collector has no stack in StackProf (stackprof_record_gc_samples): ours in it are left out. rbspy does not know
  it: there ours count for what was running;
- for a block in C, as that of Enumerable#inject below Range#each, StackProf has another frame of its method (Ruby's
  vm_backtrace.c, rb_profile_frames); neither Ruby's backtraces nor we have one;
- in 2.7 StackProf has no methods in C, and takes the stack when the VM next asks for interrupts (a postponed job, see
  stackprof_signal_handler): as a method, a block or a loop's turn ends. A short method then has what its caller did
  before. So what is above a method that Work.all called is taken as that one, and self and total are the same;
- while C does not ask for interrupts StackProf takes one sample (stackprof_buffer_sample): the program's C is short;
- rbspy names C only where Ruby has symbols, and classes from 3.3 on: with it both are left out, and the time of a
  method in C, or of Ruby's own (<internal:), is its caller's.
rbspy's samples are of time, the others' of CPU time: it counts a thread that waits for a CPU, too.

EBPF_PROFILER_BENCH_RUBY: releases; EBPF_PROFILER_BENCH_RUNS: turns; EBPF_PROFILER_BENCH_SECONDS: of each, about;
EBPF_PROFILER_BENCH_RBSPY: rbspy's directory, if it is not in PATH.
"""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys

import measure
import rubies
import locations
import benches
import runs
import shares

SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs", "shares.rb")
RELEASES = [tuple(map(int, text.split(".")))
            for text in os.environ.get("EBPF_PROFILER_BENCH_RUBY", "2.7 3.1 3.3").split()]
RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "10"))
TURNS, TIMEOUT = str(round(270 * SECONDS)), 60 + 20 * SECONDS
RATE, RBSPY_RATE = 499, "250"   # Hz; StackProf's is that of the kernel's timers, 250 at most
RBSPY = shutil.which("rbspy", path=os.pathsep.join(
    [os.environ.get("EBPF_PROFILER_BENCH_RBSPY", ""), os.environ.get("PATH", "")]))
RBSPY_KNOWS = (2, 7), (3, 1)
GEM = "/usr/lib/*/rubygems-integration/*/gems/stackprof-*"
TOP, COLLECTOR = "Work.all", "(garbage collection)"
POINTS, BAR, SHOWN = 0.25, 95, 8
OF_METHOD = re.compile(r"^((rescue|ensure|block( \(\d+ levels\))?) in )+")
NOT_RUBY = "<cfunc>", "<internal:", "(unknown)"

Frame = collections.namedtuple("Frame", "name is_c")
# Does it name methods in C and classes, has it the collector apart, has it safe points only? take(runtime, directory):
# (Frames, leaf first; of the collector; how many) of a run
Peer = collections.namedtuple("Peer", "name take c classes collector safe")


def program(runtime, directory, *more):
    return runtime.argv([os.path.join(directory, "shares.rb"), TURNS, *more], directory)


def check(done):
    if done.returncode:
        sys.exit(f"{' '.join(done.args)[-300:]}: exit status {done.returncode}: {done.stderr[-800:]}")


def by_us(runtime, directory):
    path = os.path.join(directory, "ours.pb.gz")
    profile, done = rubies.record(program(runtime, directory), path, RATE, TIMEOUT, rubies.sleeper(runtime))
    check(done)
    for sample in runs.process_of(runs.not_of_sleeper(profile.samples, done), runs.is_starter):
        frames = [Frame(f.name, locations.is_of_c(f)) for f in sample.frames if locations.is_ruby(f)]
        yield frames, locations.is_collecting(sample.frames), sample.count


def by_stackprof(runtime, directory):
    path = os.path.join(directory, "stackprof.json")
    check(rubies.run(program(runtime, directory, path), TIMEOUT))
    with open(path, encoding="utf-8") as file:
        said = json.load(file)
    frames = {int(key): Frame(f["name"], (f["file"] or "").startswith(NOT_RUBY)) for key, f in said["frames"].items()}
    at, raw = 0, said["raw"]    # so many frames, root first; how often
    while at < len(raw):
        end = at + 1 + raw[at]
        stack = [frames[key] for key in raw[end - 1:at:-1]]
        yield stack, stack[-1].name == COLLECTOR, raw[end]
        at = end + 1
    measure.note(f"Ruby {runtime.version}: StackProf had no sample for {said['missed']} signals")


def by_rbspy(runtime, directory):
    path = os.path.join(directory, "rbspy.txt")
    with subprocess.Popen(program(runtime, directory), stdout=subprocess.PIPE,
                          env=rubies.LANGUAGE.environment()) as process:
        process.stdout.readline()   # ready
        check(rubies.run([RBSPY, "record", "--silent", "-p", str(process.pid), "-r", RBSPY_RATE, "-o", "collapsed",
                          "-f", path, "--raw-file", path + ".gz"], TIMEOUT))
    with open(path, encoding="utf-8") as file:
        for stack, _, count in (line.rpartition(" ") for line in file):     # "block in all - PATH:LINE;...", root first
            parts = [frame.rpartition(" - ") for frame in stack.split(";")[::-1]]
            yield [Frame(name, where.startswith(NOT_RUBY)) for name, _, where in parts], False, int(count)


def names_of(frames, peer):
    """Of methods that both can name, leaf first, up to Work.all."""
    names, entered = [], set()
    for frame in frames[::-1]:
        name = OF_METHOD.sub("", frame.name)
        if (peer.c or not frame.is_c) and name not in entered:
            names.append(name if peer.classes else locations.without_class(name))
        entered = {*entered, name} if frame.is_c else set()
    top = TOP if peer.classes else locations.without_class(TOP)
    names = names[names.index(top):] if top in names else []
    return [name for name in names if name != top][:1] or names[:1] if peer.safe else names[::-1]


class Counts:
    def __init__(self):
        self.self, self.total, self.samples, self.collector = collections.Counter(), collections.Counter(), 0, 0

    def add(self, peer, seen):
        for frames, collecting, count in seen:
            names = names_of(frames, peer)
            if collecting and peer.collector:
                self.collector += count
            elif names:
                self.samples += count
                self.self[names[0]] += count
                self.total.update(dict.fromkeys(names, count))


def show(what, ours, theirs, label):
    a, b, n, m = getattr(ours, what), getattr(theirs, what), ours.samples, theirs.samples
    apart = {name: abs(shares.difference(a[name], n, b[name], m)) for name in {*a, *b}}
    may = {name: shares.margin(a[name], n, b[name], m, POINTS) for name in apart}
    weights = {name: a[name] / n + b[name] / m for name in apart}
    for name in sorted(apart, key=lambda name: may[name] - apart[name])[:SHOWN]:
        measure.note(f"{label}, {what}: {name}: {100 * a[name] / n:.2f} % here, {100 * b[name] / m:.2f} % there, may be "
                     f"{may[name]:.2f} apart{': MORE' if apart[name] > may[name] else ''}")
    within = sum(weights[name] for name in apart if apart[name] <= may[name]) / sum(weights.values())
    measure.row(f"{what} shares within the margin of counts, {label}: {len(apart)} methods, {n} samples here, "
                f"{m} there", 100 * within, "%", f">= {BAR}", BAR, True)


def compare(runtime, directory):
    old, label = runtime.numbers < (3,), f"Ruby {runtime.version}"
    peers = [Peer("StackProf", by_stackprof, not old, True, True, old)]
    if RBSPY and runtime.numbers[:2] in RBSPY_KNOWS:
        peers.append(Peer("rbspy", by_rbspy, False, False, False, False))
    else:
        measure.skip_row(f"{label}, rbspy", "it is not there, or does not know this release")
    counts = {peer: (Counts(), Counts()) for peer in peers}
    for _ in range(RUNS):
        seen = list(by_us(runtime, directory))
        for peer, (ours, theirs) in counts.items():
            ours.add(peer, seen)
            theirs.add(peer, peer.take(runtime, directory))
    for peer, (ours, theirs) in counts.items():
        if not ours.samples or not theirs.samples:
            sys.exit(f"{label}, {peer.name}: {ours.samples} samples here, {theirs.samples} there")
        for what in ["self"] if peer.safe else ["self", "total"]:
            show(what, ours, theirs, f"{label}, {peer.name}")
        for where, of in (("here", ours), ("there", theirs)) if peer.collector else ():
            measure.row(f"the collector's share {where}", 100 * of.collector / (of.samples + of.collector), "%")


def found():
    return [r for r in rubies.find() if r.root and "yjit" not in r.flavors and glob.glob(glob.escape(r.root) + GEM)]


if __name__ == "__main__":
    benches.each("Ruby with StackProf", found, lambda runtime: runtime.numbers[:2], RELEASES, compare,
                 lambda directory: shutil.copy(SCRIPT, directory))

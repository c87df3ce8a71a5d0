#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Self and total shares of Ruby's methods, by us, by StackProf and by rbspy: each in runs of its own of one program.

They take turns; counted is what is below Work.all. A share is within the margin when it is a quarter of a point from
the other, or 3 standard deviations of both counts. Samples of a run may depend on each other: counts are divided by
chi-square over its degrees of freedom, of that profiler's runs, where that is above 1. Methods are told by name; a
block, rescue or ensure belongs to its method, as in StackProf from 3.0 on. Known and not taken out: a block that C
called is no frame of ours before it has stored a pc (ruby_unwind.bpf.c, is_unborn): its caller in C has that time.

What the others do otherwise is taken from both (functions are of StackProf's stackprof.c):
- the collector has no stack in StackProf (stackprof_record_gc_samples): left out here, too. rbspy does not know it;
- for a block in C, as that of Enumerable#inject below Range#each, StackProf has another frame of its method (Ruby's
  vm_backtrace.c, rb_profile_frames); neither Ruby's backtraces nor we have one;
- in 2.7 it has no C, and takes the stack when the VM next asks for interrupts (stackprof_signal_handler), as a method,
  a block or a loop's turn ends: a short method has what its caller did. So all is that which Work.all called;
- while C does not ask for interrupts it takes one sample (stackprof_buffer_sample): the program's C is short;
- rbspy names C only where Ruby has symbols, and classes from 3.3 on: with it both are left out, and C's time, or that
  of <internal: methods, is its caller's. Its samples are of time: a thread that waits for a CPU has many of one place.

EBPF_PROFILER_BENCH_RUBY: releases; ..._RUNS: turns; ..._SECONDS: of each, about; ..._RBSPY: its directory.
"""
import collections
import glob
import itertools
import json
import os
import re
import shutil
import subprocess

import measure
import rubies
import locations
import benches
import shares

RELEASES = [tuple(map(int, n.split("."))) for n in os.environ.get("EBPF_PROFILER_BENCH_RUBY", "2.7 3.1 3.3").split()]
RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "10"))
TURNS, TIMEOUT = str(round(200 * SECONDS)), 60 + 60 * SECONDS
RBSPY = shutil.which("rbspy", path=os.environ.get("EBPF_PROFILER_BENCH_RBSPY", "") + ":" + os.environ.get("PATH", ""))
TOP, COLLECTOR, POINTS, BAR = "Work.all", "(garbage collection)", 0.25, 95
OF_METHOD = re.compile(r"^((rescue|ensure|block( \(\d+ levels\))?) in )+")
NOT_RUBY = "<cfunc>", "<internal:", "(unknown)", "unknown"
# take(runtime, directory) gives ([(name, is it in C)], leaf first; is it the collector; how many). Has it methods in C;
# classes, and the collector apart; stacks of safe points alone?
Peer = collections.namedtuple("Peer", "name take has_c is_full is_late")


def program(runtime, directory, *more, way=None):
    return runtime.argv([directory + "/shares.rb", TURNS, *more], directory, way)


def by_us(runtime, directory):
    command, sleeper = program(runtime, directory), rubies.sleeper(runtime)
    profile, done = rubies.record(command, directory + "/ours.pb.gz", 499, TIMEOUT, sleeper)
    done.check_returncode()
    for sample in rubies.samples_of(profile):
        frames = [(f.name, locations.is_of_c(f)) for f in sample.frames if locations.is_ruby(f)]
        yield frames, locations.is_collecting(sample.frames), sample.count


def by_stackprof(runtime, directory):
    rubies.run(program(runtime, directory, directory + "/stackprof.json"), TIMEOUT).check_returncode()
    said = json.loads(measure.read_text(directory + "/stackprof.json"))
    frames = {int(key): (f["name"], (f["file"] or "").startswith(NOT_RUBY)) for key, f in said["frames"].items()}
    words = iter(said["raw"])
    for many in words:              # so many frames, root first; how often
        stack = [frames[key] for key in itertools.islice(words, many)][::-1]
        yield stack, stack[-1][0] == COLLECTOR, next(words)


def by_rbspy(runtime, directory):
    path = directory + "/rbspy.txt"
    command = program(runtime, directory, way="container")     # its files are where the maps say, below /proc/PID/root
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=rubies.LANGUAGE.environment()) as process:
        process.stdout.readline()
        pid = measure.read_text(f"/proc/{process.pid}/task/{process.pid}/children").split()[0]
        rubies.run([RBSPY, "record", "--silent", "-p", pid, "-r", "100", "-o", "collapsed", "-f", path,
                    "--raw-file", path + ".gz"], TIMEOUT).check_returncode()
    for stack, many in re.findall(r"(.*) (\d+)\n", measure.read_text(path)):    # "all - PATH:LINE;...", root first
        parts = [frame.rpartition(" - ") for frame in stack.split(";")[::-1]]
        yield [(name, where.startswith(NOT_RUBY)) for name, _, where in parts], False, int(many)


def names_of(frames, peer):
    """Of methods that both can name, leaf first, up to Work.all."""
    names, entered, top = [], set(), TOP if peer.is_full else locations.without_class(TOP)
    for name, is_c in frames[::-1]:
        name = OF_METHOD.sub("", name if peer.is_full else locations.without_class(name))
        if (peer.has_c or not is_c) and name not in entered:
            names.append(name)
        entered = {*entered, name} if is_c else set()
    names = names[names.index(top):] if top in names else []
    return ([n for n in names if n != top] or names)[:1] if peer.is_late else names[::-1]


def count(peer, each):
    """({method: samples, self}, the same, total, samples of the collector, how much more runs differ than by chance)"""
    by_run, total, apart = [], collections.Counter(), 0
    for run in each:
        by_run.append(collections.Counter())
        for names, collecting, many in ((names_of(frames, peer), *more) for frames, *more in run):
            if collecting and peer.is_full:
                apart += many
            elif names:
                by_run[-1][names[0]] += many
                total.update(dict.fromkeys(names, many))
    own = sum(by_run, collections.Counter())
    pairs = [(run[name], own[name] * sum(run.values()) / sum(own.values())) for run in by_run for name in own]
    chi_square = sum((hits - expected) ** 2 / expected for hits, expected in pairs)
    return own, total, apart, max(1.0, chi_square / max(1, (len(by_run) - 1) * (len(own) - 1)))


def compare(runtime, directory):
    is_old, label, seen = runtime.numbers < (3,), f"Ruby {runtime.version}, ", collections.defaultdict(list)
    peers = [Peer("StackProf", by_stackprof, not is_old, True, is_old), Peer("rbspy", by_rbspy, False, False, False)]
    if not RBSPY or runtime.numbers > (3, 2):
        measure.skip_row(label + peers.pop().name, "it does not know this release" if RBSPY else "it is not there")
    for take in [by_us, *(peer.take for peer in peers)] * RUNS:
        seen[take].append(list(take(runtime, directory)))
    for peer in peers:
        (a, all_a, gc_a, spread_a), (b, all_b, gc_b, spread_b) = (count(peer, seen[t]) for t in (by_us, peer.take))
        n, m = sum(a.values()), sum(b.values())
        for what, x, y in (("self", a, b), ("total", all_a, all_b))[:1 if peer.is_late else 2]:
            benches.shares_row(f"{label}{peer.name}, {what}", x, n, y, m, lambda a, b, n=n, m=m: abs(shares.difference(
                a, n, b, m)) - shares.margin(a / spread_a, n / spread_a, b / spread_b, m / spread_b, POINTS), BAR)
        measure.note(f"{label}{peer.name}: collector {100 * gc_a / (n + gc_a):.2f} % here, "
                     f"{100 * gc_b / (m + gc_b):.2f} % there; counts divided by {spread_a:.1f} and {spread_b:.1f}")


def found():
    gem = "/usr/lib/*/rubygems-integration/*/gems/stackprof-*"
    return [r for r in rubies.find() if r.root and "yjit" not in r.flavors and glob.glob(glob.escape(r.root) + gem)]


if __name__ == "__main__":
    benches.each("Ruby with StackProf", found, lambda runtime: runtime.numbers[:2], RELEASES, compare,
                 lambda place: shutil.copy(os.path.join(os.path.dirname(__file__), "programs", "shares.rb"), place))

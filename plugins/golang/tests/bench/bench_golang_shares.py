#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shares of functions and of lines, by us and by Go's own CPU profile (runtime/pprof) of the same seconds.

One program does work of many kinds (programs/shares), profiles itself, and is profiled by us meanwhile; what is
counted is of all turns. A share is within the margin when its counts are no more than 3 standard deviations apart
(tests/kit/shares.py). Functions are told by name,
lines by function, file and number; inlined functions are functions. Flat: of leaves; cumulative: anywhere in a stack.

What Go's profiler does otherwise is taken from both (paths are of Go's src, lines of 1.26):
- it cuts stacks at 64 frames, inlined ones counted (runtime/cpuprof.go, maxCPUProfStack): ours are cut there;
- it has no kernel, no runtime.goexit (runtime/pprof/proto.go), and begins behind a call of the vDSO with the caller of
  nanotime1, time.now or vgetrandom1 (runtime/proc.go, sigprof): these are left out as leaves. The line is that behind
  the call, so lines of such callers, as leaves, are not told apart;
- where both signals wait, that of a preemption is handled first, and its own then finds the thread at the first
  instruction of runtime.asyncPreempt: that is left out as a leaf;
- it goes from newstack to the function whose stack grows, without morestack (runtime/traceback.go, resolveInternal);
- its signal's own handler is blind to it: ours in it, and in what the kernel does for it, are left out;
- a thread in a system call stands behind the call's instruction: its line there is the next one's, here the call's,
  so lines of such leaves (in CALLS) are not told apart either;
- a stack that it cannot walk is runtime._System, _GC, _VDSO or _ExternalCode behind the leaf: that frame is left out.

To 1.20 it looks up what was interrupted there by the instruction before (runtime/traceback.go, gentraceback, where only
sigpanic makes waspanic): a leaf may be another line, or an inlined function, there. That cannot be taken out.

EBPF_PROFILER_BENCH_GO: minor versions; EBPF_PROFILER_BENCH_RUNS: turns; EBPF_PROFILER_BENCH_SECONDS: of each.
"""
import collections
import os
import re
import sys

import goes
import measure
import benches
import runs
import shares
import stacks

HERE = os.path.dirname(os.path.realpath(__file__))

MINORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_GO", "19 24 26 27").split()]
RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "10"))
SOURCE = os.path.join(HERE, "programs", "shares")
RATE = 499                      # Hz; theirs is 100
BAR = 99                        # percent of the shares
DEPTH = 64
LOADED = "golang: unwinder loaded"
LEAVES = {"runtime.asyncPreempt", "runtime.nanotime1", "time.now", "runtime.walltime1", "runtime.vgetrandom1"}
CALLS = {"sys_linux_amd64.s", "asm_linux_amd64.s"}
OF_CLOCKS = {"time.Now", "time.Since", "time.runtimeNano", "runtime.nanotime", "runtime.vgetrandom"}
NO_STACK = {"runtime._System", "runtime._GC", "runtime._VDSO", "runtime._ExternalCode"}
HANDLER = {"runtime.sigtramp", "runtime.sigreturn__sigaction", "runtime.sigreturn"}
KERNELS = re.compile(r"^(arch_do_signal_or_restart|__x64_sys_rt_sigreturn|__do_sys_rt_sigreturn)$")
VIEWS = ("function", "flat"), ("function", "cumulative"), ("line", "flat"), ("line", "cumulative")


# --- stacks, made equal -----------------------------------------------------------------------------

def plain(frame):
    """By the name that the function table has: generics with their shapes, where they are in it."""
    return frame._replace(name=re.sub(r"\.abi(0|internal)$", "", frame.signature or frame.name))


def common(frames):
    """What both sides say of a stack, leaf first."""
    frames = [frame for frame in frames if frame.name != "runtime.goexit" and frame.name not in NO_STACK]
    start = 0
    while start < len(frames) and frames[start].name in LEAVES:
        start += 1
    frames = frames[start:]
    if frames and (os.path.basename(frames[0].source) in CALLS or frames[0].name in OF_CLOCKS):
        frames[0] = frames[0]._replace(line=0)
    return [frame for at, frame in enumerate(frames) if frame.name != "runtime.morestack" or at == 0][:DEPTH]


def ours_of(frames):
    """None: in the handler of Go's profiler, or a task on its way in or out."""
    if any(frame.name in HANDLER or KERNELS.match(frame.name) for frame in frames):
        return None
    user = [plain(frame) for frame in stacks.without_kernel(frames)]
    if not user or not user[-1].file and not stacks.is_error(user[-1]):
        return None
    while user and user[0].file == "[vdso]":
        user = user[1:]
    return common(user)


class Counts:
    """Samples by function and by line."""

    def __init__(self):
        self.samples, self.left_out = 0, 0
        self.by = {view: collections.Counter() for view in VIEWS}

    def add(self, frames, count):
        """frames: None, or leaf first."""
        if not frames:
            self.left_out += count
            return
        self.samples += count
        functions = [frame.name for frame in frames]
        lines = [(frame.name, os.path.basename(frame.source), frame.line) for frame in frames]
        for what, keys in (("function", functions), ("line", lines)):
            self.by[what, "flat"][keys[0]] += count
            for key in set(keys):
                self.by[what, "cumulative"][key] += count


def run(program, ours, theirs, directory):
    path, own = os.path.join(directory, "ours.pb.gz"), os.path.join(directory, "theirs.pb.gz")
    done = runs.record([program, str(SECONDS), own], path, runs.environment("GO"), RATE,
                       60 + 5 * SECONDS, [program, "60"], LOADED)
    if done.returncode:
        sys.exit(f"the program: exit status {done.returncode}: {done.stderr[-800:]}")
    samples = runs.not_of_sleeper(stacks.read_profile(path, stacks.LineProfile).samples, done)
    for sample in runs.process_of(samples, runs.is_starter):
        ours.add(ours_of(sample.frames), sample.count)
    for sample in stacks.read_profile(own, stacks.LineProfile).samples:
        theirs.add(common([plain(frame) for frame in sample.frames]), sample.count)


# --- beside each other ------------------------------------------------------------------------------

def show(view, ours, theirs, label):
    n, m = ours.samples, theirs.samples
    benches.shares_row(f"{label}: {view[0]}s, {view[1]}", ours.by[view], n, theirs.by[view], m,
                       lambda a, b: shares.over(a, n, b, m, 0), BAR)


def compare(runtime, directory):
    label = f"Go {runtime.version}"
    program, ours, theirs = os.path.join(directory, "shares-" + runtime.version), Counts(), Counts()
    goes.go_build(runtime, SOURCE, program, directory)
    for _ in range(RUNS):
        run(program, ours, theirs, directory)
    if not ours.samples or not theirs.samples:
        sys.exit(f"{label}: {ours.samples} samples here, {theirs.samples} there")
    measure.note(f"{label}: {ours.samples} samples here and {ours.left_out} left out, {theirs.samples} there and "
                 f"{theirs.left_out} left out")
    for view in VIEWS:
        show(view, ours, theirs, label)


if __name__ == "__main__":
    benches.each("Go", lambda: goes.find()[::-1], goes.minor, MINORS, compare)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of Java: stacks of known depth, interpreted and compiled, in each JVM that is found.

A frame's price is the slope between two depths. On each CPU there is a JVM of either depth, and a native
program of either, at the highest priority, so that next to no sample is of anything else; they take turns by
SIGSTOP and SIGCONT under one agent, since another start is another state of a machine's caches. A turn gives
one slope, the value is the median of them. The native slope of the same turns is the measure of the machine.
"""
import contextlib
import glob
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(HERE, "..", "..", "..", "..", "tests", "bench")]
import measure  # noqa: E402
import chains  # noqa: E402
import javas  # noqa: E402

RELEASES = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_JAVA", "8 17 21 25").split()]
RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "7"))
SECONDS = 0.3  # of a turn
SETTLE = 0.1
LOW, HIGH = 50, 500
DEEP = 1000
FRAMES_PER_RUN = 40
LOADED = r"hotspot: unwinder loaded in (\d+) ms, (\d+) frames per run"
READY_SECONDS = 60
# What, options, the tier that its methods must have been compiled at, bar
NO_INLINING = ["-XX:-BackgroundCompilation", "-XX:+PrintCompilation", "-XX:CompileCommand=quiet",
               "-XX:CompileCommand=dontinline,Depth::*"]
MODES = (
    ("interpreted", ["-Xint"], 0, 120),
    ("compiled by C1", [*NO_INLINING, "-XX:TieredStopAtLevel=1"], 1, 160),
    ("compiled by C2", NO_INLINING, 4, 160),
)
KINDS = {"many": "16 methods in turn", "one": "one method"}
METHODS = {"many": 16, "one": 1}


def chosen():
    """One JVM of each release, those of root file systems first."""
    found = {}
    for runtime in sorted(javas.find(), key=lambda r: not r.root):
        found.setdefault(javas.major(runtime), runtime)
    return [found[release] for release in RELEASES if release in found]


def compile_programs(directory):
    javas.compile_java([os.path.join(HERE, "programs", "Depth.java"),
                        *glob.glob(os.path.join(javas.PROGRAMS, "*.java"))], directory)


class Busy:
    """Processes, one for each CPU, that run while they are measured only."""

    def __init__(self, procs, command):
        self.procs = [procs.start(["nice", "-n", "-20", *command], {cpu}, stdout=subprocess.PIPE,
                                  start_new_session=True) for cpu in measure.cpu_list()]
        for proc in self.procs:  # nice counts within a session, where the kernel groups by them
            with contextlib.suppress(OSError), open(f"/proc/{proc.pid}/autogroup", "w", encoding="ascii") as file:
                file.write("-20")

    def wait_ready(self, kind, tier):
        for proc in self.procs:
            lines = list(iter(proc.stdout.readline, b"ready\n"))
            if proc.poll() is not None:
                sys.exit(f"{kind}: it ended with {proc.returncode}")
            compiled = set(re.findall(rf" {tier} +Depth::({kind}\d*) \(", b"".join(lines).decode()))
            if tier and len(compiled) != METHODS[kind]:
                sys.exit(f"{kind}: compiled at tier {tier} are only {sorted(compiled)}")
        self.send(signal.SIGSTOP)

    def send(self, number):
        for proc in self.procs:
            proc.send_signal(number)

    def run_ns(self, agent):
        """ns of one run of the sampling program, in a turn of theirs."""
        self.send(signal.SIGCONT)
        time.sleep(SETTLE)
        before = measure.bpf_cost(agent.proc.pid)
        time.sleep(SECONDS)
        after = measure.bpf_cost(agent.proc.pid)
        self.send(signal.SIGSTOP)
        return 1e9 * (after[0] - before[0]) / max(1, after[1] - before[1])

    def frames(self, agent):
        """User frames of a sample, mean."""
        self.send(signal.SIGCONT)
        time.sleep(SETTLE)
        before = agent.counters()
        time.sleep(2 * SECONDS)
        after = agent.counters()
        self.send(signal.SIGSTOP)
        walked, samples = (after[name] - before[name] for name in ("user frames walked", "samples taken"))
        return walked / max(1, samples)


def start_pair(procs, command, kind="", tier=0):
    """Those of the low depth and of the high one."""
    pair = [Busy(procs, command(depth)) for depth in (LOW, HIGH)]
    for busy in pair:
        if kind:
            busy.wait_ready(kind, tier)
        busy.send(signal.SIGSTOP)
    return pair


def slope(agent, pair, turn):
    """ns per frame."""
    order = pair if turn % 2 else pair[::-1]
    cost = {busy: busy.run_ns(agent) for busy in order}
    return (cost[pair[1]] - cost[pair[0]]) / (HIGH - LOW)


def java_command(runtime, directory, flags, kind):
    return lambda depth: runtime.argv([*flags, "-cp", directory, "Depth", kind, str(depth)], directory)


def native_command(depth):
    return [measure.program("deepstack"), "1000", str(depth)]


def check_frames(agent, pair, what):
    low, high = (busy.frames(agent) for busy in pair)
    measure.note(f"{what}: {low:.1f} and {high:.1f} frames a sample")
    if high - low < 0.6 * (HIGH - LOW):  # what is inlined is no frame; some samples are of others
        sys.exit(f"{what}: the depths are {high - low:.1f} frames apart, not {HIGH - LOW}")


def measure_kind(agent, native, runtime, directory, mode, kind):
    name, flags, tier, bar = mode
    what = f"JDK {javas.major(runtime)}, {name}, {KINDS[kind]}"
    with measure.Procs() as procs:
        pair = start_pair(procs, java_command(runtime, directory, flags, kind), kind, tier)
        check_frames(agent, pair, what)
        turns = [(slope(agent, pair, turn), slope(agent, native, turn)) for turn in range(RUNS)]
    java = statistics.median(ns for ns, _ in turns)
    measure.note(f"{what}: " + " ".join(f"{ours:.1f}/{other:.1f}" for ours, other in turns))
    measure.row(f"BPF time per frame, {what}", java, "ns", f"<= {bar}", bar)
    measure.row("of that of a native frame, in the same turns",
                statistics.median(ours / other for ours, other in turns), "x")


def check_deep(runtime, directory):
    """1000 frames are walked to the root."""
    for name, flags, _, _ in MODES[::2]:
        base = runtime.argv([*flags, "-cp", directory, "Depth", "many", str(DEEP), "3"], directory)
        profile, _ = javas.record(base, os.path.join(directory, "x.pb.gz"), sleeps=javas.sleeper(
            runtime.argv([], directory), directory))
        samples = [s for s in javas.process_of(profile.samples) if len(s.frames) > DEEP // 2
                   or any(f.name.startswith("[truncated") for f in s.frames)]
        whole = [s for s in samples if not chains.why_incomplete(s.frames)
                 and sum(f.name.startswith("Depth.many") for f in s.frames) == DEEP]
        counts = [sum(s.count for s in of) for of in (whole, samples)]
        measure.row(f"{DEEP} frames deep, JDK {javas.major(runtime)}, {name}: whole, of {counts[1]} samples",
                    100 * counts[0] / max(1, counts[1]), "%", ">= 99.5", 99.5, True)


def measure_slopes(found, directory):
    with measure.Procs() as procs, measure.bpf_stats(), \
            measure.Agent(procs, 997, interval="60s", verbose=1) as agent:
        os.setpriority(os.PRIO_PROCESS, agent.proc.pid, -20)
        agent.wait_sampling()
        native = start_pair(procs, native_command)
        with measure.Procs() as first:
            first.start(javas.sleeper(found[0].argv([], directory), directory))
            loaded = agent.wait_for(LOADED, 60)
        check_frames(agent, native, "native")
        measure.row("frames per run of the unwinder", int(loaded[2]), "frames", f">= {FRAMES_PER_RUN}",
                    FRAMES_PER_RUN, True)
        measure.row("its load, verified", int(loaded[1]), "ms")
        for runtime in found:
            for mode in MODES:
                for kind in KINDS:
                    measure_kind(agent, native, runtime, directory, mode, kind)


def main():
    measure.begin()
    found = chosen()
    if not found:
        measure.skip("no JVM was found")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        try:
            compile_programs(directory)
        except javas.Skipped as reason:
            measure.skip(str(reason))
        measure_slopes(found, directory)
        for runtime in found:
            check_deep(runtime, directory)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF time per frame of Perl: stacks of known depth, of subs, of closures, and of subs in loops and blocks.

A frame's price is the slope between two depths: cost by frames that were walked. A call from Perl to Perl makes no
native frame, so the slope is Perl's alone. On each CPU there is a Perl of either depth, and a native program of
either, at the highest priority, so that next to no sample is of anything else; they take turns by SIGSTOP and SIGCONT
under one agent. A turn gives one slope, the value is the median of them. The native slope of the same turns is the
measure of the machine. Warm: stacks are the same, so what is read is cached.
EBPF_PROFILER_BENCH_PERL: minor releases; EBPF_PROFILER_BENCH_RUNS: turns.
"""
import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(HERE, "..", "..", "..", "..", "tests", "bench")]
import measure  # noqa: E402
import perls  # noqa: E402

MINORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_PERL", "32 36 44").split()]
RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "7"))
SECONDS = 0.3   # of a turn
SETTLE = 0.1
LOW, HIGH = 50, 450
CONTEXTS_PER_RUN = 144
LOADED = r"perl: unwinder loaded in (\d+) ms, (\d+) frames per run"
BAR = 100       # ns
KINDS = {
    "one": "one sub", "many": "16 subs in turn", "closures": "closures", "loops": "a sub in a loop in a block",
}


def chosen():
    """Of each release one: static, where there is one."""
    found = {}
    for runtime in sorted(perls.one_of_each(perls.find()), key=lambda r: "static" not in r.flavors):
        found.setdefault(perls.minor(runtime), runtime)
    return [found[minor] for minor in MINORS if minor in found]


class Busy:
    """Processes, one for each CPU, that run while they are measured only."""

    def __init__(self, procs, command, says=b""):
        self.procs = [procs.start(["nice", "-n", "-20", *command], {cpu}, stdout=subprocess.PIPE,
                                  start_new_session=True) for cpu in measure.cpu_list()]
        for proc in self.procs:
            with contextlib.suppress(OSError), open(f"/proc/{proc.pid}/autogroup", "w", encoding="ascii") as file:
                file.write("-20")
            if says and proc.stdout.readline() != says:
                sys.exit(f"{' '.join(command)}: it does not run")
        self.send(signal.SIGSTOP)

    def send(self, number):
        for proc in self.procs:
            os.killpg(proc.pid, number)     # where it has a root of its own another process has started it

    @contextlib.contextmanager
    def running(self):
        self.send(signal.SIGCONT)
        time.sleep(SETTLE)
        yield
        self.send(signal.SIGSTOP)

    def run_ns(self, agent):
        """ns of one run of the sampling program, in a turn of theirs."""
        with self.running():
            before = measure.bpf_cost(agent.proc.pid)
            time.sleep(SECONDS)
            after = measure.bpf_cost(agent.proc.pid)
        return 1e9 * (after[0] - before[0]) / max(1, after[1] - before[1])

    def frames(self, agent):
        """User frames of a sample, mean."""
        with self.running():
            before = agent.counters()
            time.sleep(2 * SECONDS)
            after = agent.counters()
        walked, samples = (after[name] - before[name] for name in ("user frames walked", "samples taken"))
        return walked / max(1, samples)


def frames_apart(agent, pair, what):
    """How many frames a sample of the one has more than one of the other."""
    low, high = (busy.frames(agent) for busy in pair)
    measure.note(f"{what}: {low:.1f} and {high:.1f} frames a sample")
    if high - low < 0.6 * (HIGH - LOW):    # some samples are of others
        sys.exit(f"{what}: the depths are {high - low:.1f} frames apart, not {HIGH - LOW}")
    return high - low


def slope(agent, pair, number, apart):
    """ns per frame."""
    order = pair if number % 2 else pair[::-1]
    cost = {busy: busy.run_ns(agent) for busy in order}
    return (cost[pair[1]] - cost[pair[0]]) / apart


def measure_kind(agent, native, runtime, directory, kind):
    what = f"Perl 5.{perls.minor(runtime)}, {KINDS[kind]}"
    script = os.path.join(directory, "depth.pl")
    with measure.Procs() as procs:
        pair = [Busy(procs, runtime.argv([script, kind, str(depth)], directory), b"ready\n") for depth in (LOW, HIGH)]
        apart = frames_apart(agent, pair, what)
        turns = [(slope(agent, pair, number, apart), slope(agent, native, number, HIGH - LOW))
                 for number in range(RUNS)]
    measure.note(f"{what}: " + " ".join(f"{ours:.1f}/{other:.1f}" for ours, other in turns))
    measure.row(f"BPF time per frame, {what}", statistics.median(ours for ours, _ in turns), "ns", f"<= {BAR}", BAR)
    measure.row("of that of a native frame, in the same turns",
                statistics.median(ours / other for ours, other in turns), "x")


def main():
    measure.begin()
    found = chosen()
    if not found:
        measure.skip("no Perl was found")
    with tempfile.TemporaryDirectory() as directory, measure.Procs() as procs, measure.bpf_stats(), \
            measure.Agent(procs, 997, interval="60s", verbose=1) as agent:
        os.chmod(directory, 0o755)
        shutil.copy(os.path.join(HERE, "programs", "depth.pl"), directory)
        os.setpriority(os.PRIO_PROCESS, agent.proc.pid, -20)
        agent.wait_sampling()
        native = [Busy(procs, [measure.program("deepstack"), "1000", str(depth)]) for depth in (LOW, HIGH)]
        frames_apart(agent, native, "native")
        with measure.Procs() as first:
            first.start(found[0].argv([os.path.join(directory, "depth.pl"), "one", "10"], directory),
                        stdout=subprocess.DEVNULL)
            loaded = agent.wait_for(LOADED, 90)
        measure.row("contexts per run of the unwinder", int(loaded[2]), "", f">= {CONTEXTS_PER_RUN}",
                    CONTEXTS_PER_RUN, True)
        measure.row("its load, verified", int(loaded[1]), "ms")
        for runtime in found:
            for kind in KINDS:
                measure_kind(agent, native, runtime, directory, kind)


if __name__ == "__main__":
    main()

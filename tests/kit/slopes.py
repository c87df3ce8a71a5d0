# SPDX-License-Identifier: Apache-2.0
"""What a frame costs BPF: the slope between two depths of stacks.

On each CPU there is a process of either depth, and a native one of either, at the highest priority, so that next to
no sample is of anything else; they take turns by SIGSTOP and SIGCONT under one agent, since another start is another
state of a machine's caches. A turn gives one slope, the value is the median of them. The native slope of the same
turns is the measure of the machine. Warm: stacks are the same, so what is read is cached.
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

import measure

RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "7"))
SECONDS = 0.3   # of a turn
SETTLE = 0.1
APART = 0.6     # of the depths' difference must be walked at least: some samples are of others


def wait_ready(proc):
    """Until a process has said so."""
    if proc.stdout.readline() != b"ready\n":
        sys.exit(f"{' '.join(proc.args)}: it does not run")


class Busy:
    """Processes, one for each CPU, that run while they are measured only."""

    def __init__(self, procs, command, wait):
        self.procs = [procs.start(["nice", "-n", "-20", *command], {cpu}, stdout=subprocess.PIPE,
                                  start_new_session=True) for cpu in measure.cpu_list()]
        for proc in self.procs:  # nice counts within a session, where the kernel groups by them
            with contextlib.suppress(OSError), open(f"/proc/{proc.pid}/autogroup", "w", encoding="ascii") as file:
                file.write("-20")
        for proc in self.procs:
            wait(proc)
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


class Pair:
    """Busy ones of two depths."""

    def __init__(self, agent, procs, depths, command, what, wait=wait_ready):
        """command: of a depth"""
        self.agent, self.what = agent, what
        self.both = [Busy(procs, command(depth), wait) for depth in depths]
        low, high = (busy.frames(agent) for busy in self.both)
        measure.note(f"{what}: {low:.1f} and {high:.1f} frames a sample")
        self.apart = high - low
        if self.apart < APART * (depths[1] - depths[0]):
            sys.exit(f"{what}: the depths are {self.apart:.1f} frames apart, not {depths[1] - depths[0]}")

    def slope(self, turn):
        """ns per frame."""
        order = self.both if turn % 2 else self.both[::-1]
        cost = {busy: busy.run_ns(self.agent) for busy in order}
        return (cost[self.both[1]] - cost[self.both[0]]) / self.apart


def measure_pair(pair, native, bar):
    """Rows for the price of a frame, in ns and in native frames."""
    turns = [(pair.slope(turn), native.slope(turn)) for turn in range(RUNS)]
    measure.note(f"{pair.what}: " + " ".join(f"{ours:.1f}/{other:.1f}" for ours, other in turns))
    measure.row(f"BPF time per frame, {pair.what}", statistics.median(ours for ours, _ in turns), "ns", f"<= {bar}", bar)
    measure.row("of that of a native frame, in the same turns",
                statistics.median(ours / other for ours, other in turns), "x")


@contextlib.contextmanager
def sampling_agent(procs):
    with measure.bpf_stats(), measure.Agent(procs, 997, interval="60s", verbose=1) as agent:
        os.setpriority(os.PRIO_PROCESS, agent.proc.pid, -20)
        agent.wait_sampling()
        yield agent


def measure_load(agent, command, language, unit, least):
    """The unwinder is loaded for a first process, quickly and whole. unit: of which one run of it does at least so many."""
    with measure.Procs() as first:
        first.start(command)
        quick = agent.wait_for(rf"{language}: unwinder loaded in (\d+) ms, (\d+) frames per run", 90)
        said = agent.wait_for(rf"{language}: longer unwinder loaded in (\d+) ms, (\d+) frames per run", 90)
    measure.row(f"{unit} per run of the unwinder", int(said[2]), unit, f">= {least}", least, True)
    measure.row("its load, verified", int(said[1]), "ms")
    measure.row(f"the quick one's load, {quick[2]} {unit} per run", int(quick[1]), "ms", "<= 150", 150)


def bench(language, found, depths, rows, least, unit="frames", program=None, prepare=None, after=None):
    """
    What a frame of the language costs in each of its runtimes that were found. rows(runtime, directory) gives (what,
    bar in ns, the runtime's arguments but for the last one, a depth; what waits until it runs, if not for "ready").
    program: is copied to the directory; prepare(directory) is called once; after(runtime, directory): when all are
    measured and no agent runs.
    """
    if not found:
        measure.skip(f"no runtime of {language} was found")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        if program:
            shutil.copy(program, directory)
        if prepare:
            prepare(directory)
        kinds = [(what, bar, lambda depth, at=runtime, words=words: at.argv([*words, str(depth)], directory), *wait)
                 for runtime in found for what, bar, words, *wait in rows(runtime, directory)]
        with measure.Procs() as procs, sampling_agent(procs) as agent:
            native = Pair(agent, procs, depths, lambda depth: [measure.program("deepstack"), "1000", str(depth)], "native",
                          lambda proc: None)
            measure_load(agent, kinds[0][2](depths[0]), language, unit, least)
            for what, bar, command, *wait in kinds:
                with measure.Procs() as own:
                    measure_pair(Pair(agent, own, depths, command, what, *wait), native, bar)
        for runtime in found if after else ():
            after(runtime, directory)

# SPDX-License-Identifier: Apache-2.0
"""What the agent costs beside a command, long after the start of both: CPU time, and how often it runs.

The command runs on one CPU; in a loop it is started again when it ends. CPU time is the scheduler's; so are the times that
the agent was scheduled (the third word of schedstat, of all threads).
"""
import contextlib
import os
import threading
import time

import measure

SETTLE = float(os.environ.get("EBPF_PROFILER_BENCH_SETTLE", "12"))
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "20"))


def scheduled(pid):
    """(CPU seconds, times put on a CPU) of a process."""
    seconds, times = 0, 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError):
            words = measure.read_text(f"/proc/{pid}/task/{task}/schedstat").split()
            seconds, times = seconds + int(words[0]) / 1e9, times + int(words[2])
    return seconds, times


class Loop:
    """A command that is started again when it ends."""

    def __init__(self, procs, command, statuses=(0,), **options):
        self.procs, self.command, self.options, self.stop = procs, command, options, False
        self.statuses = statuses
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stop:
            self.proc = self.procs.start(self.command, **self.options)
            if self.proc.wait() not in self.statuses and not self.stop:
                measure.note(f"{self.command} failed with {self.proc.returncode}")
                os._exit(1)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stop = True
        self.proc.kill()
        self.thread.join()


def cost(command, freq, loop=False, **options):
    """(ms/s, times scheduled a second) of the agent."""
    with measure.Procs() as procs, measure.Agent(procs, freq, interval="60s") as agent:
        agent.wait_sampling()
        with contextlib.ExitStack() as stack:
            if loop:
                stack.enter_context(Loop(procs, command, cpus=measure.cpu_list()[:1], **options))
            else:
                proc = procs.start(command, cpus=measure.cpu_list()[:1], **options)
            time.sleep(SETTLE)
            before, start = scheduled(agent.proc.pid), time.monotonic()
            time.sleep(SECONDS)
            after, seconds = scheduled(agent.proc.pid), time.monotonic() - start
            if not loop and proc.poll() is not None:
                raise SystemExit(f"{command} has ended with {proc.returncode}")
        return 1000 * (after[0] - before[0]) / seconds, (after[1] - before[1]) / seconds


def rows(name, command, freq, ms_bar=None, times_bar=None, **options):
    milliseconds, times = cost(command, freq, **options)
    measure.row(f"agent beside {name}, {freq} Hz", milliseconds, "ms/s", f"<= {ms_bar}" if ms_bar else "", ms_bar)
    measure.row("times it was scheduled", times, "/s", f"<= {times_bar}" if times_bar else "", times_bar)

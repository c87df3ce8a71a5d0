#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `record -a` takes to end: from SIGINT until the process is gone, on a quiet machine and beside twenty
busy programs, half of them in a language. Beside it stands the CPU time that the profiler used meanwhile: who gets a
tenth of a CPU waits ten times as long for its names. What it waits for beyond that is the bench's finding.
"""
import os
import signal
import statistics
import sys
import tempfile
import time

import measure

RUNS = 5
BUSY = 20
BAR = 2.0
READY = 60.0  # s, until it samples; beside busy programs that may take many
SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "5"))


def start_busy(procs):
    """Every other one in a language, so that unwinders are loaded."""
    for i in range(BUSY):
        procs.start([sys.executable, "-c", "while True:\n sum(range(1000))"] if i % 2
                    else ["sh", "-c", "while :; do :; done"])


def wait_until_sampling(process, log):
    """Its first complete sample is said at level debug."""
    end = time.monotonic() + READY
    while time.monotonic() < end and process.poll() is None:
        if "first complete sample" in measure.read_text(log):
            return
        time.sleep(0.1)
    raise RuntimeError("it does not sample")


def close_once(directory, arguments):
    """Seconds from SIGINT to the end, and CPU seconds that the profiler used in them."""
    log = os.path.join(directory, "log")
    with open(log, "w", encoding="utf-8") as file, measure.Procs() as procs:
        process = procs.start([measure.BINARY, "record", "-vv", "-a", "--force", *arguments], cwd=directory, stderr=file,
                              env=measure.environment())
        wait_until_sampling(process, log)
        time.sleep(SECONDS)
        before, start = measure.cpu_seconds(process.pid), time.monotonic()
        process.send_signal(signal.SIGINT)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    measure.check_status(process.returncode, measure.read_text(log))
    return took, usage.ru_utime + usage.ru_stime - before


def close_often(where, directory, arguments, limit=None):
    runs = [close_once(directory, arguments) for _ in range(RUNS)]
    bar = f"<= {limit}" if limit else ""
    measure.row(f"{where}: SIGINT until it is gone", statistics.median(took for took, _ in runs), "s", bar, limit)
    measure.row(f"{where}: the longest of {RUNS}", max(took for took, _ in runs), "s")
    measure.row(f"{where}: CPU time from SIGINT", statistics.median(cpu for _, cpu in runs), "s")


def main():
    measure.begin()
    with tempfile.TemporaryDirectory() as directory:
        otlp = ["-o", os.path.join(directory, "x.otlp.gz")]
        close_often("quiet", directory, otlp, BAR)
        with measure.Procs() as procs:
            start_busy(procs)
            close_often(f"beside {BUSY} busy programs", directory, otlp)
            close_often("the same, the page", directory, ["-o", os.path.join(directory, "x.html")])


if __name__ == "__main__":
    main()

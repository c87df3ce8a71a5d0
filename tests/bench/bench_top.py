#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `top` costs more than `record`: the profiler's CPU time at 99 Hz, both drawing on a terminal of 80 columns
by 24 rows, in turn, beside programs that keep all CPUs busy in many stacks.
"""
import os
import pty
import select
import statistics
import subprocess
import tempfile
import threading
import time
import fcntl
import struct
import termios

import fleet
import measure

SECONDS = float(os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "20"))
TURNS = 3
SETTLE = 6.0  # the start does not count
BAR = 0.5


def spend(command):
    """CPU time of a profiler, in % of one CPU, after its start."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen([measure.BINARY, *command], stdin=slave, stdout=slave, stderr=slave,
                               start_new_session=True, preexec_fn=measure.die_with_parent)
    reading = threading.Event()

    def read():
        while not reading.is_set():
            if select.select([master], [], [], 0.1)[0]:
                os.read(master, 1 << 16)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        time.sleep(SETTLE)
        before, start = measure.cpu_seconds(process.pid), time.monotonic()
        time.sleep(SECONDS)
        return 100 * (measure.cpu_seconds(process.pid) - before) / (time.monotonic() - start)
    finally:
        process.terminate()
        process.wait()
        reading.set()
        reader.join()
        os.close(master)
        os.close(slave)


def main():
    measure.begin()
    more, of_record = [], []
    with measure.Procs() as procs, tempfile.TemporaryDirectory() as directory:
        for cpu in measure.cpu_list():
            procs.start([measure.program("deepstack"), "1000", "20", "40", "60"], {cpu})
        fleet.start_busy(procs)
        for turn in range(TURNS):
            path = os.path.join(directory, f"{turn}.pb.gz")
            of_record.append(spend(["record", "-a", "-F", "99", "-o", path]))
            more.append(spend(["top", "-a", "-F", "99"]) - of_record[-1])
    measure.row("`record` at 99 Hz, all CPUs busy: CPU time", statistics.median(of_record), "% of one CPU")
    measure.row("`top` at 99 Hz: CPU time more than `record`", statistics.median(more), "% of one CPU", f"<= {BAR}", BAR)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs on a file system that stops answering: a recording ends all the same, and others are not worse off.
Needs root, bpf() and /dev/fuse.

    test_hung_mounts.py PROGRAMS            EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import os
import signal
import subprocess
import sys
import time

import whole  # and with it where the kit is
import hung_mount
import stacks

# Without readers a recording ends when the file system's server does. What it takes on a machine that is not busy is
# in docs/benchmarks.md; here the names of others take most of it, and so only some processes are recorded.
NEVER_S = 90


def wait_for(what, condition):
    end = time.monotonic() + 120
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come about")
        time.sleep(0.05)


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))


class Case(whole.Case):
    """Who hangs in the kernel ends after the mount's server: waited for last."""

    def setUp(self):
        super().setUp()
        self.procs = []
        self.addCleanup(lambda: [proc.wait() for proc in self.procs])

    def start(self, *args, stdout=subprocess.DEVNULL, **more):
        proc = subprocess.Popen(args, stdout=stdout, **more)
        self.procs.append(proc)
        self.addCleanup(proc.kill)
        return proc

    def mount(self, files):
        reason = hung_mount.cannot()
        if reason:
            print(f"skip: {reason}")
            sys.exit(whole.SKIP)
        mount = hung_mount.HungMount(files).__enter__()
        self.addCleanup(mount.__exit__)
        return mount

    def programs_on(self, mount, names):
        """They burn; all that they need of the file system is in memory by then."""
        procs = [self.start(mount.path(name), "3600") for name in names]
        for proc in procs:
            wait_for("a program's CPU time", lambda: cpu_ticks(proc.pid) > 20)
        return procs

    def record(self, *procs):
        """A recording of them that has begun."""
        pids = [word for proc in procs for word in ("-p", str(proc.pid))]
        with open(os.path.join(self.dir, "log"), "wb") as out:
            run = self.start(whole.BINARY, "record", "-vv", "-F", "49", "-o", self.out, *pids, stderr=out)
        wait_for("a first sample", lambda: "first complete sample" in self.log() or run.poll() is not None)
        self.assertIsNone(run.poll(), self.log())
        return run

    def log(self):
        with open(os.path.join(self.dir, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def end(self, run):
        """After the signal: seconds until the recording is over, its file there."""
        begin = time.monotonic()
        run.send_signal(signal.SIGINT)
        run.wait(timeout=NEVER_S)
        seconds = time.monotonic() - begin
        print(f"over {seconds:.2f} s after SIGINT")
        self.assertEqual(run.returncode, 0, self.log())
        return stacks.read_profile(self.out)


class HungMounts(Case):
    def test_executables_on_a_mount_that_does_not_answer(self):
        with open(os.path.join(PROGRAMS, "nested"), "rb") as file:
            program = file.read()
        mount = self.mount({f"dead{i}": program for i in range(4)})
        dead = self.programs_on(mount, mount.files)
        mount.stop()
        neighbour = self.start(os.path.join(PROGRAMS, "nested"), "3600")
        run = self.record(*dead, neighbour)
        wait_for("CPU time of the neighbour", lambda: cpu_ticks(neighbour.pid) > 200)
        samples = self.end(run).samples
        self.assertIn("does not answer", self.log())
        for proc in (*dead, neighbour):
            self.assertIsNone(proc.poll())
        mine = [s for s in samples if s.labels["pid"] == neighbour.pid]
        count = sum(s.count for s in mine)
        named = sum(s.count for s in mine if any(f.name == "main" for f in s.frames))
        print(f"the neighbour: {named} of {count} samples have main")
        self.assertGreater(count, 0)
        self.assertGreater(named, 0.9 * count)

    def test_executables_on_a_slow_kind_of_mount_have_names(self):
        with open(os.path.join(PROGRAMS, "nested"), "rb") as file:
            mount = self.mount({"alive": file.read()})
        proc, = self.programs_on(mount, ["alive"])
        run = self.record(proc)
        begin = cpu_ticks(proc.pid)
        wait_for("CPU time of the program", lambda: cpu_ticks(proc.pid) > begin + 100)
        mine = [s for s in self.end(run).samples if s.labels["pid"] == proc.pid]
        count = sum(s.count for s in mine)
        named = sum(s.count for s in mine if any(f.name == "main" for f in s.frames))
        print(f"the program: {named} of {count} samples have main")
        self.assertGreater(count, 0)
        self.assertGreater(named, 0.9 * count)


if __name__ == "__main__":
    PROGRAMS = os.path.realpath(sys.argv.pop(1))
    whole.main()

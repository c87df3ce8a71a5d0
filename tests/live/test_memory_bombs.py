#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What files cost the agent that would take gigabytes: no more than limits.memory. Needs root and bpf().

    test_memory_bombs.py [NAME...]          EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import os
import subprocess
import sys
import tempfile
import time

import bombs
import whole
from agent import Agent

MIB = 1 << 20
# What the rest of a busy machine may make the agent hold beside; files that were read whole would be gigabytes.
OTHERS = 24 * MIB


def peak_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:"))


class Memory(whole.Case):
    paths = []

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="ebpf-profiler-test-")
        cls.addClassCleanup(cls.directory.cleanup)
        if os.statvfs(cls.directory.name).f_bavail * os.statvfs(cls.directory.name).f_frsize < 512 * MIB:
            print("skip: less than 512 MiB on the disk")
            sys.exit(whole.SKIP)
        cls.paths = bombs.write_all(cls.directory.name)

    def map_all(self):
        """Each by a process of its own, all at once."""
        for path in self.paths:
            # pylint: disable-next=consider-using-with
            process = subprocess.Popen([sys.executable, bombs.__file__, "map", path], stdout=subprocess.PIPE)
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            self.assertEqual(process.stdout.readline(), b"READY\n")

    def peak_of(self, memory, grows):
        """At most, until it has read some of them and 5 s more, however long that takes."""
        agent = Agent(self, f'[limits]\nmemory = "{memory}MiB"\n' if memory else "")
        before = peak_bytes(agent.process.pid)
        self.map_all()
        end = time.monotonic() + (60 if grows else 5)
        while peak_bytes(agent.process.pid) < before + 24 * MIB and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(5)
        peak = peak_bytes(agent.process.pid)
        self.assertEqual(agent.stop(), 0, agent.said)
        held = agent.count("bytes held for files that were read, at most")
        print(f"limits.memory {memory or 64} MiB: before {before >> 20} MiB, at most {peak >> 20} MiB, {held >> 20} MiB of it "
              f"held for files; too much {agent.count('times that they were too many')} times")
        return peak

    def test_the_default(self):
        self.assertLess(self.peak_of(0, grows=False), 64 * MIB + OTHERS)

    def test_little(self):
        self.assertLess(self.peak_of(40, grows=False), 40 * MIB + OTHERS)

    def test_enough_for_some_of_them(self):
        self.assertLess(self.peak_of(192, grows=True), 192 * MIB + OTHERS)


if __name__ == "__main__":
    whole.main()

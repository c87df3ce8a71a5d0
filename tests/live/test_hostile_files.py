#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are slow to read, files that are many, and files whose program has gone. Needs root and bpf().

    test_hostile_files.py PROGRAMS [NAME...]    EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import os
import resource
import shutil
import subprocess
import sys
import time

import bombs
import whole  # and with it where the kit is
from agent import Agent

BURN = ("import time\ndef inner(): return sum(range(1000))\ndef outer():\n    end = time.process_time() + 2\n"
        "    while time.process_time() < end: inner()\nouter()\n")
PROGRAMS = ""


class Hostile(whole.Case):
    def end(self, agent):
        """How long that took, with what it says at last."""
        start = time.monotonic()
        self.assertEqual(agent.stop(), 0, agent.said)
        return time.monotonic() - start

    def map(self, *paths):
        process = self.start([sys.executable, bombs.__file__, "map", *paths], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), b"READY\n")
        return process

    def samples_of(self, agent, pid):
        return [s for s in agent.profile(self).samples if s.labels["pid"] == pid]

    def nested(self, directory):
        """A program that has a second of CPU time, however long that takes, from a file that nobody has mapped yet."""
        program = os.path.join(directory, "nested")
        shutil.copy(os.path.join(PROGRAMS, "nested"), program)
        process = self.start([program, "120"], stdout=subprocess.DEVNULL)
        self.assertTrue(whole.wait_used(process.pid, 1))
        process.kill()
        process.wait()
        return process.pid

    def test_a_chain_without_end_keeps_nobody_waiting(self):
        path = os.path.join(self.dir, "chain")
        try:
            bombs.hash_chain(path)
        except OSError as error:
            self.skipTest(f"no file with such holes: {error}")
        agent = Agent(self)
        for _ in range(3):
            self.map(path)
        pid = self.nested(self.dir)
        took = self.end(agent)
        print(f"it ended after {took:.1f} s")
        self.assertLess(took, 30)
        self.check_whole("a new program", self.samples_of(agent, pid), 95, 10)

    def test_many_files_leave_descriptors_to_others(self):
        paths = [os.path.join(self.dir, f"file{i}") for i in range(1100)]
        bombs.write(paths[0], bombs.PAGE, [(".eh_frame", bombs.PROGBITS, 2, bombs.fdes(10))])
        for path in paths[1:]:
            shutil.copy(paths[0], path)
        agent = Agent(self, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)))
        self.map(*paths)
        late = self.start([sys.executable, "-c", BURN])
        self.assertEqual(late.wait(), 0)
        self.end(agent)
        self.check_share("a program that began then has its functions", self.samples_of(agent, late.pid),
                         lambda s: any(f.name in ("inner", "outer") for f in s.frames), 90, 20)

    def test_a_file_system_can_be_unmounted_after_its_last_program(self):
        there = os.path.join(self.dir, "mount")
        os.mkdir(there)
        if subprocess.run(["mount", "-t", "tmpfs", "none", there], check=False).returncode:
            self.skipTest("no tmpfs can be mounted")
        self.addCleanup(subprocess.run, ["umount", "-l", there], check=False, stderr=subprocess.DEVNULL)
        agent = Agent(self)
        pid = self.nested(there)
        start = time.monotonic()
        while subprocess.run(["umount", there], check=False, stderr=subprocess.DEVNULL).returncode:
            self.assertLess(time.monotonic() - start, 40, "it is still in use")
            time.sleep(0.1)
        print(f"it was unmounted {time.monotonic() - start:.1f} s after its last program")
        self.end(agent)
        self.assertGreater(sum(s.count for s in self.samples_of(agent, pid)), 10)


if __name__ == "__main__":
    PROGRAMS = os.path.realpath(sys.argv.pop(1))
    whole.main()

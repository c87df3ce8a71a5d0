# SPDX-License-Identifier: Apache-2.0
"""Programs whose names cost much, or which cannot be attached to, beside a neighbour: what that costs the
profiler, and the neighbour. To be imported after whole.py.

Nothing here depends on how busy the machine is: the neighbour runs until it has used CPU time enough, and what is
counted of the profiler is its CPU time.
"""
import os
import re
import signal
import subprocess
import sys
import time

import stacks
import whole

NEIGHBOUR_SECONDS = 2  # of CPU time, while it is recorded
# Each 50 ms another function; all of them are there before it says so.
NEIGHBOUR = """
import time
def burn(end):
    while time.process_time() < end: pass
scope = {"burn": burn}
for number in range(2000): exec("def neighbour_%d(end): burn(end)" % number, scope)
print("ready", flush=True)
input()
while True:
    for number in range(2000): scope["neighbour_%d" % number](time.process_time() + 0.05)
"""


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


class Case(whole.Case):
    def start(self, command, **more):
        """A process that has said that it is ready, and ends with the test."""
        proc = subprocess.Popen(command, stdout=subprocess.PIPE, **more)
        self.addCleanup(proc.communicate, timeout=60)
        self.addCleanup(proc.kill)
        line = proc.stdout.readline()
        if line != b"ready\n":
            self.skipTest(f"no room for {command[0]}: {line}")
        return proc

    def read_said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_until(self, profiler, condition):
        while not condition():
            self.assertIsNone(profiler.poll(), "the profiler has ended")
            time.sleep(0.1)

    def is_attached(self, pid):
        """And is walked: to load an unwinder may take a busy machine a minute."""
        said = self.read_said()
        attached = re.search(rf"(\w+): pid {pid}: attached", said)
        return attached and f" {attached[1]}: unwinder loaded" in said

    def record_beside(self, pids):
        """Records processes and a neighbour of theirs until that one has used its CPU time."""
        neighbour = self.start([sys.executable, "-c", NEIGHBOUR], stdin=subprocess.PIPE,
                               preexec_fn=lambda: os.nice(-10))
        everybody = ",".join(str(pid) for pid in [neighbour.pid, *pids])
        self.log = os.path.join(self.dir, "log")
        with open(self.log, "wb") as log:
            profiler = subprocess.Popen([whole.BINARY, "record", "-vv", "-F", "99", "--keep-root", "-o", self.out,
                                         "-p", everybody], stderr=log)
        self.addCleanup(profiler.wait, timeout=60)
        self.addCleanup(profiler.kill)
        self.wait_until(profiler, lambda: self.is_attached(neighbour.pid))
        neighbour.stdin.write(b"\n")
        neighbour.stdin.flush()
        self.wait_until(profiler, lambda: "first complete sample" in self.read_said())
        begin = time.monotonic()
        self.assertTrue(whole.wait_used(neighbour.pid, NEIGHBOUR_SECONDS))
        self.took = time.monotonic() - begin
        profiler.send_signal(signal.SIGINT)
        profiler.wait(timeout=200)
        self.said = self.read_said()
        self.assertEqual(profiler.returncode, 0, self.said[-4000:])
        return neighbour.pid

    def counter(self, text):
        """Of the profiler itself, as -v prints it; 0 where it does not."""
        found = re.search(r"^ *(\d+)  " + re.escape(text) + "$", self.said, re.MULTILINE)
        return int(found[1]) if found else 0

    def check(self, neighbour):
        samples = [s for s in stacks.read_profile(self.out).samples if s.labels["pid"] == neighbour]
        spent = self.counter("ms of CPU for language runtimes and frames")
        print(f"languages: {spent} ms in {self.took:.1f} s")
        self.check_share("the neighbour has its function", samples,
                         lambda s: any(frame.name.startswith("neighbour_") for frame in s.frames), 99)
        # 4 % of a CPU, what all have at once, and a step that each of them had begun.
        self.assertGreater(spent, 0)
        self.assertLess(spent, 3000 + 100 * self.took)

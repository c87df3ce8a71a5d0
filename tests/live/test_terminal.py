#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the profiler shows on a terminal, through a pseudo terminal. Needs root and bpf().

    test_terminal.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import whole

BURN = "import sys\ndef hot_one():\n    while True: sum(range(1000))\nhot_one()"
LINE = re.compile(r"(\d+)(?: of [0-9.]+)? s, (\d+) samples?(?:, ([0-9.]+) % complete)?, ([0-9.]+) % lost")


class Terminal:
    """A program on a terminal of its own, of 80 columns."""

    def __init__(self, *args, columns=80, rows=24, **more):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        self.process = subprocess.Popen([whole.BINARY, *args], stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        start_new_session=True, **more)

    def read(self, seconds):
        """What comes within so much time."""
        new, end = "", time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    new += os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError:
                    break
        self.text += new
        return new

    def wait_for(self, pattern, seconds=40):
        """The match, in what comes from here on; None when nothing did."""
        new, end = "", time.monotonic() + seconds
        while time.monotonic() < end:
            new += self.read(0.1)
            found = re.search(pattern, new)
            if found:
                return found
        return None

    def type(self, keys):
        os.write(self.master, keys.encode())

    def end(self, seconds=40):
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        if self.process.poll() is None:
            self.process.kill()
        self.read(0.2)
        return self.process.wait()

    def settings(self):
        return termios.tcgetattr(self.slave)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


class Case(whole.Case):
    def setUp(self):
        super().setUp()
        self.busy = subprocess.Popen([sys.executable, "-c", BURN])
        self.addCleanup(self.busy.wait)
        self.addCleanup(self.busy.kill)

    def terminal(self, *args, **more):
        terminal = Terminal(*args, **more)
        self.addCleanup(terminal.close)
        return terminal


class Record(Case):
    def test_a_line_a_second_overwrites_itself(self):
        terminal = self.terminal("record", "-d", "4s", "-p", str(self.busy.pid), "-o", self.out)
        self.assertEqual(terminal.end(), 0, terminal.text)
        head = terminal.text[:terminal.text.index("samples in ")]
        lines = list(LINE.finditer(head))
        self.assertGreaterEqual(len(lines), 2, terminal.text)
        self.assertEqual([m.string[m.end():m.end() + 4] for m in lines], ["\033[K\r"] * len(lines))
        self.assertNotIn("\n", head[lines[0].start():lines[-1].end()])
        times = [int(m[1]) for m in lines]
        self.assertEqual(times, sorted(set(times)))
        self.assertGreater(int(lines[-1][2]), 0)
        self.assertIn("\r\033[K", head[lines[-1].start():])

    def test_quiet_and_files_have_none(self):
        terminal = self.terminal("record", "-q", "-d", "2500ms", "-a", "-o", self.out)
        self.assertEqual(terminal.end(), 0, terminal.text)
        self.assertEqual(terminal.text, "")
        result = whole.run("record", "-d", "2500ms", "-a", "-o", self.out, "--force")
        self.assertNotIn("\r", result.stderr)

    def test_a_command_has_the_terminal_for_itself(self):
        terminal = self.terminal("record", "-o", self.out, "--", sys.executable, "-c",
                                 "import time\nend = time.monotonic() + 2.5\nwhile time.monotonic() < end: pass")
        self.assertEqual(terminal.end(), 0, terminal.text)
        self.assertIsNone(LINE.search(terminal.text))

    def test_a_language_has_a_line_with_the_reasons(self):
        result = whole.run("record", "-v", "-d", "2s", "-p", str(self.busy.pid), "-o", self.out)
        self.assertRegex(result.stderr, r"\n +share  complete  language\n( +[0-9.]+ % +[0-9.]+ %  \S+.*\n)+")

    def test_a_loss_is_a_share_of_the_ticks_due(self):
        """A process that sleeps: its few samples are not what a loss is compared with."""
        result = whole.run("record", "-d", "2s", "-o", self.out, "--", sys.executable, "-c", "import time; time.sleep(1)")
        lost = re.search(r"(\d+) samples lost(?: \(([0-9.]+) % of the ticks due\))?", result.stderr)
        self.assertTrue(lost, result.stderr)
        self.assertEqual(lost[1] == "0", lost[2] is None)


if __name__ == "__main__":
    whole.main()

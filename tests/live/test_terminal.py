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

import whole  # and with it where the kit is
import stacks

# All its time is its own, so that a table by self begins with it.
BURN = "def hot_one():\n    n = 0\n    while True: n = n * 3 & 1023\nhot_one()"
LINE = re.compile(r"(\d+)(?: of [0-9.]+)? s, (\d+) samples?(?:, ([0-9.]+) % complete)?, ([0-9.]+) % lost")


class Terminal:
    """A program on a terminal of its own, of 80 columns."""

    def __init__(self, *args, columns=80, rows=24, **more):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        # A shell has its background jobs ignore SIGQUIT, and what they start.
        self.process = subprocess.Popen(["env", "--default-signal", whole.BINARY, *args], stdin=self.slave,
                                        stdout=self.slave, stderr=self.slave, start_new_session=True, **more)

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
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(len(set(times)), 2)
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


class Top(Case):
    def start(self, *args, columns=80, rows=24):
        terminal = self.terminal("top", *args, columns=columns, rows=rows, cwd=self.dir)
        self.assertTrue(terminal.wait_for("hot_one"), terminal.text)
        return terminal

    def assert_restored(self, terminal):
        self.assertEqual(terminal.settings(), terminal.before)
        self.assertEqual(terminal.text.count("\033[?1049h"), terminal.text.count("\033[?1049l"))
        self.assertTrue(terminal.text.rstrip().endswith("\033[?1049l"), repr(terminal.text[-100:]))

    def test_keys(self):
        terminal = self.start("-p", str(self.busy.pid))
        for keys, shows in (("s", "by total"), ("g", "program"), ("g", r"pid  process"), ("g", "tid  thread"), ("g", "user"),
                            ("g", "unit"), ("g", "container"),
                            ("g", "cpython"), ("gs", "by self"), ("h", "sort by self or by total"), ("h", "hot_one"),
                            ("/no_such\r", r"only stacks with /no_such/: 0.00 %"), ("/\x7f\x7f\x7f\x7f\x7f\x7f\x7f\r", "hot_one"),
                            ("/(\r", "the filter"), (" ", "frozen"), (" ", "hot_one"), ("\033[A", "hot_one")):
            terminal.type(keys)
            self.assertTrue(terminal.wait_for(shows, 15), (keys, terminal.text[-2000:]))
        terminal.type("q")
        self.assertEqual(terminal.end(), 0, terminal.text)
        self.assert_restored(terminal)

    def test_a_page_is_written(self):
        terminal = self.start("-p", str(self.busy.pid), "-f", "pprof")
        terminal.type("w")
        written = terminal.wait_for(r"wrote (profile-top-[0-9-]+\.pb\.gz)", 20)
        self.assertTrue(written, terminal.text[-2000:])
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        profile = stacks.read_profile(os.path.join(self.dir, written[1]))
        self.assertTrue(any(frame.name == "hot_one" for sample in profile.samples for frame in sample.frames))

    def test_every_end_gives_the_terminal_back(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT):
            with self.subTest(signal=number):
                terminal = self.start("-p", str(self.busy.pid))
                terminal.process.send_signal(number)
                status = terminal.end()
                self.assertIn(status, (0, -number), terminal.text[-500:])
                self.assert_restored(terminal)

    def test_stopped_and_continued(self):
        terminal = self.start("-p", str(self.busy.pid))
        terminal.process.send_signal(signal.SIGTSTP)
        self.assertTrue(terminal.wait_for(r"\?1049l"), repr(terminal.text[-200:]))
        self.assertEqual(terminal.settings(), terminal.before)
        terminal.process.send_signal(signal.SIGCONT)
        self.assertTrue(terminal.wait_for("hot_one"), terminal.text[-500:])
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        self.assert_restored(terminal)

    def test_it_fits_into_80_columns_and_less(self):
        for columns, rows in ((80, 24), (50, 10)):
            terminal = self.terminal("top", "-a", columns=columns, rows=rows)
            self.assertTrue(terminal.wait_for("s of CPU time"), terminal.text)
            terminal.read(2)
            terminal.type("q")
            self.assertEqual(terminal.end(), 0)
            for screen in terminal.text.split("\033[H")[1:-1]:
                lines = [re.sub(r"\033\[[?0-9]*[A-Za-z]", "", line).rstrip("\r") for line in screen.split("\n")]
                self.assertEqual(len(lines), rows, screen)
                self.assertLessEqual(max(map(len, lines)), columns, screen)

    def test_a_command_is_not_seen_and_its_end_is(self):
        terminal = self.terminal("top", "--", sys.executable, "-c",
                                 "import time\nend = time.monotonic() + 4\nwhile time.monotonic() < end: print('noise')",
                                 cwd=self.dir)
        self.assertTrue(terminal.wait_for("the target has ended"), terminal.text[-2000:])
        self.assertNotIn("noise\r", terminal.text)
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        self.assert_restored(terminal)

    def test_tables_without_a_terminal(self):
        result = whole.run("top", "-d", "4500ms", "-p", str(self.busy.pid), stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(result.stdout.count("ebpf-profiler top: "), 2, result.stdout)
        self.assertIn("hot_one", result.stdout)
        self.assertNotIn("\033", result.stdout)


if __name__ == "__main__":
    whole.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent as a service: what it tells its manager, which is played here. Needs root and bpf().

    test_service.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import ctypes
import os
import signal
import socket
import subprocess
import time

import whole  # and with it where the kit is
import refused_calls
from whole import BINARY, Case

LIVE = os.path.dirname(os.path.realpath(__file__))
SECONDS = 90    # to wait for a word, at most: a busy machine takes its time
WATCHDOG_US = 1000000


def has_libsystemd():
    try:
        ctypes.CDLL("libsystemd.so.0")
    except OSError:
        return False
    return True


class Manager(Case):
    def setUp(self):
        super().setUp()
        if not has_libsystemd():
            self.skipTest("no libsystemd.so.0")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.bind(os.path.join(self.dir, "notify"))
        self.log = os.path.join(self.dir, "log")
        self.said = []

    def start(self, kind="pprof", options="", **environment):
        path = os.path.join(self.dir, "profiler.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[plugins]\nenable = ["{kind}"]\n[[exporter]]\ntype = "{kind}"\ninterval = "1s"\n{options}\n')
        with open(self.log, "wb") as log:
            agent = subprocess.Popen([BINARY, "--config", path], stderr=log, stdin=subprocess.DEVNULL, env={
                **os.environ, "NOTIFY_SOCKET": os.path.join(self.dir, "notify"), "WATCHDOG_USEC": str(WATCHDOG_US),
                **environment})
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        super().start(whole.burner(600))    # there is something to export
        return agent

    def read_log(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def listen(self, condition, seconds=SECONDS):
        """Until the lines that were said are what the condition wants."""
        end = time.monotonic() + seconds
        while not condition() and (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                self.said += self.socket.recv(4096).decode().splitlines()
            except TimeoutError:
                break
        return condition()

    def test_it_is_told_of_readiness_life_and_the_end(self):
        agent = self.start(options=f'directory = "{self.dir}"')
        self.assertTrue(self.listen(lambda: "READY=1" in self.said), self.read_log())
        self.assertIn("sampling at", self.read_log())
        self.assertTrue(self.listen(lambda: self.said.count("WATCHDOG=1") >= 4), self.said)
        agent.send_signal(signal.SIGHUP)    # that is no reason to be quiet
        self.assertTrue(self.listen(lambda: self.said.count("WATCHDOG=1") >= 6), self.said)
        agent.send_signal(signal.SIGTERM)
        self.assertTrue(self.listen(lambda: "STOPPING=1" in self.said), self.said)
        self.assertEqual(agent.wait(SECONDS), 0, self.read_log())
        self.assertEqual(self.said[0], "READY=1")
        self.assertIn("STATUS=sampling at 20 Hz", self.said)
        self.assertEqual(self.said.count("READY=1"), 1)
        self.assertEqual(refused_calls.said_in(self.read_log()), [])

    def test_a_loop_that_hangs_gives_no_sign_of_life(self):
        """An exporter blocks the loop with its first batch, for good."""
        plugins = os.path.join(self.dir, "plugins")
        os.mkdir(plugins, 0o755)
        subprocess.run(["cc", "-O2", "-Wall", "-D_GNU_SOURCE", "-DHANGS", "-shared", "-fPIC", "-fvisibility=hidden",
                        "-I" + os.path.join(LIVE, "..", "..", "include"), os.path.join(LIVE, "programs", "forbidden.c"),
                        "-o", os.path.join(plugins, "forbidden.so")], check=True)
        agent = self.start("forbidden", EBPF_PROFILER_PLUGINS_DIR=plugins)
        self.assertTrue(self.listen(lambda: "WATCHDOG=1" in self.said), self.read_log())
        end = time.monotonic() + SECONDS
        while "forbidden: hangs" not in self.read_log() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertIn("forbidden: hangs", self.read_log())
        self.listen(lambda: False, 0.5)     # what was sent before
        heard = len(self.said)
        self.listen(lambda: False, 4 * WATCHDOG_US / 1e6)
        self.assertEqual(self.said[heard:], [])
        agent.kill()

    def test_the_watchdog_of_another_process_is_none(self):
        self.start(options=f'directory = "{self.dir}"', WATCHDOG_PID="1")
        self.assertTrue(self.listen(lambda: "READY=1" in self.said), self.read_log())
        self.listen(lambda: False, 3 * WATCHDOG_US / 1e6)
        self.assertNotIn("WATCHDOG=1", self.said)


if __name__ == "__main__":
    whole.main()

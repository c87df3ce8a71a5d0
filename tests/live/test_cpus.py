#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPUs that are taken away while a profiler samples them. Needs root and bpf(), and a CPU 1 that can go.

    test_cpus.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import os
import signal
import time
import unittest

import whole  # and with it where the kit is
import stacks
from whole import BINARY, Case, burner, has_events, wait_used

CPU_1 = "/sys/devices/system/cpu/cpu1/online"


def switch_cpu_off(seconds):
    """CPU 1, and on again."""
    try:
        with open(CPU_1, "w", encoding="ascii") as file:
            file.write("0")
        time.sleep(seconds)
    finally:
        with open(CPU_1, "w", encoding="ascii") as file:
            file.write("1")


@unittest.skipUnless(os.access(CPU_1, os.W_OK), "CPU 1 cannot be taken away here")
class Cpus(Case):
    """That are taken away, and come back."""

    def test_cpu_that_goes_and_comes_at_once_is_noticed(self):
        self.take_cpu_away(0)

    def test_cpu_that_goes_and_comes_is_followed(self):
        self.take_cpu_away(1.5)

    def test_cpu_that_goes_and_comes_before_it_samples(self):
        profiler = None
        while not profiler or whole.is_sampling(self.messages):  # it must be stopped in between
            with open(self.messages, "wb") as log:
                profiler = self.start([BINARY, "record", "-v", "-a", "-F", "199", "-o", self.out], stderr=log)
            while not has_events(profiler):
                self.assertIsNone(profiler.poll())
            profiler.send_signal(signal.SIGSTOP)
        switch_cpu_off(0)
        profiler.send_signal(signal.SIGCONT)
        self.check_cpu_is_sampled(profiler)

    def take_cpu_away(self, seconds):
        before = self.start(burner(600))
        profiler = self.start_recording("-a", "-F", "199")
        self.assertTrue(wait_used(before.pid, 0.5))
        switch_cpu_off(seconds)
        self.check_cpu_is_sampled(profiler)

    def check_cpu_is_sampled(self, profiler):
        busy = self.start(["taskset", "-c", "1", *burner(600)])
        self.assertTrue(wait_used(busy.pid, 3))
        self.end_recording(profiler)
        found = {(s.labels.get("cpu"), s.labels.get("pid")) for s in stacks.read_profile(self.out).samples}
        self.assertIn((1, busy.pid), found)


if __name__ == "__main__":
    whole.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Periods, weights and lost samples of a real recording of busy CPUs. Needs root and bpf().

    test_sampling.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import collections
import os
import re
import signal
import subprocess
import sys
import time

import whole  # and with it where the kit is
import stacks

ONLINE = "/sys/devices/system/cpu/cpu1/online"
BURN = "while True: pass"


class Case(whole.Case):
    def setUp(self):
        super().setUp()
        self.busy = [subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", BURN])
                     for cpu in sorted(os.sched_getaffinity(0))]

    def tearDown(self):
        for proc in self.busy:
            proc.kill()
            proc.wait()

    def start(self, freq, *words):
        with open(self.messages, "wb") as log:
            return subprocess.Popen([whole.BINARY, "record", "-v", "-a", "-F", str(freq), *words, "-o", self.out, "--force"],
                                    stderr=log)

    def end(self, profiler):
        """Weight in seconds and count by CPU, samples lost, wall time in seconds."""
        status = profiler.wait(120)
        with open(self.messages, encoding="utf-8") as log:
            summary = log.read()
        self.assertEqual(status, 0, summary)
        weight, count = collections.Counter(), collections.Counter()
        self.samples = stacks.read_profile(self.out).samples
        for sample in self.samples:
            weight[sample.labels["cpu"]] += sample.weight_ns / 1e9
            count[sample.labels["cpu"]] += sample.count
        lost = int(re.search(r"(\d+) samples lost", summary)[1])
        return weight, count, lost, float(re.search(r"samples in ([0-9.]+) s", summary)[1])

    def periods(self):
        """{CPU: seconds}; every sample of a CPU has its period."""
        found = collections.defaultdict(set)
        for sample in self.samples:
            self.assertEqual(sample.weight_ns % sample.count, 0)
            found[sample.labels["cpu"]].add(sample.weight_ns // sample.count)
        self.assertTrue(all(len(periods) == 1 for periods in found.values()), found)
        return {cpu: periods.pop() / 1e9 for cpu, periods in found.items()}

AWAY_SECONDS = 4


class Sampling(Case):
    def test_weights_and_lost_samples_are_all_the_time_there_was(self):
        for freq, seconds in ((20, 5), (99, 3), (1000, 2), (9999, 2)):
            with self.subTest(freq=freq):
                weight, count, lost, wall = self.end(self.start(freq, "-d", f"{seconds}s"))
                self.assertEqual(set(weight), os.sched_getaffinity(0))
                there_was = wall * len(weight)
                # a tick at the end of each CPU's, wall is told in tenths
                slack = (0.05 + 1.1 / freq) * len(weight) + 0.02 * there_was
                self.assertAlmostEqual(sum(weight.values()) + lost / freq, there_was, delta=slack)
                self.assertGreater(sum(count.values()), 0.5 * there_was * freq)

    def test_each_cpu_has_a_period_of_its_own_for_ever(self):
        self.end(self.start(99, "-d", "2s"))
        periods = self.periods()
        for cpu, period in periods.items():
            self.assertGreater(abs(period * 99 - 1), 0.029)
            self.assertLess(abs(period * 99 - 1), 0.101)
            if cpu ^ 1 in periods:
                self.assertAlmostEqual(period + periods[cpu ^ 1], 2 / 99, delta=1e-7)
        self.assertEqual(len(set(periods.values())), len(periods))
        self.end(self.start(99, "-d", "1s"))
        self.assertEqual(self.periods(), periods)

    def test_a_cpu_that_comes_back_has_its_period(self):
        if not os.access(ONLINE, os.W_OK):
            self.skipTest("CPU 1 cannot be taken away here")
        profiler = self.start(99)
        self.assertTrue(whole.wait_until(lambda: whole.is_sampling(self.messages)) and whole.wait_used(self.busy[0].pid, 1))
        try:
            with open(ONLINE, "w", encoding="ascii") as file:
                file.write("0")
            time.sleep(AWAY_SECONDS)
        finally:
            with open(ONLINE, "w", encoding="ascii") as file:
                file.write("1")
        subprocess.run(["taskset", "-pc", "1", str(self.busy[1].pid)], check=True,
                       stdout=subprocess.DEVNULL)  # it lost its CPU
        self.assertTrue(whole.wait_used(self.busy[1].pid, 2))
        profiler.send_signal(signal.SIGINT)
        weight, _, lost, wall = self.end(profiler)
        self.assertIn(1, self.periods())
        # Of the time that it was away nothing is lost; other ticks may be, which a busy machine is late for.
        self.assertLess(lost / 99, AWAY_SECONDS - 0.5)
        self.assertGreater(weight[0] + lost / 99, 0.9 * wall)
        self.assertLess(weight[1], wall - AWAY_SECONDS + 0.2)
        self.assertGreater(weight[1] + lost / 99, 0.5 * (wall - AWAY_SECONDS - 1))


if __name__ == "__main__":
    whole.main()

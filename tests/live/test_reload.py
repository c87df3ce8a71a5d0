#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGHUP to an agent: its configuration is read again, and no CPU time is lost between the old one and the new one.
Needs root and bpf().

    test_reload.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import os
import re
import signal

import agent
import whole  # and with it where the kit is
import counting
import runs
import stacks
from whole import Case, burner, wait_until, wait_used


class Reload(Case):
    def hang_up(self, there, said):
        self.assertTrue(there.signal(signal.SIGHUP, said), there.log())

    def samples_of(self, pid, directory=None):
        return [sample for path in agent.files_in(directory or self.dir)
                for sample in stacks.read_profile(path).samples if sample.labels.get("pid") == pid]

    def test_rates_change_and_nothing_is_lost(self):
        """The samples of a process come to its CPU time, whatever rates there were meanwhile."""
        busy = self.start(burner(600))
        there = agent.Agent(self)
        begun = runs.cpu_of(busy.pid)
        for freq in (199, 99, 499, 99):
            self.assertTrue(wait_used(busy.pid, 0.5))
            agent.write_config(self.dir, freq=freq)
            self.hang_up(there, f"sampling at {freq} Hz")
        self.assertTrue(wait_used(busy.pid, 0.5))
        busy.send_signal(signal.SIGSTOP)
        used = runs.cpu_of(busy.pid) - begun
        there.check_stop(self)
        profiles = [stacks.read_profile(path) for path in agent.files_in(self.dir)]
        rates = {int(re.search(r"(\d+) Hz", " ".join(profile.comments)).group(1)) for profile in profiles}
        self.assertEqual(rates, {49, 199, 99, 499})
        seconds = sum(sample.weight_ns for profile in profiles for sample in profile.samples
                      if sample.labels.get("pid") == busy.pid) / 1e9
        lost = sum(profile.lost for profile in profiles)
        print(f"{seconds:.3f} s sampled of {used:.3f} s used, {lost} ticks that are said to be lost")
        # By the coarsest rate, and a tick more or less for each configuration.
        fewest, most = counting.amount(used * 49)
        self.assertGreaterEqual(seconds * 49 + lost + 5, fewest)
        self.assertLessEqual(seconds * 49 - 5, most)

    def test_a_filter_comes_and_goes(self):
        busy, other = self.start(burner(600)), self.start(["sh", "-c", "while :; do :; done"])
        there = agent.Agent(self)
        for more in ('[filter]\ncomm = ["!sh"]\n', f"[filter]\npid = {other.pid}\n", ""):
            agent.write_config(self.dir, more, freq=99)
            self.hang_up(there, "agent: output: ")
            self.assertTrue(wait_used(busy.pid, 0.5) and wait_used(other.pid, 0.5))
        there.check_stop(self)
        seen = []
        for profile in sorted(map(stacks.read_profile, agent.files_in(self.dir)), key=lambda profile: profile.raw[9]):
            pids = {sample.labels.get("pid") for sample in profile.samples}
            found = busy.pid in pids, other.pid in pids
            if any(found):
                seen.append(found)
        # A configuration may have two files: of a signal, and of its end. Before the first there may be none.
        steps = [found for found, before in zip(seen, [None, *seen]) if found != before]
        self.assertEqual(steps[-3:], [(True, False), (False, True), (True, True)], there.log())

    def test_other_exporters_take_over(self):
        new = os.path.join(self.dir, "new")
        os.mkdir(new, 0o700)
        busy = self.start(burner(600))
        there = agent.Agent(self)
        self.assertTrue(wait_used(busy.pid, 0.5))
        agent.write_config(self.dir, interval="2h", into=new)
        self.hang_up(there, f"output: pprof: {new}")
        self.assertTrue(wait_used(busy.pid, 0.5))
        there.check_stop(self)
        self.assertTrue(self.samples_of(busy.pid) and self.samples_of(busy.pid, new))
        times = [[(profile.raw[9][0], profile.raw[9][0] + profile.raw[10][0])
                  for profile in map(stacks.read_profile, agent.files_in(directory))] for directory in (self.dir, new)]
        self.assertEqual(len(times[1]), 1)
        # Both sample for the moment that the loop needs to end the one before.
        self.assertLess(max(end for _, end in times[0]) - times[1][0][0], 1e9)

    def test_with_a_mistake_nothing_changes(self):
        there = agent.Agent(self)
        self.assertTrue(wait_until(lambda: "output: pprof: " in there.log()), there.log())  # the last line of a start
        for text, said in (("freq = 0", "freq must be a number from 1 to 10000"), ("freq = 98\nfrq = 3", "unknown key 'frq'")):
            with open(agent.write_config(self.dir, freq=98), "r+", encoding="utf-8") as file:
                config = file.read().replace("freq = 98", text)
                file.seek(0)
                file.write(config)
            lines = len(there.said)
            self.hang_up(there, "nothing changes")
            self.assertTrue(wait_until(lambda said=said: said in there.log()), there.log())
            news = [line for line in there.said[lines:] if "unwinder loaded" not in line]
            self.assertLessEqual(len(news), 3, news)  # what it writes, the mistake, what follows of it
        there.check_stop(self)
        self.assertNotIn("sampling at 98", there.log())

    def test_what_cannot_change_is_named(self):
        there = agent.Agent(self)
        agent.write_config(self.dir, "[security]\nfilter_system_calls = false\n", freq=48)
        self.hang_up(there, "sampling at 48 Hz")
        self.assertIn("filter_system_calls changes with a restart only", there.log())
        there.check_stop(self)

    def test_signals_one_after_the_other(self):
        """Those that come while one configuration takes over are for the last one that is there."""
        there = agent.Agent(self)
        for freq in range(50, 70):
            agent.write_config(self.dir, freq=freq)
            there.process.send_signal(signal.SIGHUP)
        self.assertTrue(wait_until(lambda: "sampling at 69 Hz" in there.log()), there.log())
        there.check_stop(self)


if __name__ == "__main__":
    whole.main()

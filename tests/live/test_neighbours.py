#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process that floods the profiler's tables, and what its neighbour loses: nothing. Needs root and bpf().

    test_neighbours.py PROGRAMS             EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import os
import subprocess
import sys

import whole  # and with it where the kit is
import stacks
from whole import wait_used

FREQ = 499
FRAMES = 900  # of each stack of the flood
SHARE = 1 << 18  # of the frame table, at the memory that record may have
PROGRAMS = ""


class Neighbours(whole.Case):
    def program(self, name, *words, **options):
        return self.start([os.path.join(PROGRAMS, name), *words], **options)

    def record(self, freq, run):
        """The samples of each process that run() leaves."""
        profiler = self.start_recording("-a", "-F", str(freq))
        pids = [process.pid for process in run()]
        self.end_recording(profiler)
        samples = stacks.read_profile(self.out).samples
        return [[s for s in samples if s.labels["pid"] == pid] for pid in pids]

    def test_a_flood_of_frames_costs_its_neighbour_nothing(self):
        def run():
            """
            The flood has CPU time for eight times its share of frames, of which a busy machine has lost three quarters:
            stacks of 900 frames fill the ring; then the neighbour begins.
            """
            flood = self.program("returns")
            self.assertTrue(wait_used(flood.pid, 8 * SHARE / FRAMES / FREQ))
            neighbour = self.program("nested", "1", stdout=subprocess.DEVNULL)
            neighbour.wait()
            flood.kill()
            return flood, neighbour
        flood, neighbour = self.record(FREQ, run)
        self.check_whole("the neighbour", neighbour, 99)
        cut = "[truncated: its process has more frames than one may have]"
        n_frames = FRAMES * sum(s.count for s in flood)
        print(f"the flood: {n_frames} frames, {n_frames / SHARE:.1f} of its share")
        self.assertTrue(any(frame.name == cut for s in flood for frame in s.frames), "the flood is not cut")

    def test_a_flood_of_mappings_costs_its_neighbour_nothing(self):
        def run():
            flood = self.program("remaps", "30000", "file", stdout=subprocess.PIPE)
            neighbour = self.program("nested", "300", stdout=subprocess.DEVNULL)
            self.addCleanup(flood.stdout.close)
            flood.stdout.readline()
            self.assertTrue(wait_used(flood.pid, 4) and wait_used(neighbour.pid, 1))
            return flood, neighbour
        self.check_whole("the neighbour", self.record(199, run)[1], 99)


if __name__ == "__main__":
    PROGRAMS = os.path.realpath(sys.argv.pop(1))
    whole.main()

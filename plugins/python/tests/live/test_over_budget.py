#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four programs with line tables of 1 MiB and new frames in each sample: their own names suffer, a neighbour's do
not, and the recording ends. Needs root and bpf().

    test_over_budget.py       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..", "..", "tests", "live"))

import whole  # and with it where the kit is
import over_budget
import pythons

class OverBudget(over_budget.Case):
    def test_names_that_take_long_are_their_programs_alone(self):
        if sys.version_info < (3, 11):
            self.skipTest("no line tables of this kind before 3.11")
        procs = [self.start([sys.executable, "-c", pythons.GREEDY]) for _ in range(4)]
        neighbour = self.record_beside([proc.pid for proc in procs])
        self.check(neighbour)
        self.assertIn("naming it takes too long", self.said)


if __name__ == "__main__":
    whole.main()

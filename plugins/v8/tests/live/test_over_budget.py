#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that say they are V8, with very many mappings and a heap that never comes: to look for it again and again
costs them, and not the profiler or a neighbour. Needs root and bpf().

    test_over_budget.py       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "..", "tests", "live"))

import whole  # and with it where the kit is
import many
import over_budget

PROCESSES, MAPPINGS = 20, 30000


class Unborn(over_budget.Case):
    def test_a_heap_that_never_comes_is_looked_for_seldom(self):
        if not os.path.exists(os.path.join(os.environ["EBPF_PROFILER_PLUGINS_DIR"], "python.so")):
            self.skipTest("the neighbour is a Python")
        made = many.build(os.path.join(HERE, "unborn.c"), self.dir) or self.skipTest("no compiler")
        proc = self.start([*made, str(PROCESSES), str(MAPPINGS)], stdin=subprocess.PIPE)
        neighbour = self.record_beside(over_budget.children(proc.pid))
        self.assertIn("v8: its runtime is", self.said)
        self.check(neighbour)
        waited = ("times that attaching was put off until it is paid for",
                  "times that a process was not looked at since it slept")
        self.assertGreater(sum(self.counter(text) for text in waited), 0)


if __name__ == "__main__":
    whole.main()

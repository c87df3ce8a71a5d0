#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent costs beside a busy Python at 20 Hz."""
import os
import sys

import beside
import measure

HERE = os.path.dirname(os.path.realpath(__file__))

if __name__ == "__main__":
    measure.begin()
    beside.rows("a busy Python", [sys.executable, os.path.join(HERE, "..", "live", "workload.py"), "burn", "1000"], 20, 1.5)

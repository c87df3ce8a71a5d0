#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent costs beside a busy Python at 20 Hz."""
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "..", "..", "tests", "bench")]
import beside  # noqa: E402
import measure  # noqa: E402


def main():
    measure.begin()
    beside.rows("a busy Python", [sys.executable, os.path.join(HERE, "..", "live", "workload.py"), "burn", "1000"], 20,
                1.5)


if __name__ == "__main__":
    main()

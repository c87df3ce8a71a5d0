#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent costs beside a busy Node at 20 Hz, and beside TypeScript's compiler, again and again, at 99 Hz.

EBPF_PROFILER_BENCH_TSC: where tsc.js is (npm install typescript); without it that row is a skip.
"""
import os

import beside
import measure

HERE = os.path.dirname(os.path.realpath(__file__))

TSC = os.environ.get("EBPF_PROFILER_BENCH_TSC")


def main():
    measure.begin()
    beside.rows("a busy Node", ["node", os.path.join(HERE, "programs", "shares.js"), "1000"], 20, 1.5)
    if TSC:
        source = os.path.join(os.path.dirname(TSC), "typescript.d.ts")
        beside.rows("tsc in a loop", ["node", TSC, "--noEmit", "--lib", "esnext,dom", source], 99, 6, 80, loop=True,
                    statuses=(0, 1, 2))
    else:
        measure.skip_row("agent beside tsc in a loop, 99 Hz", "EBPF_PROFILER_BENCH_TSC names no tsc.js")


if __name__ == "__main__":
    main()

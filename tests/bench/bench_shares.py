#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time shares at 99 Hz over 30 s against what a program measures of itself."""
import collections
import os
import re
import tempfile

import measure
import passes
import shares

PROGRAM = os.path.join(measure.BUILD, "tests", "live", "shares")
SECONDS = os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "30")


def main():
    with tempfile.TemporaryDirectory() as directory:
        profile, said, _ = passes.run_record(99, [PROGRAM, SECONDS], directory)
    seen = collections.Counter()
    for sample in profile.samples:
        names = [frame.name for frame in sample.frames]
        seen[next((n for n in names if n.startswith("share_")), "")] += sample.weight_ns
    total = sum(seen.values())
    worst = 0.0
    for name, percent in re.findall(r"^SHARE (\w+) ([0-9.]+)$", said, re.M):
        apart = shares.difference(seen[name], total, float(percent), 100)
        worst = max(worst, abs(apart))
        measure.note(f"{name}: itself {percent} %, profile {float(percent) + apart:.2f} %")
    measure.row(f"largest error of a time share, {sum(s.count for s in profile.samples)} samples", worst,
                "percentage points", "<= 1", 1)


if __name__ == "__main__":
    main()

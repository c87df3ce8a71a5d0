#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time shares at 99 Hz over 30 s against what a program measures of itself."""
import collections
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.environ["EBPF_PROFILER_ROOT"]
PROGRAM = os.path.join(os.environ["EBPF_PROFILER_BUILD"], "tests", "live", "shares")
sys.path[:0] = [os.path.join(ROOT, "tests", part) for part in ("live", "kit")]
import check_stacks  # noqa: E402
import shares  # noqa: E402
import stacks  # noqa: E402

SECONDS = os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "30")


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "x.pb.gz")
        run = subprocess.run([os.environ["EBPF_PROFILER_BINARY"], "record", "-F", "99", "-o", path,
                              "--", PROGRAM, SECONDS], capture_output=True, text=True, check=False)
        if run.returncode in check_stacks.CANNOT and not os.path.exists(path):
            print(run.stderr.strip().splitlines()[-1])
            sys.exit(check_stacks.SKIP)
        if run.returncode != 0:
            sys.exit(run.stderr)
        samples = stacks.read_profile(path).samples
    seen = collections.Counter()
    for sample in samples:
        names = [frame.name for frame in sample.frames]
        seen[next((n for n in names if n.startswith("share_")), "")] += sample.weight_ns
    total = sum(seen.values())
    worst = 0.0
    for name, percent in re.findall(r"^SHARE (\w+) ([0-9.]+)$", run.stdout, re.M):
        apart = shares.difference(seen[name], total, float(percent), 100)
        worst = max(worst, abs(apart))
        print(f"{name}: itself {percent} %, profile {float(percent) + apart:.2f} %", file=sys.stderr)
    print(f"largest error of a time share, {sum(s.count for s in samples)} samples\t{worst:.2f}\tpercentage points"
          f"\t<= 1\t{'met' if worst <= 1 else 'missed'}")


if __name__ == "__main__":
    main()

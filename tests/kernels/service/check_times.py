#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles that one agent wrote: each begins when the one before it ends, whatever asked for it.

    check_times.py PROFILE...

Exit status: 0 or 1.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "kit"))
import stacks  # noqa: E402

TIME_NANOS, DURATION_NANOS = 9, 10  # fields of pprof's message Profile
BETWEEN_S = 1    # two clocks are read, one after the other


def times_of(path):
    raw = stacks.read_profile(path).raw
    start = stacks.first(raw, TIME_NANOS)
    return start / 1e9, (start + stacks.first(raw, DURATION_NANOS)) / 1e9


def main(paths):
    times = sorted(map(times_of, paths))
    print("\n".join(f"{start:.3f} to {end:.3f}" for start, end in times))
    between = [after[0] - before[1] for before, after in zip(times, times[1:])]
    print("between them:", *(f"{seconds:.3f}" for seconds in between))
    if not between:
        print("failed: one profile")
        return 1
    return 1 if any(abs(seconds) > BETWEEN_S for seconds in between) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

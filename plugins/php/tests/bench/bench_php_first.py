#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first PHP: what of it is in its interpreter without a frame of PHP. How is in tests/kit/first.py."""
import backtraces
import phps
import first
import measure


def is_raw(frames):
    return any(frame.name.startswith("execute_ex") for frame in frames) and not any(map(backtraces.is_php, frames))


if __name__ == "__main__":
    measure.begin()
    for runtime in phps.one_of_each(first.own("PHP", phps.find())):
        first.bench(f"PHP {runtime.version}", phps.burner(runtime, first.SECONDS, "--only=plain,callbacks"), is_raw)

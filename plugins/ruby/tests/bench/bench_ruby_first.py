#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first Ruby: what of it is in its interpreter without a frame of Ruby. How is in tests/kit/first.py."""
import locations
import rubies
import first
import measure


def is_raw(frames):
    return any(frame.name.startswith(locations.INTERPRETER) for frame in frames) and not any(map(locations.is_ruby, frames))


if __name__ == "__main__":
    measure.begin()
    for runtime in rubies.one_of_each(first.own("Ruby", rubies.find())):
        if "yjit" not in runtime.flavors:
            first.bench(f"Ruby {runtime.version}", rubies.burner(runtime, first.SECONDS, "--only=plain,blocks,flow"), is_raw)

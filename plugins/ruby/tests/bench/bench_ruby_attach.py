#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a Ruby costs the agent: CPU time until it is known, and memory. How is in tests/kit/arrivals.py."""
import arrivals
import measure
import rubies

WORK = "t = Process.clock_gettime(2); 1000.times { |n| n.to_s } while Process.clock_gettime(2) - t < 0.5; sleep"

if __name__ == "__main__":
    measure.begin()
    for runtime in rubies.one_of_each(rubies.find()):
        if "yjit" not in runtime.flavors:
            arrivals.bench("ruby", f"Ruby {runtime.version}", runtime.argv([rubies.PLAIN, "-e", WORK]), 1.5)

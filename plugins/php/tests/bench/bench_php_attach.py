#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a PHP costs the agent: CPU time until it is known, and memory. How is in tests/kit/arrivals.py."""
import arrivals
import measure
import phps

WORK = "function f($n) { return strlen((string) $n); } $t = hrtime(true); while (hrtime(true) - $t < 5e8) f(7); sleep(1000);"

if __name__ == "__main__":
    measure.begin()
    for runtime in phps.one_of_each(phps.find()):
        arrivals.bench("php", f"PHP {runtime.version}", runtime.argv(["-n", "-r", WORK]), 1)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent costs beside a busy PHP at 20 Hz, and what a new one costs it."""
import phps
import arrivals
import beside
import measure

WORK = "for ($x = 0, $end = hrtime(true) + 5e8; hrtime(true) < $end; $x++); fgets(STDIN);"

if __name__ == "__main__":
    measure.begin()
    found = [r for r in phps.one_of_each(phps.find()) if not r.flavors]
    if not found:
        measure.skip("no PHP was found")
    beside.rows("a busy PHP", phps.burner(found[-1], 1000), 20, 1.5)
    arrivals.bench("php", f"PHP {found[-1].version}", found[-1].argv(["-n", "-r", WORK]))

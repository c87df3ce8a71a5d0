#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent costs beside a busy Ruby at 20 Hz."""
import rubies
import beside
import measure

if __name__ == "__main__":
    measure.begin()
    beside.rows("a busy Ruby", ["ruby", rubies.PLAIN, rubies.BURNER, "1000"], 20, 1.5)

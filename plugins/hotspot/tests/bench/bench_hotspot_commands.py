#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of JVMs that are gone when names are read."""
import commands
import javas
import measure

if __name__ == "__main__":
    measure.begin()
    commands.each_release("Java", javas.find(), ["-version"], 98, [17, 25])

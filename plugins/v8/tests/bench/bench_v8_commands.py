#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of Nodes that are gone when names are read."""
import commands
import measure
import nodes

if __name__ == "__main__":
    measure.begin()
    commands.each_release("Node", nodes.find(), ["-e", "1"], 99, [18, 20, 22, 26])
    commands.alone("node -e 1", ["node", "-e", "1"], 99)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of JVMs that are gone when names are read."""
import commands

if __name__ == "__main__":
    commands.bench("java -version", ["java", "-version"], 98)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of JVMs that are gone when names are read."""
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "..", "..", "tests", "bench")]
import commands  # noqa: E402
import measure  # noqa: E402


def main():
    measure.begin()
    commands.rows("java -version", ["java", "-version"], 98)


if __name__ == "__main__":
    main()

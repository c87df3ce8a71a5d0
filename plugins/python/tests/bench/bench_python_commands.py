#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of Pythons that are gone when names are read: `python3 -c 1` and three imports, of each minor there is."""
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
TESTS = os.path.join(HERE, "..", "..", "..", "..", "tests")
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(TESTS, "kit"), os.path.join(TESTS, "bench")]
import commands  # noqa: E402
import measure  # noqa: E402
import pythons  # noqa: E402


def main():
    measure.begin()
    found = {runtime.numbers[:2]: runtime for runtime in pythons.worth_it(pythons.LANGUAGE.find()) if not runtime.root}
    for _, runtime in sorted(found.items()):
        for text in "1", "import json,re,subprocess":
            cost_bar = 3 if runtime.numbers[:2] == sys.version_info[:2] and text == "1" else None
            commands.rows(f"Python {runtime.version}, {text}", runtime.argv(["-c", text]), 98, cost_bar)


if __name__ == "__main__":
    main()

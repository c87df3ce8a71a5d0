#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames of a file that only looks like the one that is mapped: tests/live/variants.py has the cases.

    bench_variants.py [CASE...]
"""
import os
import sys

import measure
import passes
import variants

KINDS = {"id": "one build id", "bare": "no build id"}


def main():
    measure.begin()
    for case in sys.argv[1:] or variants.CASES:
        for kind in variants.KINDS_OF.get(case, variants.KINDS):
            name = f"{case}, {KINDS[kind]}"
            try:
                found = variants.run_case(case, kind, os.path.join(measure.BUILD, "tests", "live"))
            except passes.Cannot as e:
                measure.skip_row(name, str(e))
                continue
            measure.row(f"{name}: samples", found.samples, "", ">= 500", 500, True)
            measure.row(f"{name}: with frames of the other file", found.wrong, "", "0", 0)
            measure.row(f"{name}: not whole", 100 * found.lost / max(found.samples, 1), "%")


if __name__ == "__main__":
    main()

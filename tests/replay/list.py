#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""list.py DIRECTORY...: "DEPTH PATH" of each of their fixtures, without ending. DEPTH is default for the newest of a
directory, by the numbers in its name, and full for the others: whether it is tried in every way by default."""
import os
import re
import sys

ENDING = ".fixture.zst"


def by_numbers(name):
    return [(part.isdigit(), int(part) if part.isdigit() else part) for part in re.split(r"(\d+)", name)]


for directory in filter(os.path.isdir, sys.argv[1:]):
    names = sorted((name.removesuffix(ENDING) for name in os.listdir(directory) if name.endswith(ENDING)), key=by_numbers)
    for name in names:
        print("default" if name == names[-1] else "full", os.path.join(directory, name))

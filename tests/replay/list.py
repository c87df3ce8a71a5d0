#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""list.py DIRECTORY...: the paths of their fixtures, without ending."""
import os
import sys

ENDING = ".fixture.zst"
for directory in filter(os.path.isdir, sys.argv[1:]):
    for name in sorted(os.listdir(directory)):
        if name.endswith(ENDING):
            print(os.path.join(directory, name.removesuffix(ENDING)))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""list.py DIRECTORY: the names of its fixtures."""
import os
import sys

ENDING = ".fixture.zst"
print("\n".join(sorted(name[:-len(ENDING)] for name in os.listdir(sys.argv[1]) if name.endswith(ENDING))))

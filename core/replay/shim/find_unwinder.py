#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""find_unwinder.py DIRECTORY: name, source and program of a language, of its NAME_unwind.bpf.c, if any."""
import glob
import os
import re
import sys

ENDING = "_unwind.bpf.c"
sources = glob.glob(glob.escape(sys.argv[1]) + "/*" + ENDING)
if not sources:
    sys.exit()
if len(sources) > 1:
    sys.exit(f"{sys.argv[1]}: {len(sources)} files *{ENDING}, not one")
with open(sources[0], encoding="utf-8") as file:
    names = re.findall(r'^SEC\("perf_event"\)\s+int\s+(\w+)\s*\(', file.read(), re.MULTILINE)
if len(names) != 1:
    sys.exit(f"{sources[0]}: {len(names)} perf_event programs, not one")
source = os.path.basename(sources[0])
print(source.removesuffix(ENDING), source, names[0])

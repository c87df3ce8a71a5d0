#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""program.py SOURCE: the name of the one BPF program of a language's source."""
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
names = re.findall(r'^SEC\("perf_event"\)\s+int\s+(\w+)\s*\(', text, re.MULTILINE)
if len(names) != 1:
    sys.exit(f"{sys.argv[1]}: {len(names)} perf_event programs, not one")
print(names[0])

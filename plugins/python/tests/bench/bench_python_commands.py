#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of Pythons that are gone when names are read: `python3 -c 1` and three imports, of each minor there is."""
import os
import shlex
import sys
import tempfile

import commands
import measure
import pythons


# Each function is new, runs for some microseconds, and has a long name, as has its file; for most of its first second.
HOSTILE = """
import time
end = time.time() + 0.9
number = 0
while time.time() < end:
    number += 1
    name = "f%d_" % number + "n" * 200
    exec(compile("def %s():\\n for i in range(300): pass\\n%s()\\n" % (name, name), "/%s.py" % ("p" * 200), "exec"), {})
"""


def hostile():
    """Two CPUs of such programs."""
    program = shlex.join([sys.executable, "-c", HOSTILE])
    loop = f"for i in 1 2 3 4 5 6; do {program}; done"
    with tempfile.TemporaryDirectory() as directory:
        counters = measure.record(["-F", "999", "-o", os.path.join(directory, "out.pb.gz")],
                                  ["sh", "-c", f"({loop}) & ({loop}); wait"])
    measure.row("programs of new functions alone, 999 Hz: samples dropped", counters["samples dropped: ring buffer full"],
                "samples", "0", 0)
    measure.row("heap of the profiler", counters["bytes of heap"] / 1e6, "MB")


MODULES = ("json re subprocess argparse collections csv dataclasses datetime decimal difflib enum fnmatch fractions "
           "functools gzip hashlib heapq html inspect ipaddress itertools logging os pathlib pickle pprint queue random "
           "shlex shutil socket sqlite3 statistics string tempfile textwrap threading tokenize typing uuid").split()
# %s: two of these, a number, the first of these
TEST = """import unittest
import %s, %s
class Test%d(unittest.TestCase):
    def test_names(self):
        self.assertTrue(sorted(dir(%s)))
    def test_text(self):
        self.assertEqual(len(repr(list(range(200)))), 890)
unittest.main()
"""


def write_tests(directory):
    for i in range(200):
        names = MODULES[i % len(MODULES)], MODULES[(7 * i + 3) % len(MODULES)]
        with open(os.path.join(directory, f"test_{i}.py"), "w", encoding="utf-8") as file:
            file.write(TEST % (*names, i, names[0]))
    return f"cd {directory}; for t in test_*.py; do {sys.executable} $t 2>/dev/null; done"


def main():
    measure.begin()
    hostile()
    with tempfile.TemporaryDirectory() as directory:
        commands.script_row("200 test programs", write_tests(directory), 97)
    commands.alone("python3, five imports", [sys.executable, "-c", "import os,json,re,subprocess,asyncio"], 98)
    found = {runtime.numbers[:2]: runtime for runtime in pythons.LANGUAGE.find()
             if not runtime.root and "debug" not in runtime.flavors}
    for _, runtime in sorted(found.items()):
        for text in "1", "import json,re,subprocess":
            cost_bar = 3 if runtime.numbers[:2] == sys.version_info[:2] and text == "1" else None
            commands.rows(f"Python {runtime.version}, {text}", runtime.argv(["-c", text]), 98, cost_bar)


if __name__ == "__main__":
    main()

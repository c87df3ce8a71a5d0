# SPDX-License-Identifier: Apache-2.0
"""What the name of a language's frame costs the agent, over the recorded processes of the language (tests/replay/names.c).

New: nothing is known of the process but what attaching read. For each read of its memory the time of a system call is
added, which a replay does not make. Known: the function was named before.
"""
import glob
import os
import statistics
import subprocess
import sys

import measure

REPLAY = os.path.join(measure.BUILD, "tests", "replay", "replay")
FEWEST = 10     # functions


def named(language):
    """[(ns of a new name, reads for it, ns of a known one)] of each function."""
    if not os.access(REPLAY, os.X_OK):
        sys.exit(f"no {REPLAY}: build first with scripts/build")
    fixtures = sorted(glob.glob(os.path.join(measure.ROOT, "plugins", language, "tests/replay/fixtures/*.fixture.zst")))
    out = ""
    for fixture in fixtures:
        done = subprocess.run([REPLAY, "-p", os.path.join(measure.BUILD, "plugins", language), "--names", fixture],
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"{fixture}: status {done.returncode}: {done.stdout}")
        out += done.stdout
    lines = [line.split() for line in out.splitlines() if line.startswith(language + " ")]
    return [(int(ns) + int(reads) * float(each), int(reads), float(known)) for _, ns, reads, each, known in lines]


def bench(language, what, new_us, known_us, slowest_us=None):
    """Rows. what: a frame is one of. Bars of the mean of new names and of known ones; of the 99th percentile."""
    found = named(language)
    if len(found) < FEWEST:
        sys.exit(f"only {len(found)} functions in the fixtures of {language}")
    new = sorted(ns / 1000 for ns, _, _ in found)
    known, slowest = statistics.mean(ns for _, _, ns in found) / 1000, new[-1 - len(new) // 100]
    measure.row(f"frame of a known {what}", known, "us", f"<= {known_us}", known_us)
    measure.row(f"new {what}, mean of {len(new)}", statistics.mean(new), "us", f"<= {new_us}", new_us)
    measure.row(f"new {what}, 99th percentile", slowest, "us", f"<= {slowest_us or new_us}", slowest_us or new_us)
    measure.row("reads of the process's memory for it, mean", statistics.mean(reads for _, reads, _ in found), "")

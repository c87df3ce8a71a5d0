#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent costs beside a busy Perl at 20 Hz, and beside exiftool, which reads all of /usr, at 99 Hz."""
import os
import shutil

import beside
import measure

HERE = os.path.dirname(os.path.realpath(__file__))


def main():
    measure.begin()
    beside.rows("a busy Perl", ["perl", os.path.join(HERE, "..", "programs", "burner.pl"), "1000"], 20, 1.5)
    if shutil.which("exiftool"):
        beside.rows("exiftool -r", ["exiftool", "-r", "/usr"], 99, 6, 80, loop=True, statuses=(0, 1))
    else:
        measure.skip_row("agent beside exiftool -r, 99 Hz", "no exiftool (package libimage-exiftool-perl)")


if __name__ == "__main__":
    main()

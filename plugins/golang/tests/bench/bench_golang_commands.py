#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of Go programs that are gone when names are read: they are in the file."""
import os
import sys
import tempfile

import commands
import goes
import measure

HERE = os.path.dirname(os.path.realpath(__file__))


def main():
    measure.begin()
    found = [runtime for runtime in goes.LANGUAGE.find() if not runtime.root]
    if not found:
        measure.skip_row("a Go program of 5 ms: samples with all names", "no Go here")
        return
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "five_ms")
        goes.go_build(found[-1], os.path.join(HERE, "programs", "short"), path, directory)
        commands.rows(f"a Go program of 5 ms, {found[-1].version}", [path], 100)


if __name__ == "__main__":
    sys.exit(main())

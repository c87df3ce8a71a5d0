# SPDX-License-Identifier: Apache-2.0
"""What benches share that measure each of a language's runtimes."""
import os
import sys
import tempfile

import language
import measure
import runs


def must_be_built(program):
    if not os.access(program, os.X_OK):
        sys.exit(f"no {program}: build first with scripts/build")


def each(what, found, key, versions, run, prepare=None):
    """
    run(runtime, directory) with one of each version: the first of what found() gives, by key(runtime). what: it is
    called, where there is none; prepare(directory): before them.
    """
    measure.begin()
    chosen = language.first_of_each(found(), key, versions).values()
    if not chosen:
        measure.skip(f"no {what} was found")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        try:
            if prepare:
                prepare(directory)
            for runtime in chosen:
                run(runtime, directory)
        except runs.Skipped as reason:
            measure.skip(str(reason))

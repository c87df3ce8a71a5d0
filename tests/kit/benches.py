# SPDX-License-Identifier: Apache-2.0
"""What benches of languages share.

The short ones of a language are functions of its bench_LANGUAGE.py, bench_NAME each: `scripts/bench LANGUAGE_NAME`.
"""
import contextlib
import os
import sys
import tempfile

import language
import measure
import runs

SHOWN = 8


@contextlib.contextmanager
def may_skip():
    """A bench: what it needs is asked first, and what it lacks makes it a skip."""
    measure.begin()
    try:
        yield
    except runs.Skipped as reason:
        measure.skip(str(reason))


def each(what, found, key, versions, run, prepare=None):
    """
    run(runtime, directory) with one of each version: the first of what found() gives, by key(runtime). what: it is
    called, where there is none; prepare(directory): before them.
    """
    with may_skip(), tempfile.TemporaryDirectory() as directory:
        chosen = language.first_of_each(found(), key, versions).values()
        if not chosen:
            measure.skip(f"no {what} was found")
        os.chmod(directory, 0o755)
        if prepare:
            prepare(directory)
        for runtime in chosen:
            run(runtime, directory)


def shares_row(label, a, n, b, m, over, bar=None):
    """
    How much of two profiles' shares is within the margin of their counts; where they are furthest apart is noted.
    a and b: a Counter of functions, of n samples here and m there; over(a, b): above 0 where two counts are further
    apart than chance lets them.
    """
    apart = {key: over(a[key], b[key]) for key in {*a, *b}}
    weights = {key: a[key] / n + b[key] / m for key in apart}
    for key in sorted(apart, key=apart.get, reverse=True)[:SHOWN]:
        measure.note(f"{label}: {key}: {100 * a[key] / n:.2f} % here, {100 * b[key] / m:.2f} % there"
                     f"{': MORE than chance' if apart[key] > 0 else ''}")
    within = sum(weights[key] for key in apart if apart[key] <= 0)
    measure.row(f"shares within the margin of counts, {label}: {len(apart)}, of {n} and {m} samples",
                100 * within / sum(weights.values()), "%", f">= {bar}" if bar else "shown", bar, True)


def main(functions):
    """The function that the argument names, of a program's globals()."""
    known = sorted(name.removeprefix("bench_") for name in functions if name.startswith("bench_"))
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        sys.exit(f"usage: {sys.argv[0]} {' | '.join(known)}")
    with may_skip():
        functions["bench_" + sys.argv[1]]()

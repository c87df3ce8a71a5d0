#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges what smoke.sh recorded of a shell that starts short programs, and some with much to free.

    check_short.py PROFILE

Whole stacks, each booked on its own program; exec and exit are seen and say so; the time in which a
process frees its memory is there, though its exit was told of before. Exit status: 0 or 1.
"""
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(HERE, "..", "kit")]
import judge  # noqa: E402
import stacks  # noqa: E402

PROGRAMS = ("shortlived", "bigexit")
FILES = {"sh": {"busybox"}, **{name: {name} for name in PROGRAMS}}
WHOLE = 80       # percent
LEAST = 100      # samples
FREEING = 2      # percent of bigexit's samples are in exit_mmap


def count_of(samples):
    return sum(sample.count for sample in samples)


def check_whole(samples):
    tally = judge.Tally(PROGRAMS).add(samples)
    states = ", ".join(f"{count} {state}" for state, count in sorted(tally.states.items()))
    print(f"{tally.all} samples, {tally.percent:.2f} % whole; {states}")
    for why, count in tally.reasons.most_common(5):
        print(f"  {count}: {why}: {judge.text_of(tally.examples[why])}")
    if tally.all < LEAST:
        yield f"only {tally.all} samples"
    if tally.percent < WHOLE:
        yield f"{tally.percent:.2f} % whole"
    for state in judge.STATES:
        if not tally.states[state]:
            yield f"no sample has {state}"


def check_images(samples):
    for kind, wrong in judge.Programs(FILES).wrong_images(samples).items():
        for what, count in wrong.most_common(5):
            yield f"{count} on the wrong image, by {kind}: {what}"


def check_freeing(samples):
    own = [s for s in samples if s.labels.get("thread_name") == "bigexit"]
    freeing = [s for s in own if any(stacks.bare(f.name) == "exit_mmap" for f in s.frames)]
    print(f"{count_of(freeing)} of {count_of(own)} samples of bigexit are in exit_mmap")
    if count_of(freeing) * 100 < FREEING * count_of(own) or not freeing:
        yield "the time in exit_mmap is missing"
    for sample in [s for s in freeing if s.frames[-1].name != "[exit]"][:1]:
        yield f"exit_mmap without [exit]: {judge.text_of(sample)}"


def main():
    samples = stacks.read_profile(sys.argv[1]).samples
    own = [s for s in samples if s.labels.get("thread_name") in PROGRAMS]
    wrong = [*check_whole(own), *check_images(samples), *check_freeing(samples)]
    for text in wrong:
        print(f"failed: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges what smoke.sh recorded of a shell that starts short programs, and some with much to free.

    judge_short.py PROFILE

Whole stacks, each booked on its own program; exec and exit are seen and say so; the time in which a
process frees its memory is there, though its exit was told of before. Exit status: 0 or 1.
"""
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "live")]
import check_short  # noqa: E402  and with it where the kit is
import judge  # noqa: E402
import stacks  # noqa: E402

PROGRAMS = ("shortlived", "bigexit")
FILES = {"sh": {"busybox"}, **{name: {name} for name in PROGRAMS}}
WHOLE = 80       # percent
FREEING = 2      # percent of bigexit's samples are in exit_mmap


def main():
    samples = stacks.read_profile(sys.argv[1]).samples
    own = [s for s in samples if s.labels.get("thread_name") in PROGRAMS]
    leaving = [s for s in own if s.labels.get("thread_name") == "bigexit"]
    freeing = [s for s in leaving if check_short.has(s, "exit_mmap")]
    case = check_short.Case(None, None)
    tally = case.expect_whole("short programs", own, WHOLE, PROGRAMS)
    for state in judge.STATES:
        case.expect(tally.states[state], f"no sample has {state}")
    case.expect_right_image(samples, judge.Programs(FILES))
    counts = check_short.count_of(freeing), check_short.count_of(leaving)
    print(f"{counts[0]} of {counts[1]} samples of bigexit are in exit_mmap")
    case.expect(freeing and counts[0] * 100 >= FREEING * counts[1], "the time in exit_mmap is missing")
    for sample in [s for s in freeing if s.frames[-1].name != "[exit]"][:1]:
        case.expect(False, f"exit_mmap without [exit]: {judge.text_of(sample)}")
    for text in case.wrong:
        print(f"failed: {text}")
    return 1 if case.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

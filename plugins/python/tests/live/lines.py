# SPDX-License-Identifier: Apache-2.0
"""Counts the time of its own lines: tests/kit/check_lines.py. Argument: seconds."""
import sys
import time

ROUNDS = 20000


def burn(seconds):
    spent = [0.0, 0.0, 0.0]
    clock = time.thread_time
    end = clock() + seconds
    while clock() < end:
        a = clock()
        for i in range(ROUNDS): a += 0.0 * i                             # line 15 of its own
        b = clock()
        for i in range(2 * ROUNDS): b += 0.0 * i                         # line 17 of its own
        c = clock()
        sorted(range(3 * ROUNDS), key=float)                             # line 19 of its own
        d = clock()
        spent = [spent[0] + b - a, spent[1] + c - b, spent[2] + d - c]
    return spent


for line, time_of in zip((15, 17, 19), burn(float(sys.argv[1]))):
    print(f"LINE {line} {time_of:.4f}")

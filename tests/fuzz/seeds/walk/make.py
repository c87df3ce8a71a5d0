#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py DIRECTORY: the seeds of fuzz_walk.

Events with copies of stacks (bpf/shared.h) of the process that tests/unit/walk_world.h invents. A
copy of 0 or 1 pages, so that mutations hit what is in front of the stack too.
"""
import os
import struct
import sys

CODE, ROOT, SIGNAL, TABLES = 0x400000, 0x401800, 0x402000, 0x403000
PENDING, ABSENT, MARKED, ENTER, ANON = 0x500000, 0x520000, 0x600000, 0x610000, 0x700000
STACK = 0x7FFE00000000
SP = STACK + 0x10
OTHER = 0xC000010000
NATIVE, LANGUAGE = 2, 18


def frame(kind, flags, aux, word):
    return [kind | flags << 8 | 1 << 16 | aux << 32, word]


def event(pc, returns, fp=0, pages=1, kernel=(), head=(), tail=(), signal_at=None, other=()):
    words = [word for one in (*head, *tail) for word in one]
    stack = [0] * (pages * 512)
    for index, address in enumerate(returns):
        if pages:
            stack[2 + 2 * index + 1] = address
    if signal_at is not None:
        stack[signal_at + 5 + 15], stack[signal_at + 5 + 16] = SP + 0x400, CODE
    regs = [SP + 0x80] * 17
    regs[6], regs[7] = fp, SP
    other = [*other, *[0] * (512 - len(other))] if other else []
    copy_bytes = 192 + pages * 4096 + 8 * len(other)
    sample = struct.pack("<IIQ QQII II 16s HHH BB", 1, 0, 1000, 1, 77, 7, 7, 3, copy_bytes,
                         b"prog", len(kernel), len(head) + len(tail), len(words), 1, 0)
    copy = struct.pack("<QQII IIII 17Q QII", pc, STACK, pages * 4096, 2 * len(head), 0xFFFF, 0, 0, 0,
                       *regs, OTHER, 8 * len(other), 0)
    return sample + struct.pack(f"<{len(kernel) + len(words)}Q", *kernel, *words) + copy + \
        struct.pack(f"<{len(stack) + len(other)}Q", *stack, *other)


SEEDS = {
    "root": event(CODE + 5, [CODE + 0x20, CODE + 0x1234, ROOT + 1], kernel=[0xFFFFFFFF81000001]),
    "languages": event(CODE, [MARKED + 8, CODE + 4, MARKED + 9, ROOT + 1],
                       head=[frame(NATIVE, 0, 9, 0x77)],
                       tail=[frame(LANGUAGE, 1, 1, 0x11), frame(LANGUAGE, 1, 1, 0x22)]),
    "signal": event(SIGNAL, [], signal_at=2),
    "tables": event(TABLES, [], fp=SP + 32, pages=0),
    "restorer": event(CODE, [ABSENT + 4], signal_at=4),
    "other": event(TABLES + 0xD00, [], fp=OTHER, other=[OTHER + 16, CODE + 0x20, OTHER + 32, ROOT + 1]),
    "late": event(CODE, [CODE + 4, PENDING + 4, ENTER + 4, ANON], fp=SP + 16),
}

for name, data in SEEDS.items():
    with open(os.path.join(sys.argv[1], name + ".bin"), "wb") as out:
        out.write(data)

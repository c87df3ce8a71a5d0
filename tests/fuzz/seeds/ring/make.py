#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes events.bin, the seed of fuzz_ring: records as in bpf/shared.h, lengths in front."""
import os
import struct
import sys


def sample(kind, hash64, kernel=(), frames=(), error=0, pid=7):
    words = [w for frame in frames for w in frame]
    head = struct.pack("<IIQQQII16sHHHBB", kind, 1, 1000, hash64, 77, pid, pid, b"prog",
                       len(kernel), len(frames), len(words), error, 0)
    return head + struct.pack(f"<{len(kernel) + len(words)}Q", *kernel, *words)


def header(kind, flags, words, aux):
    return kind | flags << 8 | words << 16 | aux << 32


def main():
    native = (header(2, 1, 1, 5), 0x1234)
    marker = (header(2, 2 << 3, 1, 5), 0x1000)
    marker2 = (header(2, 3 << 3, 1, 5), 0x2000)
    one, one_entry = (header(18, 0, 2, 1), 0x10, 0x20), (header(18, 1, 2, 1), 0x11, 0x21)
    two_entry = (header(19, 1, 3, 0), 1, 2, 3)
    bad_read, torn = (header(3, 0, 1, 4), 0x10), (header(3, 0, 1, 65), 0)
    records = [
        sample(1, 1, (0xffffffff81000010, 0xffffffff81000020), (native, native)),
        sample(2, 1),
        sample(1, 2, (), (native, (header(3, 0, 1, 4), 0x10))),
        sample(1, 1, (), (native, (header(16, 0, 3, 9), 1, 2, 3)), error=3),
        b"",
        sample(2, 1),
        sample(2, 99),
        sample(1, 4, (), (native, marker, native, marker, native, one, one_entry, one_entry)),
        sample(1, 5, (), (marker, marker2, marker, native, one_entry, one, torn, two_entry), 65),
        sample(1, 6, (), (marker, native, bad_read, one_entry, one_entry, torn, two_entry), 4),
        sample(1, 7, (), (native, two_entry, native, marker, one_entry)),
        b"",
        sample(2, 4),
        sample(1, 3, (), ((header(2, 0, 1, 0), 0x7f0000001000),), pid=8),
    ]
    path = os.path.join(sys.argv[1], "events.bin")
    with open(path, "wb") as out:
        for record in records:
            out.write(struct.pack("<H", len(record)) + record)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_ld_cache into a directory: the formats that core/proc/ld_cache.c draws."""
import os
import struct
import sys

ENTRIES = [(0x0003, b"libc.so.6", b"/lib/i386-linux-gnu/libc.so.6"),
           (0x0303, b"libc.so.6", b"/lib/x86_64-linux-gnu/libc.so.6"),
           (0x0303, b"libz.so.1", b"/usr/lib/x86_64-linux-gnu/libz.so.1"),
           (0x0a03, b"libc.so.6", b"/lib/aarch64-linux-gnu/libc.so.6")]
OLD_ENTRIES = [(0x0303, b"libold.so.1", b"/usr/lib/libold.so.1")]


def entries_and_strings(entries, offset, more):
    packed, strings = b"", b""
    for flags, name, path in entries:
        at = offset + len(strings)
        packed += struct.pack("<III", flags, at, at + len(name) + 1) + bytes(more)
        strings += name + b"\0" + path + b"\0"
    return packed, strings


def new_cache(entries):
    packed, strings = entries_and_strings(entries, 48 + 24 * len(entries), 12)
    header = b"glibc-ld.so.cache1.1" + struct.pack("<IIB", len(entries), len(strings), 2)
    return header.ljust(48, b"\0") + packed + strings


def old_cache(entries, inner=b""):
    packed, strings = entries_and_strings(entries, 0, 0)
    head = b"ld.so-1.7.0\0" + struct.pack("<I", len(entries)) + packed
    return head + bytes(-len(head) % 8 if inner else 0) + inner + strings


for seed, data in (("new.bin", new_cache(ENTRIES)), ("old.bin", old_cache(ENTRIES)),
                   ("both.bin", old_cache(OLD_ENTRIES, new_cache(ENTRIES)))):
    with open(os.path.join(sys.argv[1], seed), "wb") as file:
        file.write(data)

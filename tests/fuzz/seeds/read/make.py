#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes seeds in a directory: a profile as exporters/pprof writes it, one of a heap with ids of any size and
numbers that are not packed, the first one compressed, and two joined by `cat`; folded stacks in UTF-16."""
import gzip
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "kit"))
from wire import data, number, numbers, varint  # noqa: E402


def label(key, string=0, num=0, unit=0):
    return data(3, numbers(key, string, num, unit))


def ours():
    strings = ["", "samples", "count", "cpu", "nanoseconds", "pid", "tid", "comm", "thread_name", "id", "server",
               "worker", "/src/a.cc", "main", "/usr/bin/server", "abcd", "[truncated: stack memory unreadable]",
               "[toy: unknown function]", "libx.so+0x1234", "ebpf-profiler 1.0", "host: here",
               "stacks: 90.0 % complete", "samples: 5 at 100 Hz, 1 lost", "[kernel.kallsyms]", "read", "inner"]
    at = {text: i for i, text in enumerate(strings)}
    out = data(1, numbers(1, 2)) + data(1, numbers(3, 4)) + data(11, numbers(3, 4))
    out += number(12, 10000000) + number(9, 1700000000 * 10**9) + number(10, 10**9) + number(14, 3)
    out += b"".join(number(13, i) for i in range(at["ebpf-profiler 1.0"], at["[kernel.kallsyms]"]))
    for tid, stack in ((7, (1, 2)), (8, (1, 2)), (8, (3, 4, 5))):
        out += data(2, data(1, bytes(stack)) + data(2, varint(2) + varint(20000000)) + label(5, num=7, unit=9)
                    + label(6, num=tid, unit=9) + label(3, unit=9) + label(7, 10) + label(8, 11))
    names = ("read", "inner", "main", "[toy: unknown function]", "libx.so+0x1234",
             "[truncated: stack memory unreadable]")
    lines = {1: (1,), 2: (2, 3), 3: (4,), 4: (5,), 5: (6,)}
    for location, functions in lines.items():
        out += data(4, numbers(location, {1: 2, 2: 1, 4: 1}.get(location, 0), 0x1000 * location % 0x5000)
                    + b"".join(data(4, numbers(function, 9, 2)) for function in functions))
    out += data(3, numbers(1, 0x1000, 0x9000, 0x1000, 14, 15, 1)) + data(3, numbers(2, 1 << 63, 2**64 - 1, 0, 23, 0, 1))
    for i, name in enumerate(names, 1):
        out += data(5, numbers(i, at[name], at[name], 12, 3))
    return out + b"".join(data(6, text.encode()) for text in strings)


def heap():
    strings = ["", "alloc_objects", "count", "alloc_space", "bytes", "main.main", "/src/main.go", "space"]
    out = data(1, numbers(1, 2)) + data(1, numbers(3, 4)) + number(14, 3)
    out += data(2, number(1, 1 << 40) + number(1, 9) + number(2, 3) + number(2, 48) + label(7, num=16, unit=4))
    out += data(2, number(1, 9) + number(2, 1) + number(2, 1 << 50))
    out += data(4, numbers(1 << 40, 0, 0x401000) + data(4, numbers(77, 12))) + data(4, numbers(9, 5, 0x402000))
    out += data(5, numbers(77, 5, 0, 6)) + varint(20 << 3 | 1) + struct.pack("<q", 1) + varint(21 << 3 | 5) + b"four"
    return out + b"".join(data(6, text.encode()) for text in strings)


UTF16 = b"\xff\xfe" + "main;r\u00e9ad\U0001f422 10.5\r\n#cron;main 2\r\n # x;main 3".encode("utf-16-le")
for name, content in (("ours.pprof", ours()), ("heap.pprof", heap()), ("ours.pb.gz", gzip.compress(ours(), mtime=0)),
                      ("two.pprof", ours() + ours()), ("utf16.folded", UTF16)):
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(content)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_order: what lies in a BPF ring and in a side-band ring."""
import os
import struct
import sys

BUSY, DISCARD = 1 << 31, 1 << 30


def event(kind, time_ns, extra=b"", bits=0):
    body = struct.pack("<IIQ", kind, 1, time_ns) + extra
    return struct.pack("<II", len(body) | bits, 0) + body + bytes(-len(body) % 8)


def perf(kind, misc, body):
    return struct.pack("<IHH", kind, misc, len(body) + 8) + body


def mmap2(time_ns, name, build_id=None):
    identity = struct.pack("<IIQQ", 8, 1, 1234, 5) if build_id is None else \
        struct.pack("<B3x20s", len(build_id), build_id)
    text = name + bytes(8 - len(name) % 8)
    body = struct.pack("<IIQQQ", 7, 7, 0x7f0000, 0x2000, 0x1000) + identity
    return perf(10, 2 | (1 << 14 if build_id is not None else 0),
                body + struct.pack("<II", 5, 2) + text + struct.pack("<Q", time_ns))


def lost(time_ns, n):
    return perf(2, 0, struct.pack("<QQQ", 0, n, time_ns))


def ksymbol(time_ns, name, gone, kind=1):
    body = struct.pack("<QIHH", 0xffffffffc0001000, 64, kind, gone) + name + bytes(8 - len(name) % 8)
    return perf(17, 0, body + struct.pack("<Q", time_ns))


def write(name, flags, time, ring_at, ring, side_at, side):
    ring, side = b"".join(ring), b"".join(side)
    head = struct.pack("<BBHHHH", flags, time, ring_at // 8, len(ring) // 8, side_at // 8,
                       len(side) // 8)
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(head + ring + side)


def main():
    fork, exec_, exit_ = (event(kind, 10 * kind, bytes(16)) for kind in (3, 4, 5))
    sample = event(1, 45, bytes(200))
    write("small.bin", 0, 100, 0, [fork, exec_, sample, exit_], 0,
          [mmap2(41, b"/bin/true", bytes(20)), lost(42, 3), mmap2(43, b"//anon")])
    write("wrapped.bin", 3, 100, 4096 - 48, [fork, sample, event(2, 46, bytes(48), DISCARD), exit_],
          1024 - 40, [mmap2(20, b"/usr/lib/x.so")] * 7)
    write("younger.bin", 4, 30, 8, [sample, fork, event(1, 50, bytes(8), BUSY), exit_], 8,
          [mmap2(50, b"[vdso]"), mmap2(20, b"/bin/sh", b"1234")])
    write("ksymbols.bin", 0, 100, 0, [fork, sample, exit_], 1024 - 24,
          [ksymbol(20, b"bpf_prog_0123_a", 0), mmap2(41, b"/bin/true"), ksymbol(44, b"bpf_prog_0123_a", 1),
           ksymbol(44, b"kprobe_insn_page", 0, 2)])


main()

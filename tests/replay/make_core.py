#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_core.py MACHINE OUT: a small core file, as linux/fs/binfmt_elf.c lays it out.

Two threads (1001, 1002) of process 1001, "toy". General register number i (as in NT_PRSTATUS) is
0x1000 * thread + i. Three mappings: 0x10000 (one page, in the file), 0x20000 (two pages, the first
in the file), 0x40000 (of /usr/bin/toy, at offset 0x3000 of it, not in the file), and of NT_FILE
alone 0x41000 (of the same, at 0x4000). MACHINE: x86_64 or aarch64.
"""
import struct
import sys

EM = {"x86_64": (62, 27), "aarch64": (183, 34)}
NT_PRSTATUS, NT_PRPSINFO, NT_AUXV, NT_FILE, NT_ARM_TLS = 1, 3, 6, 0x46494c45, 0x401
PAGE = 4096


def note(kind, desc, name=b"CORE\0"):
    pad = -len(name) % 4
    return struct.pack("<III", len(name), len(desc), kind) + name + bytes(pad) + desc + bytes(-len(desc) % 4)


def prstatus(number, registers):
    desc = bytearray(112 + 8 * registers + 8)
    struct.pack_into("<I", desc, 32, 1000 + number)
    for i in range(registers):
        struct.pack_into("<Q", desc, 112 + 8 * i, 0x1000 * number + i)
    return note(NT_PRSTATUS, bytes(desc))


def prpsinfo():
    desc = bytearray(136)
    struct.pack_into("<I", desc, 24, 1001)
    desc[40:43] = b"toy"
    return note(NT_PRPSINFO, bytes(desc))


def files(*entries):
    desc = struct.pack("<QQ", len(entries), PAGE)
    for start, end, off, _ in entries:
        desc += struct.pack("<QQQ", start, end, off // PAGE)
    return note(NT_FILE, desc + b"".join(path.encode() + b"\0" for *_, path in entries))


def program_header(kind, flags, off, va, file_bytes, memory_bytes):
    return struct.pack("<IIQQQQQQ", kind, flags, off, va, 0, file_bytes, memory_bytes, 1)


def main(machine, target):
    number, registers = EM[machine]
    notes = prstatus(1, registers)
    if machine == "aarch64":
        notes += note(NT_ARM_TLS, struct.pack("<Q", 0x7001), b"LINUX\0")
    notes += prpsinfo() + note(NT_AUXV, struct.pack("<QQQQ", 33, 0x20000, 0, 0))
    notes += files((0x40000, 0x41000, 0x3000, "/usr/bin/toy"), (0x41000, 0x42000, 0x4000, "/usr/bin/toy"))
    notes += prstatus(2, registers)
    off = 64 + 4 * 56
    data = off + len(notes)
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 4, number, 1, 0, 64, 0, 0, 64, 56, 4, 0, 0, 0)
    headers = (program_header(4, 0, off, 0, len(notes), 0) +
               program_header(1, 6, data, 0x10000, PAGE, PAGE) +
               program_header(1, 6, data + PAGE, 0x20000, PAGE, 2 * PAGE) +
               program_header(1, 5, data + 2 * PAGE, 0x40000, 0, PAGE))
    with open(target, "wb") as out:
        out.write(header + headers + notes + b"\x11" * PAGE + b"\x22" * PAGE)


if __name__ == "__main__":
    main(*sys.argv[1:])

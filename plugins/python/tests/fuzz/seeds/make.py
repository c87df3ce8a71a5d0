#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds of fuzz_lines and fuzz_names beside itself. Runs on 3.11 and newer.

lines_*: format, first line (4 bytes), table.  names_*: minor version, address of the code object
(2 bytes, from BASE), change (2 bytes), memory from BASE on.
"""
import os
import struct

BASE = 0x10000
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = '''
def outer(a, b=1):
    try:
        return [x +
                a for x in b
                if x]
    except (ValueError,
            TypeError) as e:
        raise
''' + "\n" * 300 + '''
    finally:
        b = lambda: (a,
            b)
'''


def write(name, data):
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(data)


def locations():
    code = compile(SOURCE, "seed.py", "exec")
    return next(c for c in code.co_consts if hasattr(c, "co_linetable")).co_linetable


LNOTAB = bytes([0, 1, 6, 1, 44, 5, 255, 0, 45, 127, 0, 73, 11, 1, 2, 0xFB])
RANGES = bytes([4, 0, 6, 2, 2, 0xFF, 2, 0x80, 0, 127, 0, 127, 2, 1])


class Memory:
    def __init__(self, minor):
        self.data = bytearray(0x700)
        self.wstr = minor < 12
        self.minor = minor

    def word(self, at, value):
        self.data[at : at + 8] = struct.pack("<Q", value)

    def put_str(self, at, text, kind, compact=True):
        ascii = kind == 1 and compact
        encoding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[kind]
        start = (48 if self.wstr else 40) if ascii else (72 if self.wstr else 56)
        self.word(at + 16, len(text))
        self.word(at + 32, 1 | kind << 2 | compact << 5 | ascii << 6)
        if not compact:
            self.word(at + start, BASE + at + 128)
            start = 128
        data = text.encode(encoding)
        self.data[at + start : at + start + len(data)] = data

    def put_bytes(self, at, data):
        self.word(at + 16, len(data))
        self.data[at + 32 : at + 32 + len(data)] = data


def code(minor, table, firstlineno, filename, name, qualname, lines):
    memory = Memory(minor)
    at, name_at, file_at, lines_at = 0x40, 0x180, 0x300, 0x500
    memory.word(at, 2)
    memory.data[at + firstlineno : at + firstlineno + 4] = struct.pack("<i", 3)
    memory.word(at + name, BASE + name_at)
    if qualname:
        memory.word(at + qualname, BASE + name_at)
    memory.word(at + filename, BASE + file_at)
    memory.word(at + lines, BASE + lines_at)
    memory.put_str(name_at, "\u0438\u043c\u044f", 2)
    memory.put_str(file_at, "/srv/app/module.py", 1, compact=minor != 11)
    memory.put_bytes(lines_at, table)
    write("names_3_%d.bin" % minor, struct.pack("<BHH", minor, at, 0) + memory.data)


def main():
    tables = {1: LNOTAB, 2: RANGES, 3: locations()}
    for form, table in tables.items():
        write("lines_%d.bin" % form, struct.pack("<Bi", form, 100) + table)
    code(6, LNOTAB, 36, 96, 104, 0, 112)
    code(9, LNOTAB, 40, 104, 112, 0, 120)
    code(10, RANGES, 40, 104, 112, 0, 120)
    code(11, tables[3], 72, 112, 120, 128, 136)
    code(13, tables[3], 68, 112, 120, 128, 136)


main()

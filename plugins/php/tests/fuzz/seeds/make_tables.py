#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tables_83.bin and tables_84.bin: a file with two tables, relocated and in place, and code that registers a class."""
import os
import struct

VA = 0x1000
TEXT, RODATA, DATA, RELA, END = 0x100, 0x300, 0x500, 0x900, 0xc00


def make(entry_bytes, packed):
    file, relocations = bytearray(END), []
    texts, data, code = [RODATA], [DATA + 64], [TEXT + 0x100]

    def put(at, string):
        file[at:at + len(string)] = string

    def text(string):
        at = texts[0]
        put(at, string.encode() + b"\0")
        texts[0] += len(string) + 1
        return VA + at

    def point(at, to):
        if packed:
            put(at, struct.pack("<Q", to))
        else:
            relocations.append(struct.pack("<QQQ", VA + at, 8, to))

    def entry(name, function, flags, frameless=0):
        at = data[0]
        point(at, text(name))
        point(at + 8, VA + function)
        point(at + 16, VA + DATA)
        put(at + 24, struct.pack("<II", 1, flags))
        if frameless:
            point(at + 32, frameless)
        data[0] += entry_bytes
        return VA + at

    def emit(string):
        put(code[0], string)
        code[0] += len(string)

    def load(reg, va):
        emit(bytes((0x48, 0x8d, 5 | reg << 3)) + struct.pack("<i", va - VA - code[0] - 7))

    put(DATA, struct.pack("<Q", 1))
    infos = DATA + 0x300
    if entry_bytes == 48:
        point(infos, VA + TEXT + 0x30)
        put(infos + 8, struct.pack("<Q", 2))
    entry("strpos", TEXT, 0, VA + infos if entry_bytes == 48 else 0)
    entry("implode", TEXT + 0x10, 0)
    entry("join", TEXT + 0x10, 0)
    data[0] += entry_bytes
    table = entry("count", TEXT + 0x20, 1)
    data[0] += entry_bytes
    emit(b"\xbe\x05\0\0\0")                     # mov $5, %esi
    load(7, text("Queue"))
    emit(b"\xff\x10")                           # call *(%rax)
    load(0, table)
    emit(b"\xe8\0\0\1\0\xc3")                   # call; ret
    put(RELA, b"".join(relocations))
    head = struct.pack("<8H", TEXT, 0x200, RODATA, 0x200, DATA, 0x400, RELA, 24 * len(relocations))
    return head + file


def main():
    where = os.path.dirname(os.path.realpath(__file__))
    for name, entry_bytes, packed in (("83", 32, False), ("84", 48, True)):
        with open(os.path.join(where, f"tables_{name}.bin"), "wb") as file:
            file.write(make(entry_bytes, packed))


if __name__ == "__main__":
    main()

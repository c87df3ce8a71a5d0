#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes names_74.bin, names_82.bin, names_84.bin: a function, a method, a closure, a file's code, a function in C."""
import os
import struct

IMAGE = 0x101000
RELEASES = {"74": (1, 60, 64, 136, 144), "82": (3, 80, 88, 152, 160), "84": (5, 96, 104, 168, 176)}
FUNCTION, CODE, CLOSURE, INTERNAL, _, OLD_CLOSURE = range(6)
OPS = 20


def hash_of(text):
    found = 5381
    for byte in text:
        found = (found * 33 + byte) & (1 << 64) - 1
    return found | 1 << 63


def make(number, last, opcodes, filename, line_start):
    image, frames = bytearray(16), []

    def put(string):
        at = len(image)
        image.extend(string + bytes(-len(string) % 8))
        return at

    def text(string):
        data = string.encode()
        return put(struct.pack("<QQQ", 1, hash_of(data), len(data)) + data + b"\0")

    def function(name, scope, file):
        ops = put(b"".join(struct.pack("<6QII", 0, 0, 0, 0, 0, 0, 0, 0)[:24] + struct.pack("<II", 3 + i // 2, 0)
                           for i in range(OPS)))
        head = bytearray(192)
        struct.pack_into("<IIQQ", head, 0, 2, 0, IMAGE + name, IMAGE + scope if scope else 0)
        struct.pack_into("<I", head, last, OPS)
        struct.pack_into("<Q", head, opcodes, IMAGE + ops)
        struct.pack_into("<Q", head, filename, IMAGE + file)
        struct.pack_into("<I", head, line_start, 3)
        return put(bytes(head)), ops

    def frame(kind, function=0, name=0, scope=0, file=0, ops=0, index=5, came=0):
        frames.append(struct.pack("<8H", *(at // 8 for at in (function, name, scope, file, ops)), index, kind, came))

    file, long_file, name = text("/srv/b.php"), text("/srv/" + "p" * 200 + ".php"), text("m")
    scope = put(struct.pack("<QQ", 2, IMAGE + text("A\\B")))
    method, ops = function(name, scope, file)
    plain, _ = function(text("f"), 0, long_file)
    closure = text("{closure:A\\B::m():12}")
    frame(FUNCTION, method)
    frame(FUNCTION, plain, index=17)
    frame(CLOSURE, 0, closure, scope, file, ops)
    frame(OLD_CLOSURE, 0, 12, scope, long_file, ops)
    for came in range(7):
        frame(CODE, 0, 0, 0, file, ops, 7, came)
    frame(INTERNAL, 0, text("count"), scope)
    frame(INTERNAL, 0, text("array_map"))
    frames.extend([bytes(16)] * (16 - len(frames)))
    return bytes(64) + struct.pack("<B7x", number) + b"".join(frames) + image


def main():
    where = os.path.dirname(os.path.realpath(__file__))
    for name, release in RELEASES.items():
        with open(os.path.join(where, f"names_{name}.bin"), "wb") as file:
            file.write(make(*release))


if __name__ == "__main__":
    main()

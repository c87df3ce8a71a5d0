#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes natives.bin: a boot function that names three XS functions, one of them twice, with a branch."""
import os
import struct

VA = 0x1000
TEXT = 0x200
RDX, RSI, R12 = 2, 6, 12


def main():
    code, texts = bytearray(), bytearray()

    def load(reg, va):
        distance = va - VA - len(code) - 7
        code.extend(bytes((0x48 | (reg >> 3) << 2, 0x8d, 5 | (reg & 7) << 3)) + struct.pack("<i", distance))

    def text(string):
        texts.extend(string.encode() + b"\0")
        return VA + TEXT + len(texts) - len(string) - 1

    load(R12, VA + 0x400)
    for name in ("A::B::first", "A::B::any", "A::B::(+"):
        code.extend(b"\x4c\x89\xe2")                # mov %r12, %rdx
        load(RSI, text(name))
        code.extend(b"\xe8" + struct.pack("<i", 0x800))
        code.extend(b"\x85\xc0\x74\x07")            # test; je
        load(R12, VA + 0x410)
    for at, name in enumerate(("A::B::second", "A::third")):
        load(RDX, VA + 0x420 + 16 * at)
        load(RSI, text(name))
        code.extend(b"\xe8" + struct.pack("<i", 0x800))
    code.extend(b"\xc3")
    data = struct.pack("<H", len(code)) + code.ljust(TEXT, b"\0") + texts.ljust(0x200, b"\0")
    with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "natives.bin"), "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()

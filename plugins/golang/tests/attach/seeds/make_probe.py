# SPDX-License-Identifier: Apache-2.0
"""Makes probe_1.26.bin, a seed of fuzz_probe, of the codes beside it."""
import os
import struct

HERE = os.path.dirname(os.path.realpath(__file__))
VERSION = b"go1.26.8"
INFO = (b"\xff Go buildinf:\x08\x02" + bytes(16) + bytes([len(VERSION)]) + VERSION).ljust(48, b"\0")


def code(name):
    with open(f"{HERE}/{name}_1.26.bin", "rb") as file:
        data = file.read()
    return struct.pack("<H", len(data)) + data


with open(HERE + "/probe_1.26.bin", "wb") as seed:
    seed.write(INFO + b"".join(map(code, ["systemstack", "morestack", "asmcgocall"])))

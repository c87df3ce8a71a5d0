#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds of fuzz_probe: a 3.6, a 3.11, a 3.14 and a 3.99. Writes beside itself."""
import os
import struct

HERE = os.path.dirname(os.path.realpath(__file__))
FILE_VA, BYTES = 0x1000, 4096
RUNTIME, EVAL, COLD, TYPES, GETTERS = 0x1000, 0x1600, 0x1900, 0x1c00, 0x1e00
OFFSETS = {  # words of struct _Py_DebugOffsets, as 3.14 arranges them
    3: 1024, 5: 840, 6: 9000, 8: 720, 9: 728, 22: 880, 24: 8, 26: 72, 27: 152, 31: 88, 32: 8, 34: 56,
    35: 80, 36: 74, 39: 216, 40: 112, 41: 120, 42: 128, 43: 136, 44: 68, 45: 52, 46: 96, 47: 104,
    48: 208, 50: 16, 51: 8, 52: 416, 53: 24, 74: 40, 75: 16, 76: 32, 77: 64, 78: 32, 79: 16, 80: 40}


def jump(at, to):
    return b"\xe9" + struct.pack("<i", to - at - 5)


def image(version, debug):
    data = bytearray((i * 37 + (i >> 5)) & 0xff for i in range(BYTES))

    def put(va, text):
        data[va - FILE_VA:va - FILE_VA + len(text)] = text

    if debug:
        words = [0] * 128
        for i, value in OFFSETS.items():
            words[i] = value
        words[0], words[1] = int.from_bytes(b"xdebugpy", "little"), version
        put(RUNTIME, struct.pack("<128Q", *words))
    put(EVAL + 16, jump(EVAL + 16, COLD + 8))
    put(COLD + 32, jump(COLD + 32, EVAL + 40))
    put(TYPES + 0x100, struct.pack("<I", version))
    put(GETTERS, bytes.fromhex("f30f1efa64488b0425e8ffffffc3"))
    put(GETTERS + 64, bytes.fromhex("48833d70a1180000740e8b3d80010000e9"))
    return bytes(data)


def seed(name, version, debug=False, absent=()):
    symbols = [(RUNTIME, 1024), (RUNTIME, 8), (EVAL, 256), (TYPES, 416), (TYPES + 8, 416),
               (TYPES + 0x100, 4), (GETTERS, 14), (GETTERS + 64, 32), (16, 8), (0, 0), (EVAL, 4),
               (EVAL, 4), (EVAL, 4), (RUNTIME, 8), (FILE_VA, BYTES), (COLD, 128)]
    for i in absent:
        symbols[i] = (0, 0)
    head = b"".join(struct.pack("<HH", *symbol) for symbol in symbols)
    with open(os.path.join(HERE, "probe_" + name + ".bin"), "wb") as file:
        file.write(head + image(version, debug))


seed("3_6", 0, absent=(0, 5, 10, 11, 12))
seed("3_11", 0x030b07f0)
seed("3_14", 0x030e0af0, debug=True)
seed("3_99", 0x036300f0, debug=True)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes attach_*.bin: words of the made-up VM (tests/unit/made_up_vm.h) and what they are instead."""
import os
import struct

SEEDS = {
    # strides and offsets of the tables' rows
    "rows": [(0x4008 + 8 * i, i * 8) for i in range(6)] + [(0x4038, 64)],
    # members: where they are said to be
    "members": [(0x5000 + 48 * i + 32, 8 * i) for i in range(40)],
    # heaps, blocks, the interpreter
    "heaps": [(0xB804, 2), (0xB010, 0x7F0000010000), (0xB018, 0x7F0000014000), (0x10000, 0x1000000FF),
              (0x10020, 0x60), (0xBA08, 0x7F0000010100), (0xBA14, 0x100)],
}
for name, words in SEEDS.items():
    path = os.path.join(os.path.dirname(os.path.realpath(__file__)), f"attach_{name}.bin")
    with open(path, "wb") as seed:
        seed.write(b"".join(struct.pack("<IQ", va, value) for va, value in words))
        seed.write(b"\0" * (name == "rows"))

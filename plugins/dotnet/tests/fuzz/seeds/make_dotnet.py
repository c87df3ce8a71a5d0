#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_dotnet: each changes words that lengths, chains and searches go by."""
import os
import struct

HERE = os.path.dirname(os.path.realpath(__file__))
ADDR = 0x80000000
AT_TABLES, AT_FRAGMENTS, AT_NIBBLES, AT_TYPE, AT_MAP, IMAGE = 0x1000, 0x6000, 0x6300, 0x7400, 0xb000, 0x18000
CONTRACT = (b'{"version":0,"types":{"Module":{"Base":[288,"pointer"],"!":16},"MethodTable":{"Module":24}},'
            b'"globals":{"MethodDescTokenRemainderBitCount":["0xc","uint8"],"AppDomain":[[1],"pointer"]}}')
SEEDS = {
    "attach_8": (0, 0, [(AT_TABLES | ADDR, AT_TABLES), (AT_FRAGMENTS | ADDR, AT_FRAGMENTS)]),
    "attach_9": (1, 1, [(AT_NIBBLES, 0x1234567812345678), (AT_TYPE + 8, 0x500)]),
    "attach_10": (2, 2, [(AT_MAP, 0x1000000), (IMAGE + 0x880 + 8, 0x1fffffffffff), (IMAGE + 60, 0x7000)]),
}

for name, (release, how, records) in SEEDS.items():
    with open(os.path.join(HERE, name + ".bin"), "wb") as file:
        file.write(bytes([release, how]) + b"".join(struct.pack("<IQ", *record) for record in records))
with open(os.path.join(HERE, "contract.bin"), "wb") as file:
    file.write(b"\xff" + CONTRACT)
# OnHijackTripThread of 9, its call's target left out, and the call of a funclet.
TRIP = ("50555341574156415541545250 4889e7 488d6424d8 660f7f0424 660f7f4c2410 e800000000 660f6f0424 660f6f4c2410 "
        "488d642428 585a415c415d415e415f5b5d c3 488921ffd6 66488d3d00000000666648e8 9090909090909090")
with open(os.path.join(HERE, "helpers.bin"), "wb") as file:
    file.write(b"\xfd" + bytes.fromhex(TRIP.replace(" ", "")))

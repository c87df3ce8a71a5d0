#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py IN.o OUT.h NAME: the bytes of a BPF object as a C array, to be opened from memory."""
import sys

source, target, name = sys.argv[1:4]
data = open(source, "rb").read()
with open(target, "w") as out:
    out.write("/* Generated from %s. */\n" % source.rsplit("/", 1)[-1])
    out.write("static const unsigned char %s[] __attribute__((aligned(8))) = {\n" % name)
    for i in range(0, len(data), 20):
        out.write("\t" + ",".join(str(b) for b in data[i:i + 20]) + ",\n")
    out.write("};\n")

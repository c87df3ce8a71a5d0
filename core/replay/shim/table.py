#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py OUT.c NAME...: the table of the BPF sources that were compiled for user space."""
import sys

target, names = sys.argv[1], sys.argv[2:]
with open(target, "w", encoding="utf-8") as out:
    out.write('#include "core/replay/shim/helpers.h"\n\n#include <stddef.h>\n\n')
    for name in names:
        out.write("extern const struct ep_shim_object ep_shim_object_%s;\n" % name)
    out.write("const struct ep_shim_object *const ep_shim_objects[] = {\n")
    for name in names:
        out.write("\t&ep_shim_object_%s,\n" % name)
    out.write("\tNULL,\n};\n")

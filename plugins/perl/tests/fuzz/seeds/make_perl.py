#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds of fuzz_perl.c: a file's symbols, and an interpreter as it is in a process."""
import os
import struct

NAMES = ["Perl_runops_standard", "Perl_runops_debug", "PL_revision", "PL_version", "PL_curinterp", "PL_thr_key",
         "PL_current_context", "PL_op_name", "PL_op", "PL_curcop", "PL_curstackinfo", "PL_defstash", "PL_DBsub",
         "PL_compiling", "PL_incgv", "a function"]
BASE = 0x1000
FRAMES = 16 * 10        # of the beginning: kind and flags, what, statement, op, hash
LAYOUTS = {28: (240, 208, 1472, (184, 342, 345, 195, 196), False), 36: (224, 192, 1456, (184, 342, 345, 195, 196), True),
           40: (224, 192, 1224, (187, 345, 348, 198, 199), True)}
OPS = ("entersub", "require", "entereval", "nextstate", "dbstate")


class Memory:
    def __init__(self):
        self.bytes = bytearray(0x4000)
        self.next = FRAMES + 16

    def take(self, size):
        at = self.next
        self.next += (size + 15) & ~15
        return BASE + at

    def put(self, addr, form, *values):
        struct.pack_into("<" + form, self.bytes, addr - BASE, *values)

    def text(self, text):
        at = self.take(len(text) + 1)
        self.bytes[at - BASE:at - BASE + len(text)] = text.encode()
        return at

    def sv(self, flags, body=0, u=0):
        at = self.take(24)
        self.put(at, "QIIQ", body, 1, flags, u)
        return at

    def hek(self, name):
        at = self.take(8 + len(name) + 2)
        self.put(at, "Ii", 0, len(name))
        self.bytes[at + 8 - BASE:at + 8 - BASE + len(name)] = name.encode()
        return at

    def stash(self, name, in_body):
        hek, body, array = self.hek(name), self.take(128), self.take(128)
        self.put(body + 24, "Q", 7)
        self.put(body + 32 if in_body else array + 64, "Q", hek)
        return self.sv(12 | 0x02000000, body, array)

    def glob(self, stash, name):
        body, gp = self.take(64), self.take(96)
        gv = self.sv(9 | 0x8000, body, gp)
        self.put(body + 32, "QQ", self.hek(name), stash)
        self.put(gp + 56, "Q", gv)
        return gv, gp

    def cop(self, file, line, nextstate):
        at = self.take(96)
        self.put(at + 32, "H", nextstate)
        self.put(at + 36, "I", line)
        self.put(at + 48, "Q", file)
        self.put(at + 60, "I", 100)
        return at


def make(minor, threads):
    m = Memory()
    stack_off, defstash_off, incgv_off, ops, in_body = LAYOUTS[minor]
    symbols = dict.fromkeys(NAMES, (0, 0))
    version, variables, names = m.take(2), m.take(64), m.take(8 * 400)
    m.put(version, "BB", 5, minor)
    symbols.update({"Perl_runops_standard": (0x9000, 76), "Perl_runops_debug": (0x9100, 300),
                    "PL_revision": (version, 1), "PL_version": (version + 1, 1), "PL_op_name": (names, 8 * 400)})
    for number, name in zip(ops, OPS):
        m.put(names + 8 * number, "Q", m.text(name))
    main, package = m.stash("main", in_body), m.stash("My::Package", in_body)
    gv, _ = m.glob(package, "work")
    file = m.text("/lib/Work.pm") if threads else m.glob(package, "_</lib/Work.pm")[0]
    cop, start = m.cop(file, 17, ops[3]), m.cop(file, 12, ops[3])
    block, inner = m.take(48), m.cop(file, 18, 0)
    m.put(cop + 8, "Q", block)
    m.put(cop + 32, "H", ops[3] | 1 << 14)
    m.put(block + 32, "HB", 5, 4)
    m.put(block + 40, "Q", inner)
    m.put(inner + 8, "QQQ", block, 0, ops[3])
    body = m.take(128)
    m.put(body + 32, "QQQQQ", package, start, block, gv, file)
    cv = m.sv(13, body)
    context = m.take(512)
    info = m.take(64)
    m.put(info + 8, "QQQii", context, 0, 0, 2, 4)
    array, entry, hash_body = m.take(64), m.take(24), m.take(64)
    m.put(entry + 16, "Q", m.sv(3 | 0x400, 0, m.text("/lib/Other.pm")))
    m.put(array + 8, "Q", entry)
    m.put(hash_body + 24, "Q", 7)
    inc, inc_gp = m.glob(main, "INC")
    m.put(inc_gp + 32, "Q", m.sv(12, hash_body, array))
    if threads:
        interp = m.take(2048)
        m.put(interp + stack_off, "Q", info)
        m.put(interp + defstash_off, "Q", main)
        m.put(interp + incgv_off, "Q", inc)
        m.put(variables, "Q", interp)
        symbols["PL_curinterp"] = variables, 8
        symbols["PL_thr_key"] = variables + 8, 4
    else:
        for i, name in enumerate(("PL_op", "PL_curcop", "PL_curstackinfo", "PL_defstash", "PL_incgv")):
            symbols[name] = variables + 8 * i, 8
        m.put(variables, "QQQQQ", cop, cop, info, main, inc)
    for i in range(16):
        what = {1: cv, 2: cv, 11: package, 12: gv}.get(i, 0) or cv
        flags = 0x10 if i in (5, 11) else 0
        m.put(BASE + 10 * i, "HHHHH", i | flags | (0x0800 if flags else 0), what - BASE, cop - BASE, (inner - cop) >> 3, 1)
    head = b"".join(struct.pack("<HH", *symbols[name]) for name in NAMES)
    return head + bytes(m.bytes[:m.next])


if __name__ == "__main__":
    here = os.path.dirname(os.path.realpath(__file__))
    for label, minor, threads in (("28", 28, True), ("36", 36, True), ("40", 40, True), ("variables", 36, False)):
        with open(os.path.join(here, f"perl_{label}.bin"), "wb") as out:
            out.write(make(minor, threads))

# SPDX-License-Identifier: Apache-2.0
"""Reads class files (The Java Virtual Machine Specification, chapter 4) for what a stack must agree with.

    known = read_class(data)        {method name: [Method]}

A call from line 12 of a method is true when the bytecode of line 12 calls such a method.
"""
import bisect
import collections
import struct

BRIDGE, NATIVE = 0x0040, 0x0100  # table 4.6-A
WIDE, TABLESWITCH, LOOKUPSWITCH, IINC = 0xc4, 0xaa, 0xab, 0x84
INVOKES = {0xb6: "virtual", 0xb7: "special", 0xb8: "static", 0xb9: "interface", 0xba: "dynamic"}
# Bytes behind a constant's tag: table 4.4-A. Utf8, 1, has its length within.
CONSTANT_BYTES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2,
                  17: 4, 18: 4, 19: 2, 20: 2}

Call = collections.namedtuple("Call", "kind owner name descriptor")


def instruction_bytes():
    """Lengths by opcode, 1 where nothing is said: chapter 6.5."""
    lengths = collections.defaultdict(lambda: 1)
    for first, last, length in ((16, 16, 2), (17, 17, 3), (18, 18, 2), (19, 20, 3), (21, 25, 2),
                                (54, 58, 2), (132, 132, 3), (153, 168, 3), (169, 169, 2),
                                (178, 184, 3), (185, 186, 5), (187, 187, 3), (188, 188, 2),
                                (189, 189, 3), (192, 193, 3), (197, 197, 4), (198, 199, 3),
                                (200, 201, 5)):
        lengths.update(dict.fromkeys(range(first, last + 1), length))
    return lengths


INSTRUCTION_BYTES = instruction_bytes()


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, length):
        self.at += length
        return int.from_bytes(self.data[self.at - length:self.at], "big")

    def bytes(self, length):
        self.at += length
        return self.data[self.at - length:self.at]


class Method:
    def __init__(self, name, descriptor, flags):
        self.name, self.descriptor, self.flags = name, descriptor, flags
        self.starts, self.start_lines = [], []  # of bytecode, ascending
        self.calls = collections.defaultdict(set)  # line -> {Call}

    @property
    def is_native(self):
        return bool(self.flags & NATIVE)

    @property
    def is_bridge(self):
        return bool(self.flags & BRIDGE) or self.name.startswith("access$")

    @property
    def lines(self):
        return set(self.start_lines)

    def line_at(self, bci):
        at = bisect.bisect_right(self.starts, bci) - 1
        return self.start_lines[at] if at >= 0 else 0

    def calls_at(self, line):
        return self.calls.get(line, set()) if self.start_lines else \
            set().union(*self.calls.values())


class ClassFile:
    def __init__(self, data):
        self.reader = reader = Reader(data)
        if reader.number(4) != 0xcafebabe:
            raise ValueError("no class file")
        reader.number(4)
        self.constants = self.read_constants()
        reader.number(2)
        self.name = self.class_name(reader.number(2))
        reader.number(2)
        reader.bytes(2 * reader.number(2))
        for _ in range(reader.number(2)):  # fields
            reader.number(6)
            list(self.attributes())
        self.methods = collections.defaultdict(list)
        for _ in range(reader.number(2)):
            method = self.read_method()
            self.methods[method.name].append(method)

    def read_constants(self):
        reader = self.reader
        count, constants, at = reader.number(2), {}, 1
        while at < count:
            tag = reader.number(1)
            constants[at] = tag, reader.bytes(reader.number(2) if tag == 1 else CONSTANT_BYTES[tag])
            at += 2 if tag in (5, 6) else 1
        return constants

    def text(self, index):
        return self.constants[index][1].decode("utf-8", "replace")

    def class_name(self, index):
        return self.text(struct.unpack(">H", self.constants[index][1])[0]).replace("/", ".")

    def call(self, kind, index):
        tag, data = self.constants[index]
        owner, pair = struct.unpack(">HH", data)
        name, descriptor = struct.unpack(">HH", self.constants[pair][1])
        owner = "" if tag == 18 else self.class_name(owner)
        return Call(kind, owner, self.text(name), self.text(descriptor))

    def attributes(self):
        for _ in range(self.reader.number(2)):
            name = self.text(self.reader.number(2))
            yield name, self.reader.bytes(self.reader.number(4))

    def read_method(self):
        flags = self.reader.number(2)
        name, descriptor = self.text(self.reader.number(2)), self.text(self.reader.number(2))
        method = Method(name, descriptor, flags)
        for attribute, data in self.attributes():
            if attribute == "Code":
                self.read_code(method, data)
        return method

    def read_code(self, method, data):
        outer, self.reader = self.reader, Reader(data)
        self.reader.number(4)
        code = self.reader.bytes(self.reader.number(4))
        self.reader.bytes(8 * self.reader.number(2))
        lines = []
        for attribute, table in self.attributes():
            if attribute == "LineNumberTable":
                lines += struct.iter_unpack(">HH", table[2:])
        self.reader = outer
        method.starts = [start for start, _ in sorted(lines)]
        method.start_lines = [line for _, line in sorted(lines)]
        for bci, opcode in instructions(code):
            if opcode in INVOKES:
                index = int.from_bytes(code[bci + 1:bci + 3], "big")
                method.calls[method.line_at(bci)].add(self.call(INVOKES[opcode], index))


def instructions(code):
    """(bci, opcode)"""
    bci = 0
    while bci < len(code):
        opcode = code[bci]
        yield bci, opcode
        if opcode in (TABLESWITCH, LOOKUPSWITCH):
            bci = after_switch(code, bci)
        elif opcode == WIDE:
            bci += 6 if code[bci + 1] == IINC else 4
        else:
            bci += INSTRUCTION_BYTES[opcode]


def after_switch(code, bci):
    at = (bci + 4) & ~3
    _, first, second = struct.unpack(">iii", (code[at:at + 12] + bytes(12))[:12])
    if code[bci] == LOOKUPSWITCH:
        return at + 8 + 8 * first
    return at + 12 + 4 * (second - first + 1)


def read_class(data):
    return ClassFile(data).methods

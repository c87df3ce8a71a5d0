#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C header of a .proto file: the number of each field, as MESSAGE_FIELD.

    make_fields.py FILE.proto HEADER

Of protocol buffers' language it knows what our files use: messages with fields and a oneof. Whatever it does not
understand is an error. C has no messages made of it: docs/exporters.md says why.
"""
import os
import re
import sys

COMMENT = re.compile(r"//[^\n]*")
MESSAGE = re.compile(r"message (\w+) \{")
FIELD = re.compile(r"(?:repeated )?(\w+) (\w+) = (\d+);")
SCALARS = {"bool", "bytes", "double", "fixed64", "int32", "int64", "string", "uint32", "uint64"}


def upper(name):
    """ScopeProfiles, or scope_profiles: SCOPE_PROFILES."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def read(path):
    """{message: [(type, name, number)]}"""
    with open(path, encoding="ascii") as file:
        lines = [COMMENT.sub("", line).strip() for line in file]
    messages, depth = {}, 0
    for number, line in enumerate(lines, 1):
        message, field = MESSAGE.fullmatch(line), FIELD.fullmatch(line)
        if message and depth == 0:
            fields = messages.setdefault(message.group(1), [])
            depth = 1
        elif line == "oneof value {" and depth == 1:
            depth = 2
        elif line == "}" and depth > 0:
            depth -= 1
        elif field and depth > 0:
            fields.append((field.group(1), field.group(2), int(field.group(3))))
        elif line and not re.fullmatch(r'syntax = "proto3";|package \w+;', line):
            sys.exit(f"{path}:{number}: not understood: {line}")
    return messages


def check(path, messages):
    for message, fields in messages.items():
        numbers = [number for _, _, number in fields]
        if len(set(numbers)) < len(numbers) or min(numbers, default=1) < 1:
            sys.exit(f"{path}: {message} has a number twice")
        for kind, name, _ in fields:
            if kind not in SCALARS and kind not in messages:
                sys.exit(f"{path}: {message}.{name} is a {kind}, which is no message")


def main():
    path, header = sys.argv[1:]
    messages = read(path)
    check(path, messages)
    guard = "EP_" + re.sub(r"\W", "_", os.path.basename(header)).upper()
    out = [f"/* Field numbers of {os.path.basename(path)}, made by make_fields.py. */", f"#ifndef {guard}", f"#define {guard}",
           "", "enum {"]
    for message, fields in messages.items():
        out += [f"\t{upper(message)}_{upper(name)} = {number}," for _, name, number in fields]
    out += ["};", "", "#endif", ""]
    with open(header, "w", encoding="ascii") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main()

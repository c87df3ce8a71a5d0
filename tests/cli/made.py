# SPDX-License-Identifier: Apache-2.0
"""Profiles that tests make up: pprof by hand, and programs with addresses that are known."""
import gzip
import os
import shutil
import subprocess


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """A field of a message: a number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


class Pprof:
    """profile.proto, https://github.com/google/pprof: what is needed of it."""

    def __init__(self, unit="nanoseconds", kind="cpu", period=10_000_000):
        self.strings, self.functions, self.locations, self.mappings, self.samples = [""], [], [], [], []
        self.header = (field(1, field(1, self.text("samples")) + field(2, self.text("count")))
                       + field(1, field(1, self.text(kind)) + field(2, self.text(unit)))
                       + field(11, field(1, self.text(kind)) + field(2, self.text(unit))) + field(12, period))
        self.period = period

    def text(self, text):
        text = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        if text not in self.strings[1:]:
            if text in ("", b""):
                return 0
            self.strings.append(text)
        return self.strings.index(text)

    def mapping(self, path, build_id="", start=0x1000, limit=0x100000, offset=0x1000):
        self.mappings.append(field(1, len(self.mappings) + 1) + field(2, start) + field(3, limit) + field(4, offset)
                             + field(5, self.text(path)) + field(6, self.text(build_id)))
        return len(self.mappings)

    def location(self, name="", file="", line=0, mapping=0, address=0, start=0):
        """start: the line where the function begins."""
        lines = b""
        if name:
            self.functions.append(field(1, len(self.functions) + 1) + field(2, self.text(name))
                                  + field(3, self.text(name)) + field(4, self.text(file)) + field(5, start))
            lines = field(4, field(1, len(self.functions)) + field(2, line))
        self.locations.append(field(1, len(self.locations) + 1) + (field(2, mapping) if mapping else b"")
                              + (field(3, address) if address else b"") + lines)
        return len(self.locations)

    def sample(self, locations, count, labels=()):
        """Labels are (key, text or number)."""
        made = b"".join(field(3, field(1, self.text(key)) + (field(2, self.text(value)) if isinstance(value, str)
                                                              else field(3, value))) for key, value in labels)
        self.samples.append(field(1, b"".join(varint(number) for number in locations))
                            + field(2, varint(count) + varint(count * self.period)) + made)

    def bytes(self):
        parts = [self.header]
        parts += [field(2, sample) for sample in self.samples]
        parts += [field(3, mapping) for mapping in self.mappings]
        parts += [field(4, location) for location in self.locations]
        parts += [field(5, function) for function in self.functions]
        parts += [field(6, text if isinstance(text, bytes) else text.encode()) for text in self.strings]
        return b"".join(parts)

    def write(self, path, packed=True):
        with open(path, "wb") as file:
            file.write(gzip.compress(self.bytes()) if packed else self.bytes())
        return path


PROGRAM = """
#include <stdio.h>
__attribute__((noinline)) int first_secret(int x) { return x * 3 + 1; }
__attribute__((noinline)) static int second_secret(int x) { return x ^ first_secret(x); }
int main(int argc, char **argv) { printf("%d\\n", second_secret(argc)); return 0; }
"""


def has_tools(*names):
    return all(shutil.which(name) for name in names)


def stripped_program(directory):
    """(path of a stripped program, path of its debug file, build id, {name: address})"""
    source, program, debug = (os.path.join(directory, name) for name in ("secret.c", "secret", "secret.debug"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id", "-o", program, source], check=True)
    symbols = subprocess.run(["nm", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    addresses = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines() if len(line.split()) == 3}
    notes = subprocess.run(["readelf", "-n", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    build_id = next(line.split()[-1] for line in notes.splitlines() if "Build ID" in line)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    return program, debug, build_id, {name: addresses[name] for name in ("first_secret", "second_secret", "main")}

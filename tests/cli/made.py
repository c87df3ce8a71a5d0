# SPDX-License-Identifier: Apache-2.0
"""Profiles that tests make up: pprof by hand, and programs with addresses that are known."""
import gzip
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kit"))
from wire import data, number, numbers, packed  # noqa: E402


class Pprof:
    """profile.proto, https://github.com/google/pprof: what is needed of it."""

    def __init__(self, unit="nanoseconds", kind="cpu", period=10_000_000):
        self.strings, self.functions, self.locations, self.mappings, self.samples = [""], [], [], [], []
        measured = numbers(self.text(kind), self.text(unit))
        self.header = data(1, numbers(self.text("samples"), self.text("count"))) + data(1, measured) + data(11, measured) \
            + number(12, period)
        self.period = period

    def text(self, text):
        text = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        if text not in self.strings[1:]:
            if text in ("", b""):
                return 0
            self.strings.append(text)
        return self.strings.index(text)

    def mapping(self, path, build_id="", start=0x1000, limit=0x100000, offset=0x1000):
        self.mappings.append(numbers(len(self.mappings) + 1, start, limit, offset, self.text(path), self.text(build_id)))
        return len(self.mappings)

    def location(self, name="", file="", line=0, mapping=0, address=0, start=0, system_name=None):
        """start: the line where the function begins."""
        lines = b""
        if name:
            self.functions.append(numbers(len(self.functions) + 1, self.text(name),
                                          self.text(name if system_name is None else system_name), self.text(file), start))
            lines = data(4, numbers(len(self.functions), line))
        self.locations.append(numbers(len(self.locations) + 1, mapping, address) + lines)
        return len(self.locations)

    def sample(self, locations, count, labels=()):
        """Labels are (key, text or number)."""
        made = b"".join(data(3, numbers(self.text(key), self.text(value)) if isinstance(value, str) else
                             numbers(self.text(key), 0, value)) for key, value in labels)
        self.samples.append(packed(1, locations) + packed(2, [count, count * self.period]) + made)

    def bytes(self):
        tables = (2, self.samples), (3, self.mappings), (4, self.locations), (5, self.functions), (6, self.strings)
        return self.header + b"".join(data(field, row) for field, rows in tables for row in rows)

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

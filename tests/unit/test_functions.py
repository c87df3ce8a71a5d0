#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Names of Go code against what Go's own runtime says of the same addresses: function, name in the
table, file, line and start line of each frame, inlined ones too.

    test_functions.py FUNCTIONS_PRINT [GO...]

Builds functions_truth with each Go there is on this machine (1.18 and newer), as an executable and
as stripped position-independent ones, by Go's linker and by the system's, and asks both sides for
random addresses of its text. Skipped (77) without a Go.
"""
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

ADDRESSES = 10000
SOURCE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "functions_truth")
BUILDS = [("exe", ""), ("pie", "-s -w"), ("pie", "-s -w -linkmode=external")]
WRAPPER, SHOWS_WRAPPER = 1, 2


def version_of(go):
    try:
        text = subprocess.run([go, "env", "GOVERSION"], stdout=subprocess.PIPE, env=environment(),
                              stderr=subprocess.DEVNULL, universal_newlines=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    match = re.search(r"go1\.(\d+)", text)
    return int(match[1]) if match else 0


def environment():
    return dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-mod=mod")


def find_goes():
    goes = {}
    for go in ["go"] + sorted(glob.glob("/usr/lib/go-*/bin/go")):
        version = version_of(go)
        if version >= 18:
            goes.setdefault(version, go)
    return goes


def build(go, version, mode, flags, path):
    if version >= 23:  # names of the runtime's own are refused otherwise
        flags += " -checklinkname=0"
    subprocess.run([go, "build", "-buildmode=" + mode, "-ldflags=" + flags, "-o", path, "."],
                   cwd=SOURCE, env=environment(), check=True)


def read_elf(path):
    """Where the file is loaded by itself, its text's address and its text."""
    sections = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, check=True,
                              universal_newlines=True).stdout
    loads = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, check=True,
                           universal_newlines=True).stdout
    text = re.search(r"\] \.text +PROGBITS +(\w+) (\w+) (\w+)", sections)
    low = int(re.search(r"LOAD +\w+ (\w+)", loads)[1], 16)
    va, off, size = (int(number, 16) for number in text.groups())
    with open(path, "rb") as file:
        return low & ~0xfff, va, file.read()[off:off + size]


def ask(command, addresses):
    """Lines by address."""
    output = subprocess.run(command, input="".join("%x\n" % at for at in addresses), check=True,
                            stdout=subprocess.PIPE, universal_newlines=True).stdout.split("\n")
    frames, i = {}, 0
    while i < len(output) and output[i]:
        address, n = output[i].split(" ")
        frames[int(address, 16)] = [line.split("\t") for line in output[i + 1:i + 1 + int(n)]]
        i += 1 + int(n)
    return frames


def is_shown(lines, i, keeps_last):
    """As the runtime shows it: alone, and before Go 1.21 the last line, also where it is a wrapper."""
    if len(lines) == 1 or (keeps_last and i == len(lines) - 1):
        return True
    return not int(lines[i][0]) & WRAPPER or (i > 0 and int(lines[i - 1][0]) & SHOWS_WRAPPER)


def agree(truth, ours, version):
    ours = [line for i, line in enumerate(ours) if is_shown(ours, i, version < 21)]
    if len(truth) != len(ours):
        return False
    for there, here in zip(truth, ours):
        function, system_name, file, line, start_line = there
        # The first name of a table is one to us, and none to the runtime.
        if function and function != here[1]:
            return False
        if system_name and system_name != (here[2] or here[1]):
            return False
        if (file if file != "?" else "") != here[3] or line != here[4]:
            return False
        if version >= 21 and start_line != here[5]:
            return False
    return True


def compare(printer, path, version):
    low, va, text = read_elf(path)
    chosen = random.Random(7)
    # int3: what is between functions
    addresses = sorted({va + off for off in (chosen.randrange(len(text)) for _ in
                                             range(ADDRESSES + ADDRESSES // 4)) if text[off] != 0xcc})
    truth = ask([path, "%x" % low], addresses)
    ours = ask([printer, path], addresses)
    bad = [at for at in truth if not agree(truth[at], ours[at], version)]
    for at in bad[:5]:
        print("%x\n  truth %s\n  ours  %s" % (at, truth[at], ours[at]))
    inlined = sum(len(lines) > 1 for lines in truth.values())
    print("%d addresses, %d with inlined calls, %d lines, %d wrong"
          % (len(truth), inlined, sum(map(len, truth.values())), len(bad)))
    return not bad and len(truth) > ADDRESSES * 9 // 10 and inlined > ADDRESSES // 20


def main():
    printer = sys.argv[1]
    goes = {version_of(go): go for go in sys.argv[2:]} or find_goes()
    good = True
    for version, go in sorted(goes.items()):
        for mode, flags in BUILDS:
            with tempfile.TemporaryDirectory() as place:
                path = os.path.join(place, "truth")
                build(go, version, mode, flags, path)
                print("go1.%d, %s %s: " % (version, mode, flags), end="", flush=True)
                good &= compare(printer, path, version)
    if not goes:
        print("skipped: no go")
        return 77
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unwind rules against libdw's, for every ELF file in /usr/lib and /usr/bin."""
import os
import re
import subprocess
import sys

DIFF = os.path.join(os.environ.get("EBPF_PROFILER_BUILD", "build"), "core/unwind/diff_unwind_libdw")


def row(name, value, unit="", bar="", verdict="for information"):
    print(name, value, unit, bar, verdict, sep="\t")


def main():
    if not os.access(DIFF, os.X_OK):
        print(f"skip: {DIFF} was not built: libdw-dev is missing")
        sys.exit(77)
    out = subprocess.run([DIFF, "--all"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"(\d+) files \((\d+) without CFI\), (\d+) FDEs, (\d+) rows compared, "
                      r"(\d+) differences, (\d+) unsupported, (\d+) refused by libdw", out)
    if not match:
        sys.exit("no summary from " + DIFF)
    files, bare, fdes, rows, differences, unsupported, refused = match.groups()
    row("rules against libdw: differences", differences, "", "0",
        "met" if differences == "0" else "missed")
    row("ELF files", files, "", "", f"of them without CFI: {bare}")
    row("FDEs", fdes)
    row("rows compared: CFA, return address, rbp, rsp", rows)
    for line in re.findall(r"^unsupported: (.*)$", out, re.M):
        row("unsupported expression", line)
    row("unsupported rows", unsupported, "", "", "listed and counted")
    row("rows libdw refuses and libgcc reads as we do", refused)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No sample has frames of a file that only looks like its own: variants.py has the cases. Needs root and bpf().

    test_variants.py CASE DIRECTORY     the programs are in DIRECTORY
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "kit"))
import counting  # noqa: E402
import passes  # noqa: E402
import variants  # noqa: E402

SKIP = 77
AT_LEAST = 100
BAR = 97  # percent


def judge(case, kind, directory):
    found = variants.run_case(case, kind, directory, 2)
    print(f"{case}, {kind}: {found.samples} samples, {found.wrong} with another file's frames, {found.lost} not whole")
    for names, count in found.examples.most_common(3):
        print(f"  {count}: {names}")
    # A machine that is busy with neighbours may lose others' stacks.
    is_whole = case in variants.NEIGHBOURS or not counting.is_missed(found.lost, found.samples, BAR)
    return found.samples >= AT_LEAST and found.wrong == 0 and is_whole


def main():
    case, directory = sys.argv[1:]
    if os.geteuid() != 0:
        print("skip: needs root")
        return SKIP
    try:
        return 0 if all([judge(case, kind, directory) for kind in variants.KINDS_OF.get(case, variants.KINDS)]) else 1
    except passes.Cannot as e:
        print(f"skip: {e}")
        return SKIP


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps through builtins of each Node of npm's that this machine has (step.c): check_steps.py STEP [CHECKS].

Of a row per instruction one cannot say both of a loop's first turn and of the others, when the return address
moves in it (Generate_CallOrConstructVarargs); hence the bar."""
import glob
import os
import re
import subprocess
import sys

ROOTS = os.environ.get("EBPF_PROFILER_RUNTIMES", "/var/tmp/ebpf-profiler-runtimes")
PROGRAM = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "programs", "steps.js")
PERCENT = "99"
FIRST = 12      # of the major numbers: before it builtins are not in the file
SKIP = 77
RUNS = (None, "--jitless", "--interpreted-frames-native-stack")


def find():
    for path in sorted(glob.glob(glob.escape(ROOTS) + "/npm-node*/bin/node")):
        number = int(re.search(r"npm-node(\d+)", path).group(1))
        if number >= FIRST:
            yield number, path


def main():
    step, checks = sys.argv[1], (sys.argv[2:] + ["5000"])[0]
    found = list(find())
    passed = failed = skipped = 0
    for _, path in found:
        for flag in RUNS:
            command = [step, path, PROGRAM, checks, PERCENT] + ([flag] if flag else [])
            code = subprocess.run(command, check=False, timeout=120).returncode
            print("    %s%s" % ({0: "ok", SKIP: "SKIPPED"}.get(code, "FAILED"), " with " + flag if flag else ""),
                  flush=True)
            passed, failed, skipped = passed + (code == 0), failed + (code not in (0, SKIP)), skipped + (code == SKIP)
    if not found:
        print("SKIPPED: no Node of npm's, %d or up" % FIRST)
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0 if passed else SKIP


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `diff` finds in real recordings: pairs of runs of one program that are equal, and pairs in which one
function, which has a fifth of the CPU time, was made a quarter dearer.

The machine should have nothing else to do: interrupts on behalf of other programs differ from run to run, and the
functions of the kernel that handle them are movers then. Those of the program itself are counted apart.
"""
import json
import os
import subprocess
import tempfile

import measure

PAIRS = int(os.environ.get("EBPF_PROFILER_BENCH_PAIRS", "20"))
SAMPLES = 10000
FREQ = int(os.environ.get("EBPF_PROFILER_BENCH_FREQ", "1999"))


PROGRAM = {"main", "dearer", "first_half", "second_half", "cpu_seconds", "one", "two", "three", "four", "five", "six",
           "seven", "eight", "nine", "ten"}


def record(directory, name, percent):
    path = os.path.join(directory, name + ".otlp.gz")
    measure.record(["-F", str(FREQ), "-o", path], [measure.program("dearer"), str(SAMPLES / FREQ), str(percent)])
    return path


def movers(before, after):
    result = subprocess.run([measure.BINARY, "diff", "--json", before, after], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def main():
    measure.begin()
    moved, found, inside, samples = [], 0, 0, []
    with tempfile.TemporaryDirectory() as directory:
        for pair in range(PAIRS):
            before, same = record(directory, "before", 0), record(directory, "same", 0)
            equal = movers(before, same)
            samples += [equal["a"]["samples"], equal["b"]["samples"]]
            moved += equal["movers"]
            for mover in equal["movers"]:
                measure.note(f"pair {pair}: {mover['function']}: {mover['self']} {mover['total']}")
            after = record(directory, "after", 25)
            dearer = [mover["self"] for mover in movers(before, after)["movers"]
                      if mover["function"] == "dearer" and mover["self"]["low"] > 0]
            found += len(dearer)
            inside += sum(change["low"] <= 0.25 / 1.05 - 0.2 <= change["high"] for change in dearer)
            for path in (before, same, after):
                os.unlink(path)
    measure.row("samples of a run, the fewest", min(samples), "")
    measure.row(f"`diff`, {PAIRS} pairs of equal runs: movers", len(moved), "", "<= 1", 1)
    measure.row("of these in the program itself", sum(mover["function"] in PROGRAM for mover in moved), "")
    measure.row(f"`diff`, {PAIRS} pairs with a function of 20 % that is 25 % dearer: found", found, "",
                f">= {PAIRS - 1}", PAIRS - 1, at_least=True)
    measure.row("the true difference is inside its interval", inside, "pairs")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Share of right and complete stacks over the live test programs, and of CPU time accounted for."""
import os
import tempfile

import measure
import check_stacks
import passes
import stacks

BAR = 99.5
SECONDS = os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "10")
CASES = [  # what the issue names: label, program, arguments
    ("callbacks through qsort, gcc", "callbacks", []),
    ("callbacks through qsort, clang", "callbacks_clang", []),
    ("signal handlers", "signals", []),
    ("signal handlers, alternate stack", "signals", ["alt"]),
    ("alloca, VLA, realigned frames", "frames", []),
    ("threads", "threads", []),
    ("PLT", "plt", []),
    ("recursion 900 deep", "deep", []),
    ("exceptions, gcc", "exceptions", []),
    ("exceptions, clang", "exceptions_clang", []),
    ("C++ calls", "cpp", []),
]


def judged(program, arguments, directory):
    """(samples, percent matching, percent complete) of one program, nothing left out but aside."""
    command = [os.path.join(measure.BUILD, "tests", "live", program), SECONDS, *arguments]
    profile, said, _ = passes.run_record(499, command, directory)
    samples = [s for s in profile.samples if not check_stacks.is_starter(s)]
    counts, _, worst = check_stacks.judge(samples, stacks.parse_truth(said), False)
    for stack, count in worst.most_common(3):
        measure.note(f"{program}: mismatch {count}: {stack}")
    return counts


def row(name, part, whole):
    measure.row(name, check_stacks.percent(part, whole), "%", f">= {BAR}", BAR, at_least=True)


def main():
    total, matching, complete = 0, 0, 0
    for label, program, arguments in CASES:
        with tempfile.TemporaryDirectory() as directory:
            counts = judged(program, arguments, directory)
        total += counts["all"]
        matching += counts["matching"] + counts["aside"]
        complete += counts["complete"]
        row(f"complete stacks: {label}", counts["complete"], counts["all"])
    row("complete stacks: all of these", complete, total)
    row("right stacks: all of these", matching, total)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Share of right and complete stacks over the live test programs, and of CPU time accounted for."""
import os
import subprocess
import sys
import tempfile

ROOT = os.environ["EBPF_PROFILER_ROOT"]
PROGRAMS = os.path.join(os.environ["EBPF_PROFILER_BUILD"], "tests", "live")
sys.path[:0] = [os.path.join(ROOT, "tests", part) for part in ("live", "kit")]
import check_stacks  # noqa: E402
import stacks  # noqa: E402

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


def measure(program, arguments, path):
    """(samples, percent matching, percent complete) of one program, nothing left out but aside."""
    command = [os.environ["EBPF_PROFILER_BINARY"], "record", "-F", "499", "-o", path, "--force",
               "--", os.path.join(PROGRAMS, program), SECONDS, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode in check_stacks.CANNOT and not os.path.exists(path):
        print(run.stderr.strip().splitlines()[-1])
        sys.exit(check_stacks.SKIP)
    if run.returncode != 0:
        sys.exit(run.stderr)
    samples = [s for s in stacks.read_profile(path).samples if not check_stacks.is_starter(s)]
    counts, _, worst = check_stacks.judge(samples, stacks.parse_truth(run.stdout), False)
    for stack, count in worst.most_common(3):
        print(f"{program}: mismatch {count}: {stack}", file=sys.stderr)
    return counts


def row(name, part, whole):
    value = check_stacks.percent(part, whole)
    print(f"{name}\t{value:.2f}\t%\t>= {BAR}\t{'met' if value >= BAR else 'missed'}", flush=True)


def main():
    total, matching, complete = 0, 0, 0
    for label, program, arguments in CASES:
        with tempfile.TemporaryDirectory() as directory:
            counts = measure(program, arguments, os.path.join(directory, "x.pb.gz"))
        total += counts["all"]
        matching += counts["matching"] + counts["aside"]
        complete += counts["complete"]
        row(f"complete stacks: {label}", counts["complete"], counts["all"])
    row("complete stacks: all of these", complete, total)
    row("right stacks: all of these", matching, total)


if __name__ == "__main__":
    main()

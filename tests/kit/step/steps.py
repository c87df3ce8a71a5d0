# SPDX-License-Identifier: Apache-2.0
"""Runs a stepper (step.h) on a program, and tells its outcome. A language's check_step.py:

    options = steps.parser(__doc__, percent=99.9, judged=20000).parse_args()
    sys.exit(outcomes.run_each(cases, run_one))

where run_one() starts the program and calls check().
"""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import runs  # noqa: E402

RIGHT, NOT_RIGHT, UNABLE, TOO_FEW = range(4)    # status of a stepper (run.c)
SECONDS = 600


def parser(text, percent, judged, examples=2):
    made = argparse.ArgumentParser(description=text.partition("\n")[0])
    made.add_argument("--step", required=True, help="the stepper")
    made.add_argument("--plugins", required=True, help="directory of the language's plugin")
    made.add_argument("--full", action="store_true",
                      default=bool(os.environ.get("EBPF_PROFILER_TEST_FULL")))
    made.add_argument("-n", type=int, default=judged, help="instructions to be judged")
    made.add_argument("--examples", type=int, default=examples,
                      help="that are printed of each kind of code")
    made.add_argument("--percent", type=float, default=percent, help="of them must be right")
    return made


def step(options, pid, *more):
    """The stepper's status."""
    command = [options.step, "-p", str(pid), "-P", options.plugins, "-n", str(options.n),
               "-b", str(options.percent), "-e", str(options.examples), *more]
    return subprocess.run(command, check=False, timeout=SECONDS).returncode


def failed(options, status):
    reasons = {NOT_RIGHT: f"fewer than {options.percent} % are right",
               TOO_FEW: "too few were judged", UNABLE: "it could not be stepped"}
    return runs.Failed(reasons.get(status, f"exit status {status}"))


def check(options, pid, *more):
    """Raises Failed."""
    status = step(options, pid, *more)
    if status != RIGHT:
        raise failed(options, status)

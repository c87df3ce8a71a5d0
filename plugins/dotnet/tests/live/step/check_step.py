#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single-steps programs/Burner.cs with a walk at every instruction of managed code and of stubs (step.h).

    check_step.py --step step_dotnet --plugins DIR [--full] [--only REGEX] [-n N]
                  [--examples N] [--percent P]

All scenarios of the burner, with little work each. By default a short form on one release, with the
runtime's tiers and in one run judged by the frame pointer alone, which must be found wrong; --full:
20 000 instructions on 8, 9 and 10, of each tier, and through exceptions. A run fails below 99.99 %
of right callers. Exit status 77: no program, or no right to trace.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # this is a source tree
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, *[".."] * 5, "tests/kit/step")]
import check_dotnet     # and with it where the kit is
import outcomes
import runs
import steps

JUDGED, FEW = 20000, 4000
WARM = 3.0      # seconds of CPU time: by then it has compiled what it calls
# Tier 0 is not left, but for on-stack replacement, which comes at once.
OSR = {"DOTNET_TC_CallCounting": "0", "DOTNET_OSR_HitLimit": "1",
       "DOTNET_TC_OnStackReplacement_InitialCounter": "2"}
NATIVE = ["-N", "20000", "-n", "1500", "-r", "50"]
FORMS = "10", "8_alone", "9_alone"
# label: settings of the runtime, scenario of the burner, more arguments. Native code is stepped,
# too, until it is known where it enters funclets and the code that replaces a frame.
RUNS = {
    "default": ({}, "steps", []),
    "osr": (OSR, "loops", NATIVE),
    "tier0": ({"DOTNET_TC_CallCounting": "0", "DOTNET_TC_OnStackReplacement": "0"}, "steps", []),
    "no_tiers": ({"DOTNET_TieredCompilation": "0"}, "steps", []),
    "no_r2r": ({"DOTNET_ReadyToRun": "0"}, "steps", []),
    "no_wx": ({"DOTNET_EnableWriteXorExecute": "0"}, "steps", []),
    "funclets": ({}, "thrown", ["-N", "300", "-n", "6000", "-r", "20"]),
    # By the frame pointer alone, which must be found wrong in this code.
    "pointer": ({}, "steps", ["-f", "-e", "0"]),
}


def cases(options):
    """(name, form, settings, scenario, more arguments)"""
    labels = RUNS if options.full else ("default", "pointer")
    forms = FORMS if options.full else FORMS[:1]
    found = [(f"step_{form}_{label}", form, *RUNS[label]) for form in forms for label in labels
             if form == FORMS[0] or label != "pointer"]
    return [case for case in found if re.search(options.only, case[0])]


def check(options, pid, more):
    """
    Raises Failed. A thread that is stopped again and again may wait for long: then it is stepped
    once more.
    """
    status = steps.step(options, pid, *more)
    if status == steps.TOO_FEW:
        print("  once more: the thread waited")
        status = steps.step(options, pid, *more)
    wanted = steps.NOT_RIGHT if "-f" in more else steps.RIGHT
    if status == wanted:
        return
    if "-f" in more and status == steps.RIGHT:
        raise runs.Failed("the judge did not see that callers by the frame pointer are wrong")
    raise steps.failed(options, status)


def run_one(options, form, settings, scenario, more):
    """Raises Skipped, Failed."""
    program = check_dotnet.program(form, options.full)
    with tempfile.TemporaryDirectory() as directory:
        env = {**runs.environment("DOTNET_", "CORECLR_"), **settings, "DOTNET_NOLOGO": "1",
               "DOTNET_PerfMapEnabled": "3", "DOTNET_PerfMapJitDumpPath": directory,
               "DOTNET_PerfMapShowOptimizationTiers": "1"}
        command = [program, "600", "20", scenario]
        with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as process:
            try:
                runs.wait_used(process, WARM)
                check(options, process.pid, ["-m", f"{directory}/perf-{process.pid}.map", *more])
            finally:
                process.kill()


def main():
    parser = steps.parser(__doc__, percent=99.99, judged=None, examples=3)
    parser.add_argument("--only", default="", help="names of runs that match this")
    options = parser.parse_args()
    options.n = options.n or (JUDGED if options.full else FEW)
    return outcomes.run_each(cases(options), lambda _, *case: run_one(options, *case))


if __name__ == "__main__":
    sys.exit(main())

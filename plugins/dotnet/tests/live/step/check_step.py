#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single-steps programs/Burner.cs with a walk at every instruction of managed code and of stubs (step.h).

    check_step.py --step step_dotnet --plugins DIR [--full] [--only REGEX] [-n N] [--examples N]

All scenarios of the burner, with little work each. By default a short form on one release, with the
runtime's tiers and in one run judged by the frame pointer alone, which must be found wrong; --full:
20 000 instructions on 8, 9 and 10, of each tier, and through exceptions. A run fails below 99.99 %
of right callers. Exit status 77: no program, or no right to trace.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # this is a source tree
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
import check_dotnet     # and with it where the kit is
import runs

PERCENT = "99.99"
JUDGED, FEW = 20000, 4000
WARM_CPU_SECONDS = 3.0
WARM_SECONDS = 60
# Tier 0 is not left, but for on-stack replacement, which comes at once.
OSR = {"DOTNET_TC_CallCounting": "0", "DOTNET_OSR_HitLimit": "1",
       "DOTNET_TC_OnStackReplacement_InitialCounter": "2"}
SETTINGS = {
    "default": {},
    "osr": OSR,
    "tier0": {"DOTNET_TC_CallCounting": "0", "DOTNET_TC_OnStackReplacement": "0"},
    "no_tiers": {"DOTNET_TieredCompilation": "0"},
    "no_r2r": {"DOTNET_ReadyToRun": "0"},
    "no_wx": {"DOTNET_EnableWriteXorExecute": "0"},
}
FORMS = "10", "8_alone", "9_alone"
# Native code is stepped, too, through which the runtime enters funclets, and on-stack replacement.
FUNCLETS = "funclets", ["-t", "400000", "-n", "4000"]
POINTER = "pointer"     # a run that must fail: rbp alone is wrong in this code


def cases(options):
    """(name, form, settings, more arguments)"""
    forms, labels = (FORMS, SETTINGS) if options.full else (FORMS[:1], ("default",))
    found = [(f"step_{form}_{label}", form, SETTINGS[label], FUNCLETS[1] if label == "osr" else [])
             for form in forms for label in labels]
    if options.full:
        found += [(f"step_{form}_{FUNCLETS[0]}", form, {}, FUNCLETS[1]) for form in forms]
    found.append((f"step_{FORMS[0]}_{POINTER}", FORMS[0], {}, ["-f", "-e", "0"]))
    return [case for case in found if re.search(options.only, case[0])]


def warm(process):
    """Until it has used so much CPU time: by then it has compiled what it calls."""
    end = time.monotonic() + WARM_SECONDS
    while (time.monotonic() < end and process.poll() is None
           and cpu_seconds(process.pid) < WARM_CPU_SECONDS):
        time.sleep(0.05)
    if process.poll() is not None:
        raise runs.Failed(f"the program has ended: {process.returncode}")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        words = file.read().rpartition(") ")[2].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


TOO_FEW = 3     # status of step_dotnet; none was wrong


def run_one(options, form, settings, more, directory):
    """Raises Skipped, Failed."""
    status = step_once(options, form, settings, more, directory)
    if status == TOO_FEW:
        print("  once more: the thread waited")
        status = step_once(options, form, settings, more, directory)
    if status not in (0, 1):
        raise runs.Failed("too few were judged" if status == TOO_FEW else f"exit status {status}")
    if "-f" in more and status == 0:
        raise runs.Failed("the judge did not see that callers by the frame pointer are wrong")
    if "-f" not in more and status:
        raise runs.Failed(f"fewer than {PERCENT} % are right")


def step_once(options, form, settings, more, directory):
    """The status of step_dotnet. Raises Skipped, Failed."""
    program = check_dotnet.program(form, options.full)
    env = {**runs.environment("DOTNET_", "CORECLR_"), **settings, "DOTNET_NOLOGO": "1",
           "DOTNET_PerfMapEnabled": "3", "DOTNET_PerfMapJitDumpPath": directory,
           "DOTNET_PerfMapShowOptimizationTiers": "1"}
    command = [program, "600", "20", "steps"]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as process:
        try:
            warm(process)
            step = [options.step, "-p", str(process.pid), "-P", options.plugins, "-b", PERCENT,
                    "-m", f"{directory}/perf-{process.pid}.map", "-n", str(options.n),
                    "-e", str(options.examples), *more]
            done = subprocess.run(step, check=False, timeout=600)
        finally:
            process.kill()
    return done.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", required=True)
    parser.add_argument("--plugins", required=True)
    parser.add_argument("--full", action="store_true",
                        default=bool(os.environ.get("EBPF_PROFILER_TEST_FULL")))
    parser.add_argument("--only", default="")
    parser.add_argument("-n", type=int)
    parser.add_argument("--examples", type=int, default=3)
    options = parser.parse_args()
    options.n = options.n or (JUDGED if options.full else FEW)
    if os.geteuid() != 0:
        print("skip: tracing needs root")
        return runs.SKIP
    counts = {"OK": 0, "SKIPPED": 0, "FAILED": 0}
    for name, form, settings, more in cases(options):
        print(f"[ RUN      ] {name}", flush=True)
        outcome = "OK"
        with tempfile.TemporaryDirectory() as directory:
            try:
                run_one(options, form, settings, more, directory)
            except (runs.Skipped, runs.Failed) as reason:
                print(f"  {reason}")
                outcome = "SKIPPED" if isinstance(reason, runs.Skipped) else "FAILED"
        counts[outcome] += 1
        print(f"[ {outcome:>8} ] {name}", flush=True)
    print(f"{counts['OK']} true, {counts['FAILED']} not, {counts['SKIPPED']} skipped")
    if not counts["OK"] and not counts["FAILED"]:
        print("skip: no run was possible")
        return runs.SKIP
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())

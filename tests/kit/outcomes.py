# SPDX-License-Identifier: Apache-2.0
"""Runs of a live test that come one after the other, and how each ended. language.py has its own:
it judges one run while the next one is made."""
import os

import runs


def run_each(cases, run_one):
    """
    case: (name, ...), the arguments of run_one, which raises Skipped or Failed. Prints each one and
    its outcome. The exit status: 0, 1 when one failed, 77 when none was possible.
    """
    counts = {"OK": 0, "SKIPPED": 0, "FAILED": 0}
    if os.geteuid() != 0:
        print("skip: only root may do it")
        return runs.SKIP
    for case in cases:
        print(f"[ RUN      ] {case[0]}", flush=True)
        outcome = "OK"
        try:
            run_one(*case)
        except (runs.Skipped, runs.Failed) as reason:
            print(f"  {reason}")
            outcome = "SKIPPED" if isinstance(reason, runs.Skipped) else "FAILED"
        counts[outcome] += 1
        print(f"[ {outcome:>8} ] {case[0]}", flush=True)
    print(f"{counts['OK']} true, {counts['FAILED']} not, {counts['SKIPPED']} skipped")
    if not counts["OK"] and not counts["FAILED"]:
        print("skip: no run was possible")
        return runs.SKIP
    return 1 if counts["FAILED"] else 0

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums up meson's test records (testlog.json, one line per test) over suites.

    count_tests.py RECORD.json... [LINES.txt...]

A text file holds lines "NAME: passed|failed|skipped (reason)", as scripts/kernels prints them.

A cmocka program counts as its test functions, everything else as one test. Failures and skips are
named, skips with the reason they printed. Exit status 1 when anything failed or nothing ran.
"""
import collections
import json
import os
import re
import sys

UNITTEST_SKIPS = re.compile(r"^OK \(skipped=(\d+)\)$", re.M)  # the last line of Python's unittest
CMOCKA = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\w+)$", re.M)
OUTCOME = {"OK": "passed", "SKIPPED": "skipped", "FAILED": "failed"}


def reason_of(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    named = [line for line in lines if "skip" in line.lower()]
    return (named or lines or ["no reason given"])[-1]


def cases_of(record):
    """(outcome, name, reason) for each test a record stands for."""
    name = record["name"].split(" / ")[-1]
    output = (record.get("stdout") or "") + (record.get("stderr") or "")
    result = record["result"]
    if result == "SKIP":
        return [("skipped", name, reason_of(output))]
    cases = {}  # cmocka repeats failed names in its summary
    for state, case in CMOCKA.findall(output):
        cases[case] = OUTCOME[state]
    if result in ("OK", "EXPECTEDFAIL"):
        skips = sum(int(n) for n in UNITTEST_SKIPS.findall(output))
        told = [("skipped", name, f"{skips} of its cases: see the test")] * bool(skips)
        told += [(o, f"{name}.{c}", "see the test") for c, o in cases.items()]
        return told or [("passed", name, "")]
    found = [(o, f"{name}.{c}", "") for c, o in cases.items()]
    if not any(o == "failed" for o, _, _ in found):
        found.append(("failed", name, result))  # a crash, a time-out, a sanitizer's exit
    return found


LINE = re.compile(r"^(.+): (passed|failed|skipped)(?: \((.*)\))?$", re.M)


def read_lines(path):
    """(outcome, name, reason) for each line; none at all is a failure, as with records."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return [(m[2], m[1], m[3] or "") for m in LINE.finditer(file.read())]


def read_records(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return [json.loads(line) for line in file if line.strip()]


def main(paths):
    counts = collections.Counter()
    for path in paths:
        suite = os.path.splitext(os.path.basename(path))[0]
        if path.endswith(".txt"):
            cases = read_lines(path)
        else:
            cases = [case for record in read_records(path) for case in cases_of(record)]
        if not cases:
            print(f"failed: {suite}: no test ran")
            counts["failed"] += 1
        for outcome, name, reason in cases:
            counts[outcome] += 1
            if outcome != "passed":
                print(f"{outcome}: {suite}: {name}" + (f": {reason}" if reason else ""))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

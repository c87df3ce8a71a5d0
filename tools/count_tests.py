#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums up meson's test records (testlog.json, one line per test) over suites.

    count_tests.py RECORD.json... [LINES.txt...]

A text file holds lines "NAME: passed|failed|skipped (reason)", as scripts/kernels prints them. A cmocka program counts
as its test functions, everything else as one test. The ten slowest tests are named, failures and skips as well: skips
with the reason they printed, failures with what they printed. Failures come last, so that the end of a log says what
failed and why. Exit status 1 when anything failed or nothing ran.
"""
import collections
import json
import os
import re
import sys

UNITTEST_SKIPS = re.compile(r"^OK \(skipped=(\d+)\)$", re.M)  # the last line of Python's unittest
CMOCKA = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\w+)$", re.M)
OUTCOME = {"OK": "passed", "SKIPPED": "skipped", "FAILED": "failed"}
LINE = re.compile(r"^(.+): (passed|failed|skipped)(?: \((.*)\))?$", re.M)
LAST_LINES = 100    # of what a failed test printed: all of it is in the log
LINE_LENGTH = 300
SLOWEST = 10

# One test: its suite, name, outcome, why it was skipped or how it ended, what a failure printed.
Case = collections.namedtuple("Case", "suite name outcome reason lines")


def reason_of(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    named = [line for line in lines if "skip" in line.lower()]
    return (named or lines or ["no reason given"])[-1]


def last_lines(output):
    """What a failure is to be shown with."""
    lines = [line.rstrip()[:LINE_LENGTH] for line in output.splitlines() if line.strip()]
    return lines[-LAST_LINES:]


def output_of_case(output, case):
    """What was printed while the case ran, with its outcome; all of it when that cannot be told."""
    begin = re.search(rf"^\[ +RUN +\] {case}$", output, re.M)
    end = begin and re.compile(rf"^\[ +FAILED +\] {case}$", re.M).search(output, begin.end())
    return output[begin.end():end.end()] if end else output


def output_of(record):
    return (record.get("stdout") or "") + (record.get("stderr") or "")


def outcomes_of(record):
    """(outcome, case of the program or none, reason) for each test that a record stands for."""
    output = output_of(record)
    result = record["result"]
    if result == "SKIP":
        return [("skipped", "", reason_of(output))]
    cases = {}  # cmocka repeats failed names in its summary
    for state, case in CMOCKA.findall(output):
        cases[case] = OUTCOME[state]
    if result in ("OK", "EXPECTEDFAIL"):
        skips = sum(int(n) for n in UNITTEST_SKIPS.findall(output))
        found = [("skipped", "", f"{skips} of its cases: see the test")] * bool(skips)
        found += [(outcome, case, "see the test") for case, outcome in cases.items()]
        return found or [("passed", "", "")]
    found = [(outcome, case, "") for case, outcome in cases.items()]
    if not any(outcome == "failed" for outcome, _, _ in found):
        found.append(("failed", "", result))  # a crash, a time-out, a sanitizer's exit
    return found


def name_of(record):
    return record["name"].split(" / ")[-1]


def cases_of(suite, record):
    output = output_of(record)
    for outcome, case, reason in outcomes_of(record):
        name = f"{name_of(record)}.{case}" if case else name_of(record)
        lines = last_lines(output_of_case(output, case) if case else output) if outcome == "failed" else []
        yield Case(suite, name, outcome, reason, lines)


def load(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return [json.loads(line) for line in file if line.strip()]


def read(path):
    """(cases, (seconds, name) of each test); a file without any is a failure."""
    suite = os.path.splitext(os.path.basename(path))[0]
    if path.endswith(".txt"):
        with open(path, encoding="utf-8", errors="replace") as file:
            cases = [Case(suite, m[1], m[2], m[3] or "", []) for m in LINE.finditer(file.read())]
        times = []
    else:
        records = load(path)
        cases = [case for record in records for case in cases_of(suite, record)]
        times = [(record.get("duration", 0), f"{suite}: {name_of(record)}") for record in records]
    return cases or [Case(suite, "no test ran", "failed", "", [])], times


def print_case(case):
    print(f"{case.outcome}: {case.suite}: {case.name}" + (f": {case.reason}" if case.reason else ""))
    for line in case.lines:
        print("    " + line)


def print_all(paths, log=None):
    """Prints the cases that are to be named, and the counts; the exit status. log: where all that was printed is."""
    cases, times = [], []
    for path in paths:
        found, took = read(path)
        cases += found
        times += took
    for case in cases:
        if case.outcome == "skipped":
            print_case(case)
    if times:
        print("slowest: " + ", ".join(f"{name} {seconds:.0f} s" for seconds, name in sorted(times, reverse=True)[:SLOWEST]))
    for case in cases:
        if case.outcome == "failed":
            print_case(case)
    if log:
        print(f"all that was printed: {log}")
    counts = collections.Counter(case.outcome for case in cases)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(print_all(sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums up meson's test records (testlog.json, one line per test) over suites.

    count_tests.py RECORD.json... [LINES.txt...]
    count_tests.py --failed RECORD.json     names of the tests to run again, alone

A record may go on with {"again": HOW BUSY THE MACHINE WAS} and a second run of some of its tests: that one decides, and
the first is named. A text file holds lines "NAME: passed|failed|skipped (reason)", as scripts/kernels prints them.

What a test's output says was run again ("[    AGAIN ] NAME: how busy the machine was") is named, and not counted.
A cmocka program counts as its test functions, everything else as one test. Failures and skips are
named, skips with the reason they printed. Failures come last, each with the last lines it printed, so
that the end of a log says what failed and why. Exit status 1 when anything failed or nothing ran.
"""
import collections
import json
import os
import re
import sys

UNITTEST_SKIPS = re.compile(r"^OK \(skipped=(\d+)\)$", re.M)  # the last line of Python's unittest
CMOCKA = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\w+)$", re.M)
AGAIN = re.compile(r"^\[ +AGAIN +\] (.*)$", re.M)
OUTCOME = {"OK": "passed", "SKIPPED": "skipped", "FAILED": "failed"}
LAST_LINES = 30     # of what a failed test printed
MOST_AGAIN = 10     # more failed tests than that are no accident
LINE_LENGTH = 300


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


def failed_output(record, name):
    """Of a test that cases_of() named: of one case, or of all of the program."""
    _, dot, case = name.partition(".")
    return last_lines(output_of_case(output_of(record), case) if dot else output_of(record))


def cases_of(record):
    """(outcome, name, reason) for each test a record stands for."""
    name = record["name"].split(" / ")[-1]
    output = output_of(record)
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
    """(outcome, name, reason, no output) for each line; none at all is a failure, as with records."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return [(m[2], m[1], m[3] or "", []) for m in LINE.finditer(file.read())]


def has_failed(record):
    return any(outcome == "failed" for outcome, _, _ in cases_of(record))


def load(path):
    """Records by name, and what was run again as (name, how busy the machine was, last line of the first run)."""
    records, busy, again = {}, "", []
    with open(path, encoding="utf-8", errors="replace") as file:
        for record in [json.loads(line) for line in file if line.strip()]:
            busy = record.get("again", busy)
            if "name" not in record:
                continue
            name = record["name"].split(" / ")[-1]
            if name in records:
                again.append((name, busy, (last_lines(output_of(records[name])) or ["said nothing"])[-1]))
            records[name] = record
    return records, again


def read_records(path):
    """(outcome, name, reason, last lines of a failure)"""
    records, again = load(path)
    for name, busy, said in again:
        yield "repeated", name, f"{busy}; it had failed: {said}", []
    for name, record in records.items():
        for told in AGAIN.findall(output_of(record)):
            yield "repeated", name, told, []
        for outcome, case, reason in cases_of(record):
            yield outcome, case, reason, \
                failed_output(record, case) if outcome == "failed" else []


def failed_once(path):
    """Names of tests that failed and did not repeat themselves; none when they are many."""
    names = [name for name, record in load(path)[0].items()
             if has_failed(record) and not AGAIN.search(output_of(record))]
    return names if len(names) <= MOST_AGAIN else []


def main(paths):
    counts, told = collections.Counter(), collections.defaultdict(list)
    for path in paths:
        suite = os.path.splitext(os.path.basename(path))[0]
        cases = list((read_lines if path.endswith(".txt") else read_records)(path))
        for outcome, name, reason, lines in cases or [("failed", "no test ran", "", [])]:
            counts[outcome] += 1
            told[outcome].append(f"{outcome}: {suite}: {name}" + (f": {reason}" if reason else ""))
            told[outcome] += ["    " + line for line in lines]
    for line in told["skipped"] + told["repeated"] + told["failed"]:
        print(line)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--failed"]:
        print(*failed_once(sys.argv[2]))
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))

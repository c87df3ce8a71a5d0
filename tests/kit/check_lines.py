#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`report --list` beside a program that counts its own lines.

    check_lines.py [--build COMMAND] FUNCTION COMMAND..

The program prints "LINE number seconds" for each line of the function: the CPU time that passed between the
clock's readings on both sides of it. It is recorded, and each line must have its share of the samples, within the
counts' own chance, and 1 % of all for what reading the clock takes.
{dir} in a command is a directory of its own.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import counting
import runs

FREQ_HZ = 499
LINE = re.compile(r"^LINE (\d+) ([0-9.]+)$", re.M)


def record(command, out):
    """Standard output of the program, recorded into `out`."""
    env = runs.environment()
    done = runs.run([runs.profiler(), "record", "-F", str(FREQ_HZ), "--force", "-o", out, "--", *command], 120, env)
    runs.check_can(done, out)
    if done.returncode != 0:
        raise runs.Failed(f"record: status {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def listed(out, function, source_dir):
    """{line: (samples, text)} of the function with most of the time."""
    done = runs.run([runs.profiler(), "report", out, "--list", function, "--json", "--source-dir", source_dir], 60, None)
    if done.returncode != 0:
        raise runs.Failed(f"report --list: status {done.returncode}: {done.stderr.strip()[-500:]}")
    function = json.loads(done.stdout)["functions"][0]
    return {line["line"]: (line["total_samples"], line["text"]) for line in function["lines"]}


def judge(told, lines):
    """Sentences about what is wrong."""
    wrong = []
    all_samples = sum(lines.get(number, (0, ""))[0] for number in told)
    clocks = all_samples / 100      # its own clock and ours are read at other moments
    for number, seconds in sorted(told.items()):
        samples, text = lines.get(number, (0, ""))
        expected = all_samples * seconds / sum(told.values())
        fewest, most = counting.amount(expected)
        if not fewest - clocks <= samples <= most + clocks:
            wrong.append(f"line {number}: {samples} samples, and its own time says {expected:.0f}")
        if f"line {number} of its own" not in text:
            wrong.append(f"line {number}: the text beside it is {text!r}")
        print(f"line {number}: {samples} samples, by its own count {expected:.1f}: {text.strip()}")
    others = sum(samples for number, (samples, _) in lines.items() if number not in told)
    print(f"other lines: {others}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", default=[], help="a command to run before, in a shell")
    parser.add_argument("--source-dir", default="/nonexistent")
    parser.add_argument("function")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="check-lines-") as directory:
        os.chmod(directory, 0o755)      # report is nobody by then
        fill = lambda text: text.replace("{dir}", directory)
        for command in args.build:
            if subprocess.run(["sh", "-c", fill(command)], check=False).returncode != 0:
                raise runs.Skipped("skip: cannot be built: " + command)
        if not shutil.which(fill(args.command[0])):     # what is built is there by then
            raise runs.Skipped(f"skip: no {args.command[0]}")
        out = os.path.join(directory, "lines.otlp.gz")
        told = {int(line): float(seconds) for line, seconds in LINE.findall(record([fill(word) for word in args.command], out))}
        if len(told) < 2:
            raise runs.Failed("the program told nothing of its lines")
        wrong = judge(told, listed(out, args.function, args.source_dir))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except runs.Skipped as skip:
        print(skip)
        sys.exit(runs.SKIP)
    except runs.Failed as failed:
        sys.exit(f"failed: {failed}")

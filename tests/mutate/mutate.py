#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in the source, one after the other, and tells which tests find them.

    mutate.py [--only REGEX] [--jobs N] [--live] [--tree DIRECTORY] [--table FILE]
    mutate.py --check           whether each fault can still be planted: a test of the suite unit
    mutate.py --list            the faults, a line each

A fault is one edit that a tired engineer could make. It was written down, with the tests that must find it, before it
was tried. The lists are tests/mutate/*.toml and plugins/*/tests/mutate.toml:

    [[fault]]
    name = "heap_grows_late"            # unique
    file = "core/base/heap.c"
    from = 'if (heap->len == heap->max)'    # occurs once in the file
    to = 'if (heap->len > heap->max)'
    what = "the element after the last is written (bound)"
    tests = "heap"                      # of meson, words; "live_..." are run in the build of the product

The fault is planted in DIRECTORY, by default a work tree of its own at HEAD below $TMPDIR; "." plants it here, where
its file must have no changes. First the tests that were named run in the sanitized build, then all that `scripts/test`
runs by default of unit, replay and fuzz, and with --live the live tests. The file is restored after each fault.
Exit status: 0 when each fault was found.
"""
import argparse
import contextlib
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
LISTS = "tests/mutate/*.toml", "plugins/*/tests/mutate.toml"
KEYS = "name", "file", "from", "to", "what", "tests"
SUITES = "unit", "replay", "fuzz"
LEFT_OUT = "once", "full"   # tests without C code; tests of --full
BUILDS = {"build": (), "build-sanitize": ("-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1", "-Dc_args=-g1")}


class Broken(Exception):
    pass


def faults(only=""):
    found = []
    for path in sorted(path for pattern in LISTS for path in glob.glob(os.path.join(ROOT, pattern))):
        with open(path, "rb") as file:
            for fault in tomllib.load(file).get("fault", []):
                if set(fault) != set(KEYS):
                    raise Broken(f"{path}: {fault.get('name')}: has {', '.join(fault)}, wanted are {', '.join(KEYS)}")
                if "," in fault["tests"]:
                    raise Broken(f"{path}: {fault['name']}: {fault['tests']!r} has a comma: names of tests are words")
                found.append(fault)
    names = [fault["name"] for fault in found]
    for name in {name for name in names if names.count(name) > 1}:
        raise Broken(f"two faults are called {name}")
    return [fault for fault in found if re.search(only, fault["name"]) or re.search(only, fault["file"])]


def planted_text(fault, tree):
    """(the file as it is, with the fault)"""
    with open(os.path.join(tree, fault["file"]), encoding="utf-8") as file:
        text = file.read()
    if text.count(fault["from"]) != 1 or fault["from"] == fault["to"]:
        raise Broken(f"{fault['name']}: {fault['file']} has {text.count(fault['from'])} times: {fault['from']}")
    return text, text.replace(fault["from"], fault["to"])


@contextlib.contextmanager
def planted(fault, tree):
    before, after = planted_text(fault, tree)
    path = os.path.join(tree, fault["file"])
    if subprocess.run(["git", "-C", tree, "diff", "--quiet", "--", fault["file"]], check=False).returncode:
        raise Broken(f"{fault['file']} has changes that are not committed: commit them first")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(after)
        yield
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(before)


class Tree:
    """A checkout with its two builds."""

    def __init__(self, path, jobs):
        self.path, self.jobs = path, jobs

    def setup(self):
        for name, options in BUILDS.items():
            if not os.path.exists(os.path.join(self.path, name, "build.ninja")):
                subprocess.run(["meson", "setup", *options, os.path.join(self.path, name), self.path],
                               check=True, stdout=subprocess.DEVNULL)

    def failing(self, build, *arguments):
        """Names of tests that fail, the first of them at least."""
        log = os.path.join(self.path, build, "meson-logs/testlog.json")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(log)
        env = dict(os.environ, UBSAN_OPTIONS="halt_on_error=1")
        run = subprocess.run(["meson", "test", "-C", os.path.join(self.path, build), "--quiet", "--maxfail", "1",
                              "--timeout-multiplier", "3", *(["--num-processes", str(self.jobs)] if self.jobs else []),
                              *arguments], check=False, env=env, capture_output=True, text=True, errors="replace")
        if not os.path.exists(log):
            raise Broken(f"nothing ran: {(run.stdout + run.stderr)[-1500:]}")
        with open(log, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        return [record["name"].rpartition(" / ")[2] for record in records
                if record["result"] not in ("OK", "SKIP", "EXPECTEDFAIL", "INTERRUPT")]

    def find(self, fault, live):
        """The test that finds it, or none."""
        named = fault["tests"].split()
        own = [name for name in named if not name.startswith("live_")]
        alive = [name for name in named if name.startswith("live_")]
        by_default = [word for suite in SUITES for word in ("--suite", suite)]
        by_default += [word for suite in LEFT_OUT for word in ("--no-suite", suite)]
        steps = [("build-sanitize", *own)] * bool(own) + [("build", *alive)] * bool(alive)
        steps += [("build-sanitize", *by_default)]
        steps += [("build", "--suite", "live", "--no-suite", "full", "--num-processes", "2")] * live
        for step in steps:
            names = self.failing(*step)
            if names:
                return names[0]
        return None


@contextlib.contextmanager
def tree_of(options):
    if options.tree:
        yield Tree(os.path.realpath(options.tree), options.jobs)
        return
    with tempfile.TemporaryDirectory(prefix="ebpf-profiler-mutate.") as directory:
        path = os.path.join(directory, "tree")
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "-q", "--detach", path], check=True)
        try:
            yield Tree(path, options.jobs)
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", path], check=False)


def run(options):
    """Prints a line for each fault; those that no test found."""
    missed, rows = [], []
    with tree_of(options) as tree:
        tree.setup()
        for fault in faults(options.only):
            with planted(fault, tree.path):
                found = tree.find(fault, options.live)
            expected = "" if found in fault["tests"].split() or not found else ", not by what was named"
            print(f"{fault['name']}: {'found by ' + found + expected if found else 'NOT FOUND'}", flush=True)
            rows.append(f"| `{fault['name']}` | `{fault['file']}` | {fault['what']} | {found or '**none**'} |\n")
            missed += [] if found else [fault["name"]]
    if options.table:
        with open(options.table, "w", encoding="utf-8") as file:
            file.writelines(["| fault | where | what | found by |\n|---|---|---|---|\n", *rows])
    print(f"{len(rows) - len(missed)} of {len(rows)} faults were found")
    return missed


def main():
    parser = argparse.ArgumentParser(description="plant faults, see which tests find them")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="", help="faults whose name or file matches this")
    parser.add_argument("--jobs", type=int, help="tests at once")
    parser.add_argument("--live", action="store_true", help="the live tests as well, which need root")
    parser.add_argument("--tree", help="plant them in this checkout")
    parser.add_argument("--table", help="write what was found by which test, as Markdown")
    options = parser.parse_args()
    try:
        if options.list:
            print(*(f"{fault['name']}: {fault['file']}: {fault['what']}" for fault in faults(options.only)), sep="\n")
        elif options.check:
            for fault in faults():
                planted_text(fault, ROOT)
            print(f"{len(faults())} faults can be planted")
        else:
            return 1 if run(options) else 0
    except Broken as error:
        print(f"failed: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs names_of_node over each Node that this machine has: live.py TEST. Compares what it says with what known.js
says of itself: each function under its name at its line, and in every stack of inlined functions each caller at a
line that calls the callee. Releases that are nowhere are said to be skipped; without any, the test is (exit 77).
With EBPF_PROFILER_TEST_FEW in the environment three releases are looked at."""
import glob
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
SCRIPT = os.path.join(HERE, "known.js")
WASM = os.path.join(HERE, "wasm.js")
RELEASES = (8, 10, 12, 14, 16, 18, 20, 22, 24, 26)
FEW = (8, 16, 26)
ROOTS = os.environ.get("EBPF_PROFILER_RUNTIMES", "/var/tmp/ebpf-profiler-runtimes")
PLACES = (ROOTS + "/npm-node{}/bin/node", ROOTS + "/*/node-{}/bin/node") # as tests/runtimes/install unpacks them
NAMES_OF_WASM = {"wasm outer", "wasm inner"}
MAX_GONE = 2    # functions that the collector took between search and name
MIN_WASM = 3    # frames, of a hundred times that the process is stopped: on a busy machine most are elsewhere
NAMED_WASM = 90 # percent of them
SECONDS = "0.4"  # of CPU, for its hot loop: what is hot is optimized by other threads meanwhile
SPARKPLUG = 16
MODES = ((), ("--always-opt",), ("--always-sparkplug",))


def find(release):
    for place in PLACES:
        for path in sorted(glob.glob(place.format(release))):
            return path
    return None


class Known:
    """What the script declares."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().splitlines()
        self.functions, self.calls, self.last = {}, {}, {}
        begins = []
        for number, line in enumerate(self.lines, 1):
            declared, called = re.search(r"//= (\S.*)$", line), re.search(r"//> (\w+)", line)
            if declared:
                self.functions[number] = declared[1]
                begins.append(number)
            if called:
                self.calls[number] = called[1]
        for begin in begins:
            self.last[begin] = self.end_of(begin)

    def end_of(self, begin):
        line = self.lines[begin - 1]
        if line.count("{") <= line.count("}"):
            return begin
        indent = line[: len(line) - len(line.lstrip())]
        return next(n for n in range(begin + 1, len(self.lines) + 1) if self.lines[n - 1].startswith(indent + "}"))

    def may_be(self, name, line, release):
        """Whether a function of this name has the line. The module's own code is where functions and classes are made."""
        around = [begin for begin in self.functions if begin <= line <= self.last[begin]]
        return any(is_name(name, self.functions[begin], release) for begin in around) or (
            name == "(anonymous)" and all(begin == line or "class" in self.lines[begin - 1] for begin in around))


def is_name(shown, declared, release):
    """The class may be missing where V8 has left out its scope, as in the oldest; static where kinds have none."""
    if declared.startswith("~"):
        return shown in ("(anonymous)", "holder", declared[1:])
    if declared.startswith("new "):
        return shown == declared
    if shown == declared:
        return True
    word, _, rest = declared.rpartition(" ")
    if release >= 12 and rest in ("Shape.twice", "Shape.half", "Shape.make"):
        return release < 16 and shown == declared.replace("static ", "")
    if release >= 16 and rest in ("Square.area", "Square.other"):
        return False
    word = "" if word == "static" and release < 16 else word
    return shown == (word + " " + rest.rpartition(".")[2]).strip() or shown == (word + " " + rest).strip()


def judge_functions(known, rows, release):
    seen = {}
    for name, line, _, _ in rows:
        number = int(line.rstrip("?"))
        if number in known.functions and is_name(name, known.functions[number], release):
            seen[number] = name
        elif number != 1:  # the module's own, Node's around it
            yield f"a function {name} at line {number}"
    for number, name in known.functions.items():
        if number not in seen:
            yield f"{name} is not there"


def judge_stack(known, frames, release):
    """frames: [(name, line)], innermost first."""
    callee = None
    for name, line in frames:
        number = int(line.rstrip("?"))
        if not known.may_be(name, number, release):
            return f"{name} at line {number}"
        if callee is not None and known.calls.get(number) != callee:
            return f"{callee} called by {name} at line {number}"
        callee = name
    return None


def pairs(words):
    return list(zip(words[0::2], words[1::2]))


def judge(known, text, release, flags):
    functions, wrong, kinds, deepest, gone = [], [], {}, 0, 0
    for line in text.splitlines():
        words = line.split("\t")
        if words[0] == "FUNCTION":
            functions.append(words[1:5])
        elif words[0] == "BYTECODE" or words[0].startswith("STACK "):
            frames = pairs(words[1:])
            kinds[words[0]] = kinds.get(words[0], 0) + 1
            deepest = max(deepest, len(frames))
            bad = judge_stack(known, frames, release)
            if bad:
                wrong.append(f"{words[0]}: {bad}: {frames}")
        elif words[0].startswith("FAILED 3 "):
            gone += 1
        elif words[0].startswith("FAILED"):
            wrong.append(line)
    wrong += judge_functions(known, functions, release)
    if gone > MAX_GONE:
        wrong.append(f"{gone} functions have gone")
    if not kinds.get("BYTECODE") and not kinds.get("STACK baseline"):
        wrong.append("no position in bytecodes")
    if not flags and (not kinds.get("STACK optimized") or deepest < 3):
        wrong.append(f"no inlined functions: {kinds}")
    return wrong, kinds


def check(test, known, release, node, flags):
    command = ["nice", "-n", "19", node, *flags, SCRIPT, SECONDS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            if process.stdout.readline().strip() != b"ready":
                return ["it does not run"], {}
            # Some seconds later V8 has its memory reduced (heap/memory-reducer.cc): objects are not where they were found.
            process.send_signal(signal.SIGSTOP)
            done = subprocess.run([test, str(process.pid), str(release), SCRIPT], timeout=300,
                                  stdout=subprocess.PIPE, check=False)
            if process.poll() is not None:
                return ["it ended before it was looked through"], {}
        finally:
            process.kill()
    text = done.stdout.decode("utf-8", "strict")
    wrong, kinds = judge(known, text, release, flags)
    if done.returncode != 0:
        wrong.append(f"exit {done.returncode}")
    print("   ", text.splitlines()[-1], flush=True)
    return wrong, kinds


def check_wasm(test, release, node):
    command = ["nice", "-n", "19", node, WASM, "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            process.stdout.readline()
            done = subprocess.run([test, str(process.pid), str(release), "wasm"], timeout=300,
                                  stdout=subprocess.PIPE, check=False)
        finally:
            process.kill()
    frames = [line.split("\t")[1] for line in done.stdout.decode().splitlines()]
    # One may be in the other (13.6, 14.6); what Liftoff made and TurboFan made anew is in no table any more.
    seen, named = set(frames), sum(frame in NAMES_OF_WASM for frame in frames)
    right = len(frames) >= MIN_WASM and 100 * named >= NAMED_WASM * len(frames) and seen <= NAMES_OF_WASM | {"wasm (function)"}
    return [] if right else [f"in WebAssembly: {seen}"], {"WASM": len(frames), "named": named}


def report(release, flags, wrong, kinds):
    print(release, " ".join(flags), kinds, "FAILED" if wrong else "ok", flush=True)
    for line in wrong[:10]:
        print("   ", line)
    return bool(wrong)


def main():
    test, known, failed, found = os.path.abspath(sys.argv[1]), Known(SCRIPT), 0, 0
    for release in FEW if "EBPF_PROFILER_TEST_FEW" in os.environ else RELEASES:
        node = find(release)
        if node is None:
            print(f"SKIPPED: no Node {release} on this machine")
            continue
        found += 1
        for flags in MODES:
            if flags == ("--always-sparkplug",) and release < SPARKPLUG or flags == ("--always-opt",) and release > 8:
                continue
            wrong, kinds = check(test, known, release, node, flags)
            failed += report(release, flags, wrong, kinds)
        if release != 10:  # whose instances have another shape
            failed += report(release, ["wasm"], *check_wasm(test, release, node))
    if not found:
        print("SKIPPED: no Node on this machine")
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

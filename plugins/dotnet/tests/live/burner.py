# SPDX-License-Identifier: Apache-2.0
"""Judges sampled stacks by what programs/Burner.cs said of itself.

The program's own frames, from the root on, are one of its STACKs or its first part: what is called from there is
the runtime's. Where its leaf burns it is the whole of it: then no caller of a small method, of an interrupted
function or of code of on-stack replacement is missing, and none stands twice. A native frame is not between two
of them, but where the program calls C and C calls it.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
PROGRAMS = os.path.realpath(os.path.join(HERE, "..", "programs"))
SOURCES = [os.path.join(PROGRAMS, name) for name in ("Burner.cs", "Burner.csproj")]
TESTS = os.path.realpath(os.path.join(HERE, "..", "..", "..", "..", "tests"))
sys.path[:0] = [HERE, os.path.join(TESTS, "kit"), os.path.join(TESTS, "runtimes")]
import stacks  # noqa: E402

PROGRAM = "Burner"
PREFIX = "Burner.", "burner_"
SOURCE = "Burner.cs"
LEAF = "Burner.Leaf.Spin"
HANDLERS = "Burner.Thrown."     # what catches and ends
REPORT = "Burner.Leaf."         # it makes its STACK lines
MAIN = "Burner.Program.Main"
FIRST_USE = "..cctor"           # run by who comes first, which the runtime decides
MADE = re.compile(r"(?:burner_|Burner\.Made)(\d+)(?:\.Run)?")     # of scenario churn
THROUGH_NATIVE = "native", "turns", "pointer", "reflection", "filtered"  # scenarios
# StackTrace names stubs by what they are for; a compiler may inline what is made of an iterator.
OPTIONAL = "Burner.Native.Sort", "Burner.Scenarios.Numbers"    # and members of what was made of it: its constructor


def why_incomplete(frames):
    """The program itself is stripped: what the C library calls its start has no name."""
    why = stacks.why_incomplete(frames)
    return None if why == stacks.NO_ROOT and frames[-1].file == PROGRAM else why


def is_own(name):
    return name.startswith(PREFIX)


def own_names(names):
    return [name for name in names if is_own(name) and not name.startswith(OPTIONAL)]


class Said:
    """
    What the burner printed. stacks: {scenario: names, root first}; lines: {scenario: a set for each of them}; parts:
    names of stacks that are not the leaf's. shares: CPU seconds by method, of the scenario that has them.
    """

    def __init__(self, output):
        self.stacks, self.lines, self.parts, self.shares, self.cpu = {}, {}, set(), {}, None
        names = []
        for words in (line.split("\t") for line in output.splitlines()):
            if words[0] == "STACK":
                names = words[2].split(";")
                self.stacks[words[1]] = tuple(own_names(names))
            elif words[0] == "LINES":
                own = [int(line) for name, line in zip(names, words[2].split(";")) if own_names([name])]
                known = self.lines.setdefault(words[1], [set() for _ in own])
                for at, line in zip(known, own):
                    at.add(line)
            elif words[0] == "PART":
                self.parts.add(tuple(own_names(words[2].split(";"))))
            elif words[0] == "SHARE":
                self.shares[words[1]] = float(words[2])
            elif words[0] == "CPU":
                self.cpu = float(words[1])


def calls(line, name):
    """Does this line of the program call the function?"""
    with open(SOURCES[0], encoding="utf-8") as file:
        text = file.read().splitlines()
    own = name.split("<")[0].rsplit(".", 1)[-1]
    return 0 < line <= len(text) and re.search(rf"\b{re.escape(own)}\(", text[line - 1]) is not None


class Judge:
    def __init__(self, said):
        self.said, self.seen = said, set()
        self.n_lines, self.wrong_lines = 0, {}
        self.whole = {names: scenario for scenario, names in said.stacks.items()}
        self.parts = {names[:n] for names in {*self.whole, *said.parts} for n in range(len(names) + 1)}

    def why_wrong(self, frames):
        """None: it is right. What has no frame of the program's own is the runtime's: it starts, or is another thread."""
        names = [frame.name for frame in stacks.without_kernel(list(frames))][::-1]
        own = tuple(own_names(names))
        for at, name in enumerate(own):
            if name.startswith(REPORT) and name != LEAF or name.endswith(FIRST_USE):
                own = own[:at]
                break
        if not own:
            return None
        if own[-1] == LEAF:
            scenario = self.whole.get(own)
            if scenario is None:
                return "no such stack: " + ";".join(own)
            self.seen.add(scenario)
            self.judge_lines(scenario, frames)
            return self.why_between(scenario, frames)
        return None if own in self.parts else "no such part: " + ";".join(own)

    def judge_lines(self, scenario, frames):
        """
        Of all callers whose line is known: the leaf is at another line when it tells its stack. Of a method whose handler
        runs StackTrace says where the exception came from; what the handler calls is at the line of that call.
        """
        own = [frame for frame in frames if own_names([frame.name])][::-1]
        for frame, callee, known in zip(own, own[1:], self.said.lines.get(scenario, [])):
            known = known - {0}
            self.n_lines += bool(known)
            is_known = frame.line in known or (frame.name.startswith(HANDLERS) and calls(frame.line, callee.name))
            if known and not (is_known and frame.source.endswith(SOURCE)):
                text = f"{frame.name} {frame.source}:{frame.line}, not {sorted(known)}"
                self.wrong_lines[text] = self.wrong_lines.get(text, 0) + 1

    @staticmethod
    def why_between(scenario, frames):
        """Native code between two frames of its own."""
        seen, between = False, False
        if scenario in THROUGH_NATIVE:
            return None
        for frame in stacks.without_kernel(list(frames)):
            if is_own(frame.name):
                if seen and between:
                    return f"native code between frames: {scenario}"
                seen, between = True, False
            elif frame.file and seen:
                between = True
        return None

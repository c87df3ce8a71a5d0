# SPDX-License-Identifier: Apache-2.0
"""Judges sampled stacks by what programs/Burner.cs said of itself.

The program's own frames, from the root on, are one of its STACKs or its first part: what is called from there is
the runtime's. Where its leaf burns it is the whole of it: then no caller of a small method, of an interrupted
function or of code of on-stack replacement is missing, and none stands twice. A native frame is not between two
of them, but where the program calls C and C calls it.
"""
import os
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
LEAF = "Burner.Leaf.Spin"
REPORT = "Burner.Leaf."         # it makes its STACK lines
MAIN = "Burner.Program.Main"
THROUGH_NATIVE = "native", "turns", "pointer", "reflection", "filtered"  # scenarios
# StackTrace names stubs by what they are for; a compiler may inline what is made of an iterator.
OPTIONAL = "Burner.Native.Sort", "MoveNext"


def why_incomplete(frames):
    """The program itself is stripped: what the C library calls its start has no name."""
    why = stacks.why_incomplete(frames)
    return None if why == stacks.NO_ROOT and frames[-1].file == PROGRAM else why


def is_own(name):
    return name.startswith(PREFIX)


def own_names(names):
    return [name for name in names if is_own(name) and not name.endswith(OPTIONAL)]


class Said:
    """What the burner printed. stacks: {scenario: names, root first}; parts: names of stacks that are not the leaf's"""

    def __init__(self, output):
        self.stacks, self.parts, self.cpu = {}, set(), None
        for words in (line.split("\t") for line in output.splitlines()):
            if words[0] == "STACK":
                self.stacks[words[1]] = tuple(own_names(words[2].split(";")))
            elif words[0] == "PART":
                self.parts.add(tuple(own_names(words[2].split(";"))))
            elif words[0] == "CPU":
                self.cpu = float(words[1])


class Judge:
    def __init__(self, said):
        self.said, self.seen = said, set()
        self.whole = {names: scenario for scenario, names in said.stacks.items()}
        self.parts = {names[:n] for names in {*self.whole, *said.parts} for n in range(len(names) + 1)}

    def why_wrong(self, frames):
        """None: it is right. What has no frame of the program's own is the runtime's: it starts, or is another thread."""
        names = [frame.name for frame in stacks.without_kernel(list(frames))][::-1]
        own = tuple(own_names(names))
        for at, name in enumerate(own):
            if name.startswith(REPORT) and name != LEAF:
                own = own[:at]
                break
        if not own:
            return None
        if own[-1] == LEAF:
            scenario = self.whole.get(own)
            if scenario is None:
                return "no such stack: " + ";".join(own)
            self.seen.add(scenario)
            return self.why_between(scenario, frames)
        return None if own in self.parts else "no such part: " + ";".join(own)

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

# SPDX-License-Identifier: Apache-2.0
"""Is a sample of programs/burner a stack that it can have?

The burner prints for each scenario its stacks in the grammar of tests/kit/stacks.py, from the leaf to the
function that runs the scenario. Above any function of it the runtime may be at work: it grows the stack,
collects, or was told by a signal to let another goroutine run. So a stack is true when what remains
without these frames is the end of such a line. Goroutines and threads of the runtime's own have no
function of the program; they must reach a root. File and line of each of the program's own functions must be
such that the source calls from them (source_go.py).
"""
import re

import source_go
import stacks
import verdicts

MOMENT = "a thread of C's begins or ends"
NO_STACK = "a stack that the program does not have"
NO_LINE = "a line that is not its: "
# A goroutine's first function is called by none; that of a thread by mstart or, where C made it, by start_thread.
ROOTS = re.compile(r"^(runtime\.(goexit|mstart|rt0_go|mcall|morestack|gogo)|gogo|_rt0_amd64(_linux)?|\[exec\]|\[exit\])$")
RUNNERS = ("main.main.func", "runtime.main", "main.main", "runtime.goexit",
           "runtime.doInit", "main.init", "main.add", "main.wanted", "main.cpuSeconds", "main.goMain")
OWN = re.compile(r"^(main\.|goTurn$|goAlone$|c_|C$|_cgo_\w*_Cfunc_|_cgoexp)")
RUNS = re.compile(r"^(main\.|goTurn$|goAlone$|c_|_cgo_\w*_Cfunc_|_cgoexp)")    # not the runtime's own C
STARTS = re.compile(r"^(main\.(main|goMain|add|wanted|cpuSeconds|init(\.\d+)?)|_cgoexp_\w+_goMain)$")   # no scenario yet
NAMELESS = re.compile(r"\+0x[0-9a-f]+$")


def plain(frame):
    """
    Symbols of assembly say which convention their calls have; a stripped file's C has no names; a plugin's main
    package has its module's name.
    """
    is_ours = not stacks.LIBC.match(frame.file)
    name = "C" if is_ours and NAMELESS.search(frame.name) else re.sub(r"\.abi(0|internal)$", "", frame.name)
    return frame._replace(name=re.sub(r"^burner\.", "main.", name))


class Scenario:
    def __init__(self, name):
        self.name, self.patterns, self.seen = name, [], 0


class Judge:
    """text: what the burner printed; source: source_go.Source of it, or None where lines do not matter."""
    MOMENT = MOMENT

    def __init__(self, text, source=None):
        self.source = source
        self.scenarios, self.version, self.cpu = [], "", None
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if word == "SCENARIO":
                self.scenarios.append(Scenario(rest))
            elif word in ("STACK", "MAY"):
                self.scenarios[-1].patterns.append(stacks.Pattern(line))
            elif word == "CPU":
                self.cpu = float(rest)
            elif word == "VERSION":
                self.version = rest
        self.said = self

    def judge(self, frames, _thread):
        frames = stacks.without_kernel([plain(frame) for frame in frames])
        reason = self.judge_names(frames)
        if reason != verdicts.TRUE or not self.source:
            return reason
        return next((NO_LINE + wrong for wrong in self.wrong_lines(frames)), reason)

    def judge_names(self, frames):
        wrong = stacks.why_incomplete(frames + [stacks.Frame("_start", "")])
        if wrong:
            return wrong
        if frames and not (ROOTS.match(frames[-1].name) or stacks.is_root(frames[-1])):
            return stacks.NO_ROOT
        user = self.without_root(frames)
        if not any(RUNS.match(frame.name) and not STARTS.match(frame.name) for frame in user):
            return verdicts.TRUE if self.is_runtimes_own(frames) else MOMENT
        for scenario in self.scenarios:
            if any(self.is_end(pattern, user) for pattern in scenario.patterns):
                scenario.seen += any(pattern.required and pattern.matches(user) for pattern in scenario.patterns)
                return verdicts.TRUE
        return NO_STACK

    @staticmethod
    def without_root(frames):
        at = len(frames)
        while at and (ROOTS.match(frames[at - 1].name) or stacks.is_root(frames[at - 1]) or
                      frames[at - 1].name.startswith(RUNNERS)):
            at -= 1
        return frames[:at]

    @staticmethod
    def is_runtimes_own(frames):
        return not frames or bool(ROOTS.match(frames[-1].name))

    @staticmethod
    def is_end(pattern, frames):
        if pattern.matches(frames):
            return True
        start = 0
        while start < len(frames) and not OWN.match(frames[start].name):
            start += 1
        for first, token in enumerate(pattern.tokens):
            if token.any:
                continue
            at = start
            while at < min(start + token.count - 1, len(frames)) and token.test(frames[at]):
                at += 1  # a function that calls itself has not done so as often as it will
            if pattern.matches_from(first, frames, start) or (at > start and pattern.matches_from(first + 1, frames, at)):
                return True
        return False

    def problems(self, lacks=()):
        """Of the scenarios but those, when all samples were judged."""
        if not self.scenarios:
            yield "it has no scenario"
        for scenario in self.scenarios:
            if not scenario.seen and scenario.name not in lacks:
                yield f"no sample of {scenario.name} has a whole stack of its"

    def scenario_of(self, sample):
        names = {plain(frame).name for frame in sample.frames}
        for scenario in self.scenarios:
            if any(pattern.text.split()[-1] in names for pattern in scenario.patterns):
                return scenario.name
        return "the runtime"

    def wrong_lines(self, frames):
        above = None
        for frame in frames:
            if frame.name.startswith("main.") and frame.line:
                wrong = self.source.why_wrong(frame.name, frame.source, frame.line, above)
                if wrong:
                    yield f"{frame.name}: {wrong}"
            above = source_go.INTERRUPT if stacks.LIBC.match(frame.file) else frame.name

    def has_no_line(self, frames):
        """A function of the program's source, wherever in the stack it is, is without one."""
        return bool(self.source) and any(not frame.line and self.source.functions.get(frame.name)
                                         for frame in map(plain, frames))

    @staticmethod
    def text_of(frames):
        text = []
        for frame in map(plain, frames):
            line = getattr(frame, "line", 0) if OWN.match(frame.name) else 0
            name = f"{frame.name}:{line}" if line else frame.name
            if text and text[-1][0] == name:
                text[-1][1] += 1
            else:
                text.append([name, 1])
        return " ".join(name if n == 1 else f"{name}{{{n}}}" for name, n in text)[:900]

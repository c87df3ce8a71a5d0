# SPDX-License-Identifier: Apache-2.0
"""Judges sampled PHP stacks by what debug_backtrace said of the same program.

A stack is *complete* when it reaches a native root, and no frame of it says that something is missing or unknown. It is
*true* when besides

- its PHP frames, from the root on, are one of the burner's STACKs (programs/burn.php) or its first part, with names,
  files and lines. What is above that, and does not burn for long, is in the text: the caller's line names it;
- the leaf's line is one of its code's. Of a loop that burns each half has its share of the samples (SpinLines);
- what a function in C called has native code below it, what PHP called has not, except where the burner's text says so
  ("//! NAME" behind the call). A generator that waits for another one is on either side of the native frames.

What a JIT made may have no line where it was interrupted. Closures are "{closure:FUNCTION OR FILE:LINE}" in each
release.
"""
import collections
import functools
import itertools
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
PROGRAMS = os.path.realpath(os.path.join(HERE, "..", "programs"))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "..", "tests", "kit")]
import stacks  # noqa: E402
from verdicts import NEVER_RUNS, NO_CALL, NO_SUCH, TRUE  # noqa: E402

Frame = stacks.LineFrame
Step = collections.namedtuple("Step", "name file line")
Own = collections.namedtuple("Own", "name file line between")   # between: native frames that it called

NEVER = r"Burn\never"
SPIN = r"Burn\spin"
CALLS_ONLY = r"Burn\turn_loops"
MAIN = "{main}"
FREED = "(freed function)"
STATIC = "php-static"
UNNAMED = re.compile(r"\[php: |\(unreadable function\)|\(freed function\)")
CLOSURE = re.compile(r"(?:[^{]*(?:::|\\))?\{closure(?::(?P<where>.*):(?P<line>\d+))?\}$")
TEXT = re.compile(r"(?P<file>.*)\(\d+\) : eval\(\)'d code$")
MARK = re.compile(r"//([!?])((?: [^ /]+)+)")
FUNCTION = re.compile(r"\b(function\b\s*&?\s*\(|fn\b\s*&?\s*\()")
CALL_LINES = 10     # a call ends so many lines behind its beginning; either may be its line
TRAMPOLINES = {"Burn\\Magic::absent", "Burn\\Magic::of_nobody"}     # for a moment, on the way to __call and __callStatic
STARTING = "PHP starts or ends"
SPIN_OUTSIDE = 0.15     # of the samples in spin may be in front of its loops


# --- the burner's text ----------------------------------------------------------------------------

class Text:
    """A file of the burner: its lines from 1 on, marks, closures."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.lines = ["", *file.read().split("\n")]
        self.marks = {n: {name: found[1] for found in MARK.finditer(line) for name in found[2].split()}
                      for n, line in enumerate(self.lines)}
        self.closures = [(n, self.end_of(n, found.start())) for n, line in enumerate(self.lines)
                         for found in FUNCTION.finditer(line)]

    def end_of(self, line, column):
        """The line where a closure's braces close; an arrow function is in one line."""
        if self.lines[line].startswith("fn", column):
            return line
        depth, text = 0, self.lines[line][column:]
        while line < len(self.lines):
            for char in text:
                depth += {"{": 1, "}": -1}.get(char, 0)
                if char == "}" and not depth:
                    return line
            line += 1
            text = self.lines[line]
        raise ValueError("a closure without an end")

    def closures_at(self, line):
        """First lines of those that may run there, the likely one last. Whose first or last line it is may be the outer one."""
        inside = sorted(((first, last) for first, last in self.closures if first <= line <= last), reverse=True)
        sure = next((i for i, (first, last) in enumerate(inside) if first < line < last or first == last), len(inside) - 1)
        likely = [first for first, last in inside if first < line or first == last][:1]
        return [*(first for first, _ in inside[:sure + 1]), *likely]

    def is_code(self, line):
        return 0 < line < len(self.lines) and not re.fullmatch(r"\s*(//.*|\*.*)?", self.lines[line])

    def near(self, line):
        return "\n".join(self.lines[max(0, line - CALL_LINES):line + 1])


@functools.cache
def text_of_file(path):
    return Text(path) if path.startswith(PROGRAMS) and os.path.exists(path) else None


def closures_first_lines(file, line):
    """Of closures that may run there, the likely one last; None where no text says it."""
    text = text_of_file(file)
    return text.closures_at(line) if text else None


# --- what the burner says -------------------------------------------------------------------------

class Said:
    """What the burner printed. stacks: (scenario, Steps), root first; is_c(step): a function in C."""

    def __init__(self, output):
        self.stacks, self.missing, self.anywhere, self.forked, self.work = [], {}, set(), [], {}
        self.of_c, self.lines = set(), collections.defaultdict(list)    # {(name, file): [(first, last)]}
        self.cpu, self.started, self.opcache, self.jit = None, 0.0, False, False
        for words in (line.split("\t") for line in output.splitlines()):
            read = getattr(self, "read_" + words[0].lower(), None)
            if read:
                read(*words[1:])

    def read_stack(self, scenario, *frames):
        found = []
        for frame in frames:
            name, file, line, times = frame.rsplit("|", 3)
            found += [Step(canonical(name, file, int(line)), file, int(line))] * int(times)
        self.stacks.append((scenario, found[::-1]))

    def read_c(self, name):
        self.of_c.add(name)

    def read_user(self, name, file, first, last):
        self.lines[name.lower(), file].append((int(first), int(last)))

    def read_anywhere(self, name):
        self.anywhere.add(name)

    def read_missing(self, scenario, why):
        self.missing[scenario] = why

    def read_forked(self, pid):
        self.forked.append(int(pid))

    def read_work(self, scenario, seconds, _turns):
        self.work[scenario] = float(seconds)

    def read_started(self, seconds):
        self.started = float(seconds)

    def read_opcache(self):
        self.opcache = True

    def read_jit(self):
        self.jit = True

    def read_cpu(self, seconds):
        self.cpu = float(seconds)


def canonical(name, file, line):
    """A closure is known by its first line: releases to 8.3 do not say it, and its class changes by bind."""
    found = CLOSURE.match(name)
    if not found:
        return name
    if TEXT.match(file):
        return "{closure:}"
    return "{closure:%s}" % (found["line"] or (closures_first_lines(file, line) or [""])[-1])


def bare(name):
    """As a call writes it, and as a mark has it."""
    return "{closure}" if name.startswith("{closure") else name.split(" ")[0].rpartition("::")[2].rpartition("\\")[2]


class Node:
    """A frame, and what is above it. next: {(name, file): {line of this frame: Node}}"""

    def __init__(self):
        self.next = collections.defaultdict(dict)

    def add(self, steps):
        node, line = self, 0
        for step in steps:
            node = node.next[step.name, step.file].setdefault(line, Node())
            line = step.line


# --- frames ---------------------------------------------------------------------------------------

def is_php(frame):
    return not frame.file and not frame.name.startswith(("0x", "["))


def own_frames(frames):
    """PHP frames, root first, each with the native frames that it called."""
    found, between = [], []
    for frame in stacks.without_kernel(list(frames)):
        if is_php(frame):
            found.append(Own(canonical(frame.name, frame.source, frame.line), frame.source, frame.line, tuple(between)))
            between = []
        else:
            between.append(frame)
    return found[::-1]


def why_incomplete(frames):
    """In a static PHP what its C library starts is the root: it has no name."""
    why = stacks.why_incomplete(frames)
    return None if why == stacks.NO_ROOT and frames[-1].file == STATIC else why


def is_freed(frames):
    """With code that was freed before it was named, or before its line was read."""
    return any(is_php(frame) and (frame.name == FREED or frame.source and not frame.line) for frame in frames)


class Judge:
    """What verdicts.py asks for. known: of --observe; said: of the run, None where it was not heard."""
    MOMENT = STARTING

    def __init__(self, known, said=None):
        self.known, self.said = known, said or known
        self.jit = self.said.jit
        self.tree, self.handlers = Node(), Node()
        self.names, self.roots, self.resumed = {MAIN}, {MAIN}, set()
        for _, steps in known.stacks:
            at = [i for i, step in enumerate(steps) if step.name in known.anywhere]
            (self.handlers if at else self.tree).add(steps[at[0]:] if at else steps)
            self.names |= {step.name for step in steps}
            self.roots.add(steps[0].name)
            self.resumed |= {callee.name for step, callee in zip(steps, steps[1:]) if step.name.startswith("Generator::")}
        self.user = {name for name, _ in known.lines}
        self.at_calls = 0
        self.spun = collections.Counter()   # {line: samples in spin}
        self.moment_seconds = self.said.started
        self.memo = {}

    # --- names ---

    def why_no_name(self, frame):
        if frame.name == NEVER:
            return NEVER_RUNS + NEVER
        if not is_php(frame):
            return None
        if UNNAMED.match(frame.name):
            return stacks.UNKNOWN_REASON + frame.name
        closure = CLOSURE.match(frame.name)
        if closure:
            return self.why_no_closure(frame, closure)
        if frame.name in self.names or frame.name in self.known.of_c and not frame.source or \
                (frame.name.lower(), frame.source) in self.known.lines or frame.name in TRAMPOLINES or \
                re.sub("^(include|require)(_once)? ", "", frame.name) == frame.source:
            return None
        if frame.source and frame.name.lower() in self.user:
            return f"{frame.name} is not in {frame.source}"
        return f"{NO_SUCH}function: {frame.name} ({os.path.basename(frame.source) or 'C'})"

    def why_no_closure(self, frame, closure):
        lines = closures_first_lines(frame.source, frame.line) if frame.line else None
        if not closure["line"]:
            return f"no line in the name: {frame.name}"
        if lines is not None and int(closure["line"]) not in lines:
            return f"not the closure of line {frame.line}: {frame.name}"
        return None

    # --- calls ---

    @staticmethod
    def waits(own):
        """It is a generator that waits for another one: on either side of the native frames. Its line may be the next one."""
        text = text_of_file(own.file)
        return bool(text and any("yield from" in line for line in text.lines[own.line - 1:own.line + 1]))

    def why_between(self, own, at):
        """Of the call of the frame there. Nothing where it is right."""
        caller, callee = own[at - 1:at + 1]
        if not callee.file:
            return f"{callee.name} is C's, but has these below: {caller.between[-1].name}" if caller.between else None
        if not caller.file:
            waiting = itertools.takewhile(self.waits, own[at:])
            return None if caller.between or any(one.between for one in waiting) else f"{callee.name} is called by C, but without native frames"
        text = text_of_file(caller.file)
        mark = text and text.marks.get(caller.line, {}).get(bare(callee.name))
        if self.waits(caller) or self.waits(callee):
            return None
        if mark == "!" and not caller.between and not self.is_made(own, at):
            return f"{caller.name}:{caller.line} calls {callee.name}, but not by C"
        if not mark and caller.between:
            return f"{caller.name}:{caller.line} calls {callee.name}, but with these between: {caller.between[-1].name}"
        return None

    def is_made(self, own, at):
        """A generator's function is called, and makes its object, before C calls it."""
        callee = own[at]
        first = {first for first, _ in self.known.lines.get((callee.name.lower(), callee.file), ())}
        return at == len(own) - 1 and (callee.line in first or self.jit and not callee.line)

    def is_in_text(self, caller, callee):
        """What is in no STACK: caller is the nearest one below that is not C's."""
        text = text_of_file(caller.file)
        if not text:
            return False
        if callee.name.startswith("{closure:"):
            first = re.findall(r"\d+", callee.name)
            return bool(first) and abs(int(first[0]) - caller.line) <= CALL_LINES
        word = bare(callee.name)
        if word.startswith("turn_"):
            return "$turn()" in text.lines[caller.line]
        near = text.near(caller.line + (CALL_LINES if caller.line and "(" in text.lines[caller.line] else 0))
        return bool(re.search(rf"\b{re.escape(word)}\b", near, re.IGNORECASE)) or word == "__construct" and "new " in near

    def is_line_of(self, own):
        if own.name.startswith("{closure:") or own.name in TRAMPOLINES:
            return True     # that is how it got its name; there is no line
        text, ranges = text_of_file(own.file), self.known.lines.get((own.name.lower(), own.file))
        if ranges and not any(first <= own.line <= last for first, last in ranges):
            return False
        return not text or text.is_code(own.line) or not ranges and own.line == len(text.lines) - 1     # a file returns there

    def why_no_chain(self, root, own):
        """own: root first."""
        node, line, reached = root, 0, 0
        while reached < len(own) and node:
            lines = node.next.get((own[reached].name, own[reached].file), {})
            if lines and line not in lines and own[reached].file:
                caller = own[reached - 1]
                return f"wrong line: {caller.name}:{caller.line} of a call of {own[reached].name}"
            node, line = lines.get(line), own[reached].line
            reached += bool(node)
        if not reached:
            return f"root missing: {own[0].name} is called by others"
        for at in range(reached, len(own)):
            caller = next((o for o in reversed(own[:at]) if o.file), None)
            if own[at - 1].name.startswith("Generator::") and own[at].name in self.resumed:
                continue    # which one no text says
            if caller and caller.line and not self.is_in_text(caller, own[at]):
                return f"{own[at - 1].name}:{own[at - 1].line}{NO_CALL}{own[at].name}"
        for at in range(1, len(own)):
            why = self.why_between(own, at)
            if why:
                return why
        leaf = own[-1]
        if leaf.file and not (leaf.line == 0 and self.jit) and not self.is_line_of(leaf):
            return f"no line of {leaf.name}: {leaf.line}"
        return None

    # --- all of it ---

    def judge(self, frames, _thread=None):
        key = tuple(frames)
        if key not in self.memo:
            self.memo[key] = self.why_wrong(frames) or TRUE
        return self.memo[key]

    def why_wrong(self, frames):
        own, why = own_frames(frames), why_incomplete(frames)
        if not own:
            return why or (None if frames[-1].name in ("[exec]", "[exit]") else STARTING)
        for frame in frames:
            why = why or self.why_no_name(frame)
        if why:
            return why
        if own[0].name not in self.roots:
            return f"root missing: {own[0].name}"
        at = [0, *(i for i, one in enumerate(own) if one.name in self.known.anywhere), len(own)]
        for start, end in zip(at, at[1:]):
            why = why or (self.why_no_chain(self.handlers if start else self.tree, own[start:end]) if end > start else None)
        return why

    def scenario_of(self, sample):
        own = own_frames(sample.frames)
        return next((one.name.partition("turn_")[2] for one in own if one.name.startswith(r"Burn\turn_")), "driver")

    def has_no_line(self, frames):
        """It was interrupted in one of its functions, and the profile gives no line."""
        own = own_frames(frames)
        return bool(own and own[-1].file and not own[-1].line and not self.jit)

    def ends_at_call(self, own):
        """Its innermost function is where it calls the one that burns, which is not there: true for a moment only."""
        node, line = self.tree, 0
        for one in own:
            node, line = node.next.get((one.name, one.file), {}).get(line), one.line
            if not node:
                return own[-1].name == CALLS_ONLY
        return any(name == SPIN and (line in lines or not line) for (name, _), lines in node.next.items())

    def count_leaf(self, sample):
        own = own_frames(sample.frames)
        self.at_calls += sample.count if own and self.ends_at_call(own) else 0
        if own and own[-1].name == SPIN:
            self.spun[own[-1].line] += sample.count

    def why_not_spun(self):
        """Lines of spin say whether they are those of the moment: its halves are alike, and next to nothing is in front."""
        text = text_of_file(os.path.join(PROGRAMS, "burn.php"))
        first = next(n for n, line in enumerate(text.lines) if line.startswith("function spin("))
        heads = [n for n in range(first, first + 20) if "for (" in text.lines[n]]
        halves = [self.spun[n] + self.spun[n + 1] for n in heads]
        known, all_of = sum(n for line, n in self.spun.items() if line), sum(self.spun.values())
        if all_of > 100:
            outside, share = (known - sum(halves)) / all_of, halves[0] / max(1, sum(halves))
            print(f"  of {all_of} samples in {SPIN} {100 * outside:.1f} % have lines outside of its loops, "
                  f"{100 * share:.1f} % of those inside are in the first")
            if outside > SPIN_OUTSIDE or abs(share - 0.5) > 0.05 + 1.5 / max(1, sum(halves)) ** 0.5 and not self.jit:
                yield f"{SPIN} is not where it burns: {dict(self.spun)}"

    @staticmethod
    def text_of(frames, limit=24):
        """One line for a stack, leaf first: PHP as name:line, others in parentheses."""
        return stacks.text_of((f"{frame.name}:{frame.line}" if is_php(frame) else f"({frame.name})" for frame in frames),
                              limit)

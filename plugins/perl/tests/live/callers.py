# SPDX-License-Identifier: Apache-2.0
"""Judges sampled Perl stacks by what caller() said of the same program.

A stack is *complete* when it reaches a native root, and no frame of it says that something is missing
or unknown. It is *true* when besides

- each name is that of a sub that exists, and none that is never called,
- its Perl frames are one of the burner's STACKs (programs/Burn.pm) or the first part of one, with its names,
  files and lines, and the leaf's line is one of its sub's statements,
- between two of them is native code where, and only where, the burner's text says so ("#! NAME").

A profile may have frames of what caller does not show (EXTRA): the line inside is that of the sub, too.
Where caller's line is that of a statement that is no operation of its own, the line that Perl goes by is right,
too (NEARER). Frames of eval BLOCK may be there, all of them, or none: then the line inside is that of the sub.
Subs of C have a frame in place or none.
"""
import collections
import copy
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
PROGRAMS = os.path.realpath(os.path.join(HERE, "..", "programs"))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "..", "tests", "kit")]
import stacks  # noqa: E402
import verdicts  # noqa: E402
from verdicts import NEVER_RUNS, NO_CALL, NO_SUCH, TRUE  # noqa: E402

Frame = stacks.LineFrame
Reported = collections.namedtuple("Reported", "name file line kind")
Edge = collections.namedtuple("Edge", "node line")      # line: as caller said it
# A Perl frame of a sample: its file as Reported has it, the native frames between it and its caller.
Own = collections.namedtuple("Own", "name file line between")

NEVER = {"Burn::never"}
IN_C = "main::in_thread"        # called by C: that of threads, or that Perl is embedded in
STARTS = {"main::main", IN_C}   # nothing is known of what is before these
DRIVERS = {*STARTS, "main", "main::drive", "main::slice", "main::thread_time", "main::used"}    # all scenarios have them
NONE_OF_ITS = "none of its subs"
NO_PROCESS = ("[exec]", "[exit]")               # it has no user part any more, or none yet
UNSEEN = "[perl: unknown"                       # code that was not named at all
FREED = "(freed sub)"                           # it was freed before it was named: the stack is whole, the name not known
BLOCKS = ("BEGIN", "END", "INIT", "CHECK", "UNITCHECK")
# docatch's run loop (pp_ctl.c) goes on behind the eval that made it, to the end of what C called: which calls are
# in it no context tells. Its native frames: itself, and the op that called it.
DOCATCH_FRAMES = 2
GOES_ON = 3     # lines of a text behind the last one that was seen

# What a frame of a kind may be called, besides what caller calls it.
KINDS = {
    "try": re.compile(r"\(eval\)|eval( \{.*\})?"),
    "text": re.compile(r"\(eval( \d+)?\)"),
    "file": re.compile(r"\(eval\)|\(?(require|do|use)\b.*|\(file\)|.*\.p[lm]\)?"),
    "format": re.compile(r"\((format|eval)\)|(format )?[\w:]*BURNING"),
    "main": re.compile(r"\(?main( program)?\)?"),
}
# Code of the sub around it, with a run loop of its own.
EXTRA = {"(sort block)", "(regex code)", "(defer)", "(try)"}
# "local *__ANON__" renames all subs without a name for a moment, which is over when a sample is named.
RENAMED = {"Burn::Calls::known_as": "Burn::Calls::__ANON__"}
ANONYMOUS = re.compile(r"(?P<name>[\w:']*\b__ANON__)(?P<place>\W.*)?$")
MARK = re.compile(r"#([!?]) (.+)$")


# --- what the burner says -------------------------------------------------------------------------

def plain_file(path, directory=PROGRAMS):
    """As it is called here: below the programs' directory, or a text."""
    if path.startswith("(eval"):
        return "(eval)"
    return os.path.relpath(path, directory) if path.startswith(directory + "/") else path


def plain_name(name):
    """
    Without the place that a sub without a name was made at; the debugger makes that part of its name. Those that
    exist for a moment are all alike.
    """
    found = ANONYMOUS.match(name)
    return found["name"] if found else re.sub(r"fleeting_\d+$", "fleeting_N", name)


def bare(name):
    return name.rpartition("::")[2]


class Said:
    """What the burner printed."""

    def __init__(self, output, directory=PROGRAMS):
        self.directory = directory
        self.stacks, self.subs, self.missing, self.anywhere, self.forked = [], {}, {}, set(), []
        self.lines = collections.defaultdict(set)       # {(name, file): lines of statements}
        self.nearer = collections.defaultdict(set)      # {(file, caller's line): other lines}
        self.work, self.cpu, self.started = {}, None, 0.0
        self.is_debugged = "__ANON__[" in output    # it names subs itself, by their ends
        for line in output.splitlines():
            words = line.split("\t")
            read = getattr(self, "read_" + words[0].lower(), None)
            if read:
                read(*words[1:])

    def without_nearer(self):
        """The same, but only caller's lines are right."""
        found = copy.copy(self)
        found.nearer = {}
        return found

    def read_stack(self, scenario, *frames):
        """Root first."""
        found = []
        for frame in reversed(frames):
            name, file, line, kind, times = frame.split("|")
            found += [Reported(plain_name(name), plain_file(file, self.directory), int(line), kind)] * int(times)
        self.stacks.append((scenario, found))

    def read_lines(self, name, file, *lines):
        self.lines[plain_name(name), plain_file(file, self.directory)] |= set(map(int, lines))

    def read_nearer(self, _name, file, line, statement):
        self.nearer[plain_file(file, self.directory), int(line)].add(int(statement))

    def read_sub(self, name, kind):
        self.subs[name] = kind

    def read_anywhere(self, name):
        self.anywhere.add(name)

    def read_missing(self, scenario, needs, why=""):
        self.missing[scenario] = int(needs), why

    def read_forked(self, pid):
        self.forked.append(int(pid))

    def read_work(self, scenario, seconds, _turns):
        self.work[scenario] = float(seconds)

    def read_started(self, seconds):
        self.started = float(seconds)

    def read_cpu(self, seconds):
        self.cpu = float(seconds)


def read_marks(directory=PROGRAMS):
    """{(file, line): {name of what is called: (mark, sub of C that calls it)}}"""
    marks = {}
    for place, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(place, name)
            if not name.endswith((".pl", ".pm")):
                continue
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    found = MARK.search(line)
                    if found:
                        called, _, by = found[2].partition(" by ")
                        marks[plain_file(path, directory), number] = dict.fromkeys(called.split(), (found[1], by))
    return marks


def count_lines(directory=PROGRAMS):
    found = {}
    for place, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(place, name)
            with open(path, encoding="utf-8") as file:
                found[plain_file(path, directory)] = sum(1 for _ in file)
    return found


# --- all stacks, as a tree ------------------------------------------------------------------------

class Node:
    """A frame, and what is above it. next: {line: [Edge]}"""
    __slots__ = ("name", "file", "kind", "scenario", "next", "all")

    def __init__(self, frame, scenario):
        self.name, self.file, self.kind, self.scenario = frame.name, frame.file, frame.kind, scenario
        self.next, self.all = collections.defaultdict(list), {}

    def child(self, line, frame, scenario, others):
        """others: lines that are as good."""
        key = line, frame.name, frame.file, frame.kind
        if key not in self.all:
            self.all[key] = Node(frame, scenario)
            for number in {line, *others}:
                self.next[number].append(Edge(self.all[key], line))
        return self.all[key]


def without_blocks(stack):
    """The same without frames of eval BLOCK: what is inside is the sub's."""
    found = []
    for frame in stack:
        if frame.kind == "try" and found:
            found[-1] = found[-1]._replace(line=frame.line)
        else:
            found.append(frame)
    return found


class Tree:
    """STACKs by their first frames."""

    def __init__(self, said, blocks):
        self.roots, self.handlers, self.nearer = {}, {}, said.nearer
        for scenario, stack in said.stacks:
            stack = stack if blocks else without_blocks(stack)
            starts = [i for i, frame in enumerate(stack) if frame.name in said.anywhere]
            if starts:
                self.add(self.handlers, stack[starts[0]:], scenario)
            else:
                self.add(self.roots, stack, scenario)
            # A thread's first sub has a caller where the thread was made, which is not on its stack.
            inside = [i for i, frame in enumerate(stack) if frame.name == IN_C]
            if inside and not starts:
                self.add(self.roots, stack[inside[0]:], scenario)
                if stack[inside[0] - 1].kind == "try":
                    self.add(self.roots, stack[inside[0] - 1:], scenario)

    def add(self, roots, stack, scenario):
        first = stack[0]
        key = first.name, first.file, first.kind
        node = roots.setdefault(key, Node(first, scenario))
        for caller, callee in zip(stack, stack[1:]):
            others = self.nearer.get((caller.file, caller.line), ())
            node = node.child(caller.line, callee, scenario, others)


def scenario_at(node, line):
    """All subs without a name that have one caller are one node; what they call, and where, tells them apart."""
    if not ANONYMOUS.match(node.name) or not line or not node.next:
        return node.scenario
    nearest = min(node.next, key=lambda other: abs(other - line))
    return node.next[nearest][0].node.scenario


# --- frames ---------------------------------------------------------------------------------------

def is_perl(frame):
    """A frame with a place in a program's text: it is in no mapped file."""
    return not frame.file and bool(frame.source)


def is_of_c(frame):
    """A sub that is C: named, in no file."""
    return not frame.file and not frame.source and not frame.name.startswith(("0x", "[")) and \
        not is_placeless(frame)


def names_of_c(frame):
    """What the subs are called that a function of C is: "A::b|c" is A::b and A::c."""
    if is_of_c(frame):
        return [frame.name]
    if not frame.file.endswith(".so") or "::" not in frame.name:
        return []
    package = frame.name.partition("|")[0].rpartition("::")[0]
    return [name if "::" in name else f"{package}::{name}" for name in frame.name.split("|")]


def is_placeless(frame):
    """Of Perl, but its statement was gone when it was named."""
    return not frame.file and not frame.source and (frame.name in EXTRA or frame.name == FREED or bare(frame.name) in BLOCKS or any(
        kind.fullmatch(frame.name) for kind in KINDS.values()))


def is_docatch(between):
    return len(between) <= DOCATCH_FRAMES and not any(frame.name.startswith("Perl_call_") for frame in between)


def is_gone(frames):
    """With code that was freed before it was named."""
    return any(frame.name.startswith(UNSEEN) or is_placeless(frame) for frame in frames)


def place_of(frame):
    """(file, line) that a sub without a name says it was made at, or None."""
    found = ANONYMOUS.match(frame.name)
    place = re.search(r"([^\s\[\](){}]+|\(eval \d+\)):(\d+)", found["place"] or "") if found else None
    return (place[1], int(place[2])) if place else None


def fits(node, own):
    # A text that says "#line" is one without a name until that is read.
    if own.file not in (None, node.file) and not (node.kind == "text" and own.file == "(eval)"):
        return False
    if node.kind != "sub":
        return own.name == node.name or bool(KINDS[node.kind].fullmatch(own.name))
    if own.file is None and own.name == bare(node.name):     # without a place its package is not known
        return True
    # A lexical sub has no package to caller; it is one of a package nevertheless.
    return own.name in (node.name, RENAMED.get(node.name)) or \
        "::" not in node.name and own.name.endswith("::" + node.name)


class Judge:
    """What verdicts.py asks for. known: of --observe; said: of the run, None where it was not heard."""
    MOMENT = NONE_OF_ITS

    def __init__(self, known, said=None, marks=None):
        self.known, self.said = known, said or known
        self.trees = {blocks: Tree(known, blocks) for blocks in (False, True)}
        self.marks = read_marks() if marks is None else marks
        self.file_lines = count_lines()
        self.moment_seconds = self.said.started
        self.names = {f.name for _, stack in known.stacks for f in stack if f.kind == "sub"}
        self.files = {f.file for _, stack in known.stacks for f in stack}
        self.without_lines = {f.file for _, stack in known.stacks for f in stack if not f.line}    # caller says 0
        self.text_lines = self.last_lines()
        self.seen_lines = collections.defaultdict(set)
        for _, stack in known.stacks:
            for frame in stack:
                self.seen_lines[frame.name, frame.file] |= known.nearer.get(frame[1:3]) or {frame.line}
        self.memo = {}

    def last_lines(self):
        found = collections.defaultdict(int)
        for _, stack in self.known.stacks:
            for frame in stack:
                found[frame.file] = max(found[frame.file], frame.line)
        return found

    # --- names ---

    def is_of_perl(self, frame):
        """With or without a place."""
        return is_perl(frame) or is_placeless(frame) or is_of_c(frame) and (
            plain_name(frame.name) in self.names or self.known.subs.get(frame.name) == "Perl")

    def is_own(self, frame):
        return plain_file(frame.source, self.known.directory) in self.files

    def why_no_name(self, frame):
        name = plain_name(frame.name)
        if name == FREED:
            return "freed before it was named"
        if name in NEVER:
            return NEVER_RUNS + name
        if is_of_c(frame) and not self.is_of_perl(frame):
            return None if self.known.subs.get(name) == "C" else f"{NO_SUCH}function of C: {frame.name}"
        wrong = [name for name in names_of_c(frame) if frame.file and self.known.subs.get(name) != "C"]
        if wrong:
            return f"{NO_SUCH}function of C: {wrong[0]}"
        if not is_perl(frame) or name in self.names or name in self.known.subs:
            return self.why_no_place(frame) if is_perl(frame) else None
        if name in EXTRA or any(kind.fullmatch(name) for kind in KINDS.values()) or bare(name) in (*BLOCKS, "__ANON__"):
            return None
        if bare(name) in self.names:    # a lexical sub
            return None
        return f"{NO_SUCH}function: {frame.name} ({os.path.basename(frame.source)})"

    def why_no_place(self, frame):
        """A sub without a name, made where none is."""
        place = place_of(frame)
        if place is None or not self.is_own(frame) or self.known.is_debugged:
            return None
        if os.path.basename(place[0]) != os.path.basename(frame.source) and not place[0].startswith("(eval"):
            return f"made in {place[0]}: {frame.name} of {frame.source}"
        if frame.line and place[1] > frame.line:
            return f"made behind its line: {frame.name}:{frame.line}"
        return None

    # --- lines ---

    def is_line_of(self, node, line):
        """Whether the leaf can be there."""
        lines = self.lines_of(node)
        if lines:
            return line in lines
        # Its code was gone when it was asked for, or it is a text. What is compiled ends on the line behind its last.
        return line <= self.file_lines.get(node.file, self.text_lines[node.file] + GOES_ON) + 1

    def lines_of(self, node):
        """Of its statements; those that only caller knows, too."""
        name = {"sub": node.name, "main": "main"}.get(node.kind)
        lines = self.known.lines.get((name, node.file)) or \
            {n for key, all_of in self.known.lines.items() for n in all_of
             if node.kind == "sub" and key[1] == node.file and bare(key[0]) == node.name}
        if not lines >= self.seen_lines[node.name, node.file]:
            return None     # there is another sub of that name, which nothing points to
        return lines and lines | {line for (file, line), others in self.known.nearer.items()
                                  if file == node.file and others & lines}

    # --- calls ---

    def mark_of(self, caller, line, callee):
        if bare(callee.name) == "BEGIN":
            return "!", ""
        found = self.marks.get((caller.file, line), {}).get(bare(callee.name))
        return found or ("?" if callee.kind == "file" else "", "")

    def why_between(self, caller, line, callee, between, inside):
        """between: native frames; inside: of something that C called. Nothing where it is right."""
        mark, by = self.mark_of(caller, line, callee)
        names = [name for frame in between for name in names_of_c(frame)]
        if mark == "!" and not between:
            return f"{bare(caller.name)}:{line} calls {bare(callee.name)}, but not by C"
        if not mark and between and not (inside and is_docatch(between)):
            return f"{bare(caller.name)}:{line} calls {bare(callee.name)}, but with these between: {between[-1].name}"
        if names and by and by not in names:
            return f"{by} is called {names[0]}"
        return None

    def of_c(self, frames):
        """(sub of C that called, by the burner's text; how its frame is called or "") of a true one's."""
        own = [f for f in self.own_frames(frames) if f]
        for caller, callee in zip(own, own[1:]):
            _, by = self.marks.get((caller.file, caller.line), {}).get(bare(callee.name), ("", ""))
            if by:
                names = [name for frame in callee.between for name in names_of_c(frame)]
                yield by, by if by in names else "".join(names[:1])

    def steps(self, states, own, callee, lines, inside):
        """
        From (node, native frames below an eval BLOCK) to the same of the callee; with what is wrong between, as a
        third.
        """
        for node, below in states:
            edges = [edge for found in node.next.values() for edge in found]
            if lines and own.line is not None:
                edges = node.next.get(own.line, ())
            for edge in edges:
                if not fits(edge.node, callee):
                    continue
                between = [*below, *callee.between]
                if edge.node.kind == "try":
                    yield (edge.node, tuple(between)), None
                else:
                    yield (edge.node, ()), self.why_between(node, edge.line, edge.node, between, inside)

    def walk(self, roots, own, lines=True):
        """(states of the last frame that was reached, how many frames that are, what is wrong between)"""
        states = [(node, ()) for node in roots.values() if fits(node, own[0])]
        wrong, reached = None, 1 if states else 0
        inside = not states or states[0][0].kind != "main" or any(f.name == IN_C for f in own)
        for caller, callee in zip(own, own[1:]):
            found = {}
            for state, why in self.steps(states, caller, callee, lines, inside):
                if state not in found or found[state]:
                    found[state] = why
            if not found:
                return states, reached, wrong
            inside = inside or bool(callee.between)
            right = [state for state, why in found.items() if not why]
            if not right:
                wrong = wrong or next(iter(found.values()))
            states, reached = right or list(found), reached + 1
        return states, reached, wrong

    def why_no_chain(self, roots, own, foreign):
        """own: root first. foreign: something that is not the burner's is called by the last."""
        best = None
        for blocks in (False, True):
            tree = getattr(self.trees[blocks], roots)
            states, reached, wrong = self.walk(tree, own)
            if reached == len(own):
                good = foreign or not own[-1].line or any(self.is_line_of(node, own[-1].line) for node, _ in states)
                if good and not wrong:
                    return None
                why = wrong or f"no line of {own[-1].name}: {own[-1].line}"
                best = (reached + 1, why) if not best or best[0] < reached + 1 else best
            elif not best or best[0] < reached:
                best = reached, self.why_not_further(tree, own, reached)
        return best[1]

    def why_not_further(self, tree, own, reached):
        if not reached:
            return f"root missing: {own[0].name} is called by others"
        caller, callee = own[reached - 1:reached + 1]
        _, further, _ = self.walk(tree, own, lines=False)
        if further > reached:
            return f"wrong line: {bare(caller.name)}:{caller.line} of a call of {bare(callee.name)}"
        return f"{caller.name}:{caller.line}{NO_CALL}{callee.name}"

    # --- all of it ---

    def own_frames(self, frames):
        """
        Root first: those of Perl that caller shows, too; a frame that is not the burner's is None, once for all that
        are in a row.
        """
        found, between = [], []
        for frame in reversed(stacks.without_kernel(list(frames))):
            if not self.is_of_perl(frame):
                between.append(frame)
                continue
            file = plain_file(frame.source, self.known.directory)
            if frame.name in EXTRA and found:
                if found[-1] is not None:
                    found[-1] = found[-1]._replace(line=frame.line or None)
                continue
            if not is_perl(frame):
                found.append(Own(plain_name(frame.name), None, None, tuple(between)))
            elif self.is_own(frame):
                found.append(Own(plain_name(frame.name), file, frame.line or None, tuple(between)))
            elif not found or found[-1] is not None:
                found.append(None)
            between = []
        return found

    def parts_of(self, own):
        """(which roots, frames) for each part that was called from any statement."""
        at, roots = 0, "roots"
        for i, frame in enumerate(own):
            if frame and frame.name in self.known.anywhere:
                before = own[at:i]
                if len(before) > 1 and all(before[-2:]) and \
                        KINDS["try"].fullmatch(before[-1].name) and before[-1].line == before[-2].line:
                    before = before[:-1]        # of the C that calls handlers
                yield roots, before
                at, roots = i, "handlers"
        yield roots, own[at:]

    def judge(self, frames, _thread=None):
        key = tuple(frames)
        if key not in self.memo:
            self.memo[key] = self.why_wrong(frames) or TRUE
        return self.memo[key]

    def why_wrong(self, frames):
        why = stacks.why_incomplete(frames)
        for frame in frames:
            why = why or self.why_no_name(frame)
        if why:
            return why
        if frames[-1].name in NO_PROCESS:
            return None
        own = self.own_frames(frames)
        if not any(frame and frame.name in STARTS for frame in own):
            return NONE_OF_ITS
        for roots, part in self.parts_of(own):
            foreign = bool(part) and part[-1] is None
            part = part[:-1] if foreign else part
            if None in part:
                return "a sub of the burner's is called by one that is not"
            why = why or (self.why_no_chain(roots, part, foreign) if part else None)
        perl = [frame for frame in frames if self.is_of_perl(frame)]
        gone = [f.name for i, f in enumerate(perl) if not f.line and (i or not f.source) and
                not (f.source and plain_file(f.source, self.known.directory) in self.without_lines)]
        return why or (f"no place: {gone[0]}" if gone else None)

    def scenario_of(self, sample):
        deepest = None
        for roots, part in self.parts_of([f for f in self.own_frames(sample.frames) if f]):
            if part:
                states, reached, _ = max((self.walk(getattr(tree, roots), part, lines) for lines in (True, False)
                                          for tree in self.trees.values()), key=lambda found: found[1])
                deepest = (states[0][0], part[reached - 1].line) if states else deepest
        return scenario_at(*deepest) if deepest and deepest[0].name not in DRIVERS else "driver"

    def has_no_line(self, frames):
        """It was interrupted in one of its subs, and the profile gives no line."""
        own = [f for f in frames if is_perl(f)]
        return bool(own and self.is_own(own[0]) and not own[0].line)

    @staticmethod
    def text_of(frames, limit=24):
        return text_of(frames, limit)


def text_of(frames, limit=24):
    """One line for a stack, leaf first: Perl as name:line, others in parentheses."""
    return stacks.text_of((f"{frame.name}:{frame.line}" if is_perl(frame) else
                           f"<{frame.name}>" if is_of_c(frame) else f"({frame.name})" for frame in frames), limit)


def print_figures(verdict, exact):
    """exact: a judge that takes no line but caller's."""
    for name, counts in sorted(verdict.scenarios.items()):
        whole = sum(counts.values())
        bad = sum(n for reason, n in counts.items() if verdicts.is_incomplete(reason))
        print(f"      {name:12} {whole:6} samples, {100 * (whole - bad) / whole:6.2f} % complete, "
              f"{100 * counts[TRUE] / whole:6.2f} % true")
    lines, named = collections.Counter(), collections.Counter()
    for frames, count in verdict.examples[TRUE].items():
        lines[exact.judge(frames) == TRUE] += count
        for by, found in verdict.judge.of_c(frames):
            named[by == found] += count
    print(f"      of {sum(lines.values())} true ones {lines[True]} have caller's lines everywhere; of "
          f"{sum(named.values())} calls by functions of C {named[True]} have that one's name")

# SPDX-License-Identifier: Apache-2.0
"""Judges sampled Ruby stacks by what caller_locations said of the same program.

A stack is *complete* when it reaches a native root, or the start of a fiber, and no frame of it says that something is
missing or unknown. It is *true* when besides

- each name is that of a method that ran, as 3.4 writes it: what this release calls it, with the class that
  TracePoint said (a method's name is unique in a file of the burner; of a function of C any class that has one),
- its Ruby frames, from the root on, are one of the burner's STACKs (programs/burn.rb) or its first part, with names,
  files and lines; the leaf's line is one of its code's. Above the leaf there may be functions of C that ran,
- a frame that a function of C called has native code below it, one that Ruby called has not, except where the
  burner's text says so ("#! NAME" behind the call).

A leaf that a JIT made may have no line. Frames of the collector are no part of it.
"""
import collections
import itertools
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
Step = collections.namedtuple("Step", "name file line is_c")
Own = collections.namedtuple("Own", "name file line between")   # between: native frames that it called

LABELS_WITH_CLASSES = (3, 4)
NEVER = "Burn.never"
BURNS = "Burn.spin"
LONG = "Burn::Long#long"        # a JIT takes its time to compile it
COLLECTOR = "(garbage collection"
INTERNAL = "<internal:"
HIDDEN = re.compile(r"lambda|proc|core#.*")      # of RubyVM::FrozenCore, which has no name
UNREADABLE = "(unreadable)"
UNNAMED = re.compile(r"\[ruby: |\(unreadable\)|.*\(function in C\)$")
GONE = "[ruby: unknown"
LIBRARY = re.compile(r"libruby|ruby[\d.]*(-shared)?$")
OF_METHOD = re.compile(r"((?:rescue in |ensure in )*)((?:block (?:\(\d+ levels\) )?in )?)(.*)", re.DOTALL)
MARK = re.compile(r"#([!?])(?: (.+))?$")
STARTING = "Ruby starts"
COPIED = {"do_wp_page", "wp_page_copy", "ptep_clear_flush"}  # after a fork: a page that nobody can read for a moment
MAIN_ROOTS = "_start", "__libc_start_main", "__libc_start_call_main"
INTERPRETER = "rb_vm_exec", "vm_exec_core"
LOADING = ("Kernel#require_relative", "Kernel#require")


# --- what the burner says -------------------------------------------------------------------------

class Said:
    """What the burner printed. stacks: (scenario, Steps), root first."""

    def __init__(self, output, numbers):
        self.numbers = tuple(numbers)
        self.stacks, self.missing, self.anywhere, self.forked, self.work = [], {}, set(), [], {}
        self.lines = collections.defaultdict(set)       # {(label without class, file): lines}
        self.methods = collections.defaultdict(set)     # {(method, file or ""): names}
        self.c_names = set()
        self.cpu, self.started, self.collecting = None, 0.0, None
        told = [line.split("\t") for line in output.splitlines()]
        for word in ("LINES", "CALLED", "ANYWHERE", "STACK", "MISSING", "FORKED", "STARTED", "WORK", "GC", "CPU"):
            for words in told:
                if words[0] == word:
                    getattr(self, "read_" + word.lower())(*words[1:])

    def read_lines(self, label, file, *lines):
        self.lines[self.bare(label), file] |= set(map(int, lines))

    def read_called(self, kind, name, method, file):
        self.methods[method, file].add(name)
        if kind == "C":
            self.c_names.add(name)

    def read_anywhere(self, label):
        self.anywhere.add(label)

    def read_missing(self, scenario, why):
        self.missing[scenario] = why

    def read_forked(self, pid):
        self.forked.append(int(pid))

    def read_started(self, seconds):
        self.started = float(seconds)

    def read_work(self, scenario, seconds, _turns):
        self.work[scenario] = float(seconds)

    def read_gc(self, seconds):
        self.collecting = float(seconds)

    def read_cpu(self, seconds):
        self.cpu = float(seconds)

    def read_stack(self, scenario, *frames):
        found, hidden = [], False
        for frame in frames:    # leaf first
            label, file, line, times = frame.rsplit("|", 3)
            is_c = self.is_c(label, file, int(line))
            if not hidden:
                found += [Step(self.name_of(label, file, is_c), file, int(line), is_c)] * int(times)
            # The method of a rescue or ensure is a frame of its own to 3.3.
            hidden = label.startswith(("rescue in ", "ensure in "))
        self.stacks.append((scenario, found[::-1]))

    def is_c(self, label, file, line):
        """Of C, whose line is its caller's, or of Ruby's own."""
        bare = self.bare(label)
        known = self.lines.get((bare, file))
        return file.startswith(INTERNAL) or (line not in known if known else
                                             (bare, "") in self.methods and (bare, file) not in self.methods)

    def bare(self, label):
        """Of this release: without classes, and without rescue and ensure."""
        prefix, method = OF_METHOD.fullmatch(label).group(2, 3)
        if self.numbers >= LABELS_WITH_CLASSES and not method.startswith("<"):
            method = re.split(r"(?<=\w)[.#]", method)[-1]
        return prefix + method

    def name_of(self, label, file, is_c):
        """As 3.4 writes it; of a function of C "|" between what it may be."""
        if self.numbers >= LABELS_WITH_CLASSES:
            return label
        prefix, method = OF_METHOD.fullmatch(label).group(2, 3)
        found = self.methods.get((method, "" if is_c else file)) or ()
        return prefix + ("|".join(sorted(found)) or method)


def read_marks(directory=PROGRAMS):
    """{(file, line): {method, or "" for any: mark}}"""
    marks = {}
    for place, _, names in os.walk(directory):
        for path in (os.path.join(place, name) for name in names if name.endswith(".rb")):
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    found = MARK.search(line)
                    if found:
                        marks[path, number] = dict.fromkeys((found[2] or "").split() or [""], found[1])
    return marks


# --- all stacks, as a tree ------------------------------------------------------------------------

class Node:
    """A frame, and what is above it. next: {(line of this frame, name): [nodes]}"""
    __slots__ = ("step", "scenario", "next", "all")

    def __init__(self, step, scenario):
        self.step, self.scenario, self.next, self.all = step, scenario, collections.defaultdict(list), {}

    def names(self):
        prefix, names = OF_METHOD.fullmatch(self.step.name).group(2, 3)
        return [prefix + name for name in names.split("|")] if "|" in names and len(names) > 2 else [self.step.name]

    def child(self, line, step, scenario):
        key = line, step.name, step.file, step.is_c
        if key not in self.all:
            self.all[key] = node = Node(step, scenario)
            for number, name in itertools.product({line, None}, node.names()):
                self.next[number, name].append(node)
        return self.all[key]


class Tree(Node):
    """STACKs by their first frames; those of handlers, which may be called from any line, have a tree of their own."""

    def __init__(self, said, handlers=False):
        super().__init__(Step("", "", 0, False), "driver")
        self.deepest = 0
        for scenario, steps in said.stacks:
            at = [i for i, step in enumerate(steps) if step.name in said.anywhere]
            if handlers == bool(at):
                self.add(steps[at[0]:] if at else steps, scenario)

    def add(self, steps, scenario):
        node, line = self, None
        for step in steps:
            node = node.child(line, step, scenario)
            line = None if step.is_c else step.line


# --- frames ---------------------------------------------------------------------------------------

def is_ruby(frame):
    return not frame.file and not frame.name.startswith(("0x", "[", COLLECTOR))


def is_of_c(frame):
    """A function in C, or what Ruby has of its own."""
    return is_ruby(frame) and (not frame.source or frame.source.startswith(INTERNAL))


def own_frames(frames):
    """Ruby frames, root first, each with the native frames that it called."""
    found, between = [], []
    for frame in stacks.without_kernel(list(frames)):
        if is_ruby(frame):
            found.append(Own(frame.name, frame.source, frame.line, tuple(between)))
            between = []
        elif not frame.name.startswith(COLLECTOR):
            between.append(frame)
    return found[::-1]


class Judge:
    """What verdicts.py asks for. known: of --observe; said: of the run, None where it was not heard."""
    MOMENT = STARTING

    def __init__(self, known, said=None, marks=None, jit=False):
        self.known, self.said, self.jit = known, said or known, jit
        self.trees = {handlers: Tree(known, handlers) for handlers in (False, True)}
        self.marks = read_marks() if marks is None else marks
        self.names = {name for _, steps in known.stacks for step in steps for name in Node(step, "").names()}
        self.names |= {name for names in known.methods.values() for name in names}
        self.roots = {name for _, steps in known.stacks for name in Node(steps[0], "").names()}
        self.moment_seconds = self.said.started
        self.memo, self.fiber_starts = {}, set()

    # --- names ---

    def why_no_name(self, frame):
        if frame.name == NEVER:
            return NEVER_RUNS + NEVER
        if UNNAMED.match(frame.name) and not frame.file:
            return stacks.UNKNOWN_REASON + frame.name
        if not is_ruby(frame) or frame.name in self.names or not frame.source and HIDDEN.fullmatch(frame.name):
            return None
        if frame.source and not frame.source.startswith((PROGRAMS, INTERNAL)):
            return None         # of Ruby's own library
        if self.known.bare(frame.name) in {bare for bare, file in self.known.lines if file == frame.source} and \
                not OF_METHOD.fullmatch(frame.name)[2]:
            return f"wrong class: {frame.name}" if re.search(r"\w[.#]\w", frame.name) else None
        bare = OF_METHOD.fullmatch(frame.name)[3]
        if bare in self.names or bare.startswith("<"):
            return None
        if not re.search(r"\w[.#]\w", bare) and any(name.endswith(("#" + bare, "." + bare)) for name in self.names):
            return f"class missing: {frame.name}"   # seen in one sample of a forked child; why is not known
        return f"{NO_SUCH}method: {frame.name} ({os.path.basename(frame.source) or 'C'})"

    # --- calls ---

    def why_between(self, caller, own, callee):
        """own: the caller as the sample has it. Nothing where it is right."""
        between, line = own.between, own.line
        if caller.is_c or callee.is_c:
            # What C calls runs below its native frames; a function of C that C calls need not (docs/ruby.md).
            needs = caller.is_c and not callee.is_c and own.file == ""
            return f"{callee.name} is called by C, but without native frames" if needs and not between else None
        method = re.split(r"[.#]", callee.name)[-1]
        marks = self.marks.get((caller.file, line), {})
        mark = marks.get(method) or marks.get("")
        if mark == "!" and not between:
            return f"{caller.name}:{line} calls {method}, but not by C"
        if not mark and between and not self.jit:   # a JIT's code may call what it has not compiled by C
            return f"{caller.name}:{line} calls {method}, but with these between: {between[-1].name}"
        return None

    def called_by(self, parent, line, frame):
        """Nodes that the frame may be. Where a mark is the VM calls some functions of C without a frame, if nobody traces it."""
        parents = [(parent, line)]
        if line and (parent.step.file, line) in self.marks:
            parents += [(node, None) for (number, _), nodes in parent.next.items() if number == line
                        for node in nodes if node.step.is_c]
        for one, number in parents:
            for node in one.next.get((number, frame.name), ()):
                if node.step.is_c or node.step.file == frame.file:
                    yield node

    def walk(self, root, own, lines=True):
        """(nodes of the last frame that was reached, how many frames that are, what is wrong between)"""
        nodes, wrong, caller = [root], None, None
        for reached, frame in enumerate(own):
            at = caller.line if caller and lines and caller.line and not nodes[0].step.is_c else None
            found = [(node, parent) for parent in nodes for node in self.called_by(parent, at, frame)]
            if not found:
                return nodes, reached, wrong
            whys = [(caller and self.why_between(parent.step, caller, node.step), node) for node, parent in found]
            right = [node for why, node in whys if not why]
            wrong = wrong or (None if right else whys[0][0])
            nodes, caller = right or [node for _, node in whys], frame
        return nodes, len(own), wrong

    def is_line_of(self, frame):
        lines = self.known.lines.get((self.known.bare(frame.name) if self.known.numbers >= LABELS_WITH_CLASSES
                                      else without_class(frame.name), frame.file))
        return not lines or frame.line in lines

    def why_no_chain(self, root, own, first):
        """own: root first."""
        own = list(own)
        while own and is_own_c(own[-1]) and self.walk(root, own)[1] < len(own):
            own.pop()       # functions of C that the leaf called
        nodes, reached, wrong = self.walk(root, own)
        if reached < len(own):
            return self.why_not_further(root, own, reached)
        leaf = own[-1] if own else None
        if leaf and not wrong and not is_own_c(leaf) and not (self.jit and not leaf.line) and not self.is_line_of(leaf):
            return f"no line of {leaf.name}: {leaf.line}"
        return wrong if own or first else None

    def why_not_further(self, root, own, reached):
        if not reached:
            return f"root missing: {own[0].name} is called by others"
        caller, callee = own[reached - 1:reached + 1]
        if self.walk(root, own, lines=False)[1] > reached:
            return f"wrong line: {caller.name}:{caller.line} of a call of {callee.name}"
        return f"{caller.name}:{caller.line}{NO_CALL}{callee.name}"

    # --- all of it ---

    def judge(self, frames, _thread=None):
        key = tuple(frames)
        if key not in self.memo:
            self.memo[key] = self.why_wrong(frames) or TRUE
        return self.memo[key]

    def why_incomplete(self, frames):
        why = stacks.why_incomplete(frames)
        user = stacks.without_kernel(list(frames))
        return None if why == stacks.NO_ROOT and user[-1] in self.fiber_starts else why

    def learn_fibers(self, samples):
        """A fiber's stack ends where it starts, in a function of Ruby's: that which is below blocks of Ruby."""
        for sample in samples:
            user = stacks.without_kernel(list(sample.frames))
            if stacks.why_incomplete(user) == stacks.NO_ROOT and any(map(is_ruby, user)) and LIBRARY.match(user[-1].file):
                self.fiber_starts.add(user[-1])

    def parts_of(self, own):
        """(whether it is a handler's, frames) for each part that was called from any line."""
        at, handlers = 0, False
        for i, frame in enumerate(own):
            if frame.name in self.known.anywhere:
                yield handlers, own[at:i]
                at, handlers = i, True
        yield handlers, own[at:]

    def why_wrong(self, frames):
        why, own = self.why_incomplete(frames), own_frames(frames)
        if any(f.name == UNREADABLE for f in frames) and any(f.name in COPIED for f in frames):
            return None
        if not own and frames[-1].name in ("[exec]", "[exit]"):
            return why
        if not why and not own and frames[-1].name not in MAIN_ROOTS and not any(f.name.startswith(INTERPRETER) for f in frames):
            return None     # a thread or a fiber that has not begun, or has ended, to run Ruby
        if not why and (not own or own[0].file.startswith(INTERNAL) or any(frame.name in LOADING for frame in own)):
            return STARTING
        for frame in frames:
            why = why or self.why_no_name(frame)
        if why or frames[-1].name in ("[exec]", "[exit]"):
            return why
        if own[0].name not in self.roots:
            return f"root missing: {own[0].name}"
        for handlers, part in self.parts_of(own):
            why = why or (self.why_no_chain(self.trees[handlers], part, not handlers) if part else None)
        return why

    def ends_at_call(self, frames):
        """Its innermost method is where it calls the one that burns, which is not there: true for a moment only."""
        own = own_frames(frames)
        if not own or is_own_c(own[-1]) or self.jit and own[-1].name == LONG:
            return False
        nodes, reached, _ = self.walk(self.trees[False], own, lines=False)
        return reached == len(own) and any((own[-1].line or None, BURNS) in node.next for node in nodes)

    def scenario_of(self, sample):
        own = own_frames(sample.frames)
        found = "driver"
        for handlers, part in self.parts_of(own):
            nodes, reached, _ = max((self.walk(self.trees[handlers], part, lines) for lines in (True, False)),
                                    key=lambda walked: walked[1])
            found = nodes[0].scenario if reached else found
        # All that drives is in the first scenario's stacks, too.
        return found if own and any(not f.file.endswith("/burner.rb") for f in own if not is_own_c(f)) else "driver"

    def has_no_line(self, frames):
        """It was interrupted in one of its methods, and the profile gives no line."""
        own = [f for f in frames if is_ruby(f)]
        return bool(own and own[0].source.startswith(PROGRAMS) and not own[0].line and not self.jit)

    @staticmethod
    def text_of(frames, limit=24):
        """One line for a stack, leaf first: Ruby as name:line, others in parentheses."""
        return stacks.text_of((f"{frame.name}:{frame.line}" if is_ruby(frame) else f"({frame.name})" for frame in frames),
                              limit)


def is_own_c(frame):
    return not frame.file or frame.file.startswith(INTERNAL)


def without_class(name):
    prefix, method = OF_METHOD.fullmatch(name).group(2, 3)
    return prefix + (method if method.startswith("<") else re.split(r"(?<=\w)[.#]", method)[-1])


def is_collecting(frames):
    return any(frame.name.startswith(COLLECTOR) for frame in frames)


def is_gone(frames):
    return any(frame.name.startswith(GONE) for frame in frames)

# SPDX-License-Identifier: Apache-2.0
"""Judges sampled JavaScript stacks by what the burner's own files say of themselves.

A stack is *complete* when it reaches a native root, and no frame of it says that something is missing
or unknown. It is *true* when besides, of the functions that the burner's files declare,

- each exists under its name, and none that is never called is there,
- each caller is at a line that calls the callee, and between them is what may be there: nothing but what
  adapts arguments, or builtins and C++ where the call goes through these; the leaf is at a line of its own,
- the first is one that Node or V8 calls, and those that a function says are below it are, all of them,
- it runs on a thread that runs JavaScript.

Where JavaScript and C++ call each other, V8's stubs say so: what JSEntry was called by and what CEntry calls is C++. If
it is not there the stack has a *gap*, whoever's functions these are.

Comments declare them, in C with /*:

    //= NAME [entry] [turn]   the function that begins on this line. entry: called by Node, or by V8 out of
                              nothing; turn: one of those that are called where it says @turn.
                              NAME is as a profile may show it: of "get Shape.side" the word before and the
                              class may be missing. /WORD behind tells two of one name apart.
                              ~NAME: a function without a name.
    # NAME=NUMBER             behind that: when this function is on a stack, so often is that one
    //> NAME NAME? NAME!      what this line calls. ?: builtins or C++ may be between; !: they are.
                              @module: the code of another file
    //@ NAME                  functions from here on belong to this scenario

All fit into one comment, "//= NAME entry # OTHER=3 > CALLED". A line that begins a function says nothing of the
calls of another. Where a function is declared on a line of its own it has no lines: C, WebAssembly.
"""
import collections
import dataclasses
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
PROGRAMS = os.path.realpath(os.path.join(HERE, "..", "programs"))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "..", "tests", "kit")]
import stacks  # noqa: E402
from verdicts import GAP, NEVER_RUNS, NO_CALL, NO_SUCH, TRUE  # noqa: E402

Frame = stacks.LineFrame
ADDON = "v8addon.node"
NEVER = {"never"}
MODULE = "@module"      # the code of a file outside of its functions
NONE_OF_ITS = "none of its functions"
INTERPRETED = stacks.UNKNOWN_REASON + "an interpreted function"
OTHERS = "others"       # the scenario of what is in none
FALLBACK = " [function start]"  # behind the system name: V8 has no table, the line is its function's first
# What stands between a caller and its callee without being a call of its own.
ADAPTOR = re.compile(r"ArgumentsAdaptor|Construct|InterpreterEntry|InterpreterPush|Baseline|Call(Varargs|With)|"
                     r"CompileLazy|DeoptimizationEntry")
ENTRY = re.compile(r"^Builtins_JS(Construct|RunMicrotasks)?Entry$")      # C++ calls it
EXIT = re.compile(r"^Builtins_CEntry_|^Builtins_CallApiCallback")       # it calls C++
ANONYMOUS = ("(anonymous)", "(anonymous function)", "")


@dataclasses.dataclass
class Function:
    name: str                   # the last word of what it may be shown as: unique
    shown: str                  # "get Shape.side"
    file: str                   # base name
    scenario: str
    first: int = 0
    last: int = 0
    entry: bool = False
    turn: bool = False
    counts: dict = dataclasses.field(default_factory=dict)   # {name: how often it is on the stack}
    calls: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(dict))
    # calls: {line: {callee's name: "", "?" or "!"}}


# --- what the files say ---------------------------------------------------------------------------

NOTE = re.compile(r"(?://|/\*)([=>@]) (.*?)(?: \*/)?$")
SHOWN = re.compile(r"(?:(?P<word>get|set|static|new|wasm) )?(?P<class>\w+\.)?(?P<name>[~#$\w]+|<\w+>)(?P<unique>/\S+)?")


def parse_note(kind, text):
    """(what is declared, words behind it, counts, calls)"""
    counts, calls = {}, {}
    head, _, called = text.partition(" > ") if kind == "=" else ("", "", text)
    head, _, tail = head.partition(" # ")
    for pair in tail.split():
        name, _, number = pair.partition("=")
        counts[name] = int(number)
    for call in called.split():
        calls[call.rstrip("?!")] = call[-1] if call[-1] in "?!" else ""
    shown = SHOWN.match(head) if head else None
    return shown, head[shown.end():].split() if shown else [], counts, calls


def declared(shown, words, counts, file, scenario):
    name = shown["name"] + (shown["unique"] or "")
    text = shown[0].removesuffix(shown["unique"] or "") if shown["unique"] else shown[0]
    return Function(name, text, file, scenario, entry="entry" in words, turn="turn" in words,
                    counts=counts)


def is_end(line, header):
    """Whether a line ends the function whose first line is the header."""
    indent = len(header) - len(header.lstrip())
    return line.startswith(" " * indent + "}") or (header.startswith((" ", "\t")) is False and line == "}")


def is_one_line(header):
    code = NOTE.sub("", header)
    return code.count("{") <= code.count("}")


class File:
    """The functions of one file, and which of them is at a line."""

    def __init__(self, path):
        self.name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().splitlines()
        self.module = Function(f"{MODULE}:{self.name}", "~module", self.name, "driver", 1, len(self.lines), True)
        self.words = set(re.findall(r"\w+", "".join(self.lines)))
        self.functions, self.scenario, open_ones = [self.module], "driver", [(self.module, None)]
        for number, line in enumerate(self.lines, 1):
            if open_ones[-1][1] is not None and is_end(line, open_ones[-1][1]):
                open_ones.pop()[0].last = number
            note = NOTE.search(line)
            if note:
                self.read_note(note, number, open_ones)
        if len(open_ones) != 1:
            raise ValueError(f"{path}: no end of {open_ones[-1][0].name}")

    def read_note(self, note, number, open_ones):
        if note[1] == "@":
            self.scenario = note[2]
            return
        shown, words, counts, calls = parse_note(note[1], note[2])
        function = open_ones[-1][0]
        if shown:
            function = declared(shown, words, counts, self.name, self.scenario)
            function.first = function.last = number
            self.functions.append(function)
            # What is declared on a line of comments alone has no lines here: C, WebAssembly.
            line = self.lines[number - 1]
            if line.lstrip().startswith(("/*", "//")):
                function.first = function.last = 0
            elif not is_one_line(line):
                open_ones.append((function, line))
        for callee, through in calls.items():
            function.calls[number if function.first else 0][callee] = through


class Truth:
    """Of all files of a directory."""

    def __init__(self, directory=PROGRAMS):
        self.functions, self.by_shown, self.words = {}, collections.defaultdict(list), {}
        names = sorted(n for n in os.listdir(directory) if n.endswith((".js", ".c")))
        for name in names:
            file = File(os.path.join(directory, name))
            self.words[name] = file.words
            for function in file.functions:
                if function.name in self.functions:
                    raise ValueError(f"two functions {function.name}")
                self.functions[function.name] = function
                for text in texts_of(function):
                    self.by_shown[text].append(function)
        self.files = {name for name in names if name.endswith(".js")}
        self.turns = {f.name for f in self.functions.values() if f.turn}
        self.modules = {f.name for f in self.functions.values() if f.name.startswith(MODULE)}
        for function in self.functions.values():
            self.check_calls(function)

    def check_calls(self, function):
        for line, calls in function.calls.items():
            for name in calls:
                if name not in self.functions and name not in ("@turn", MODULE):
                    raise ValueError(f"{function.file}:{line}: no function {name}")

    def callees_at(self, function, line):
        """{name: through}"""
        found = dict(function.calls.get(line if function.first else 0, {}))
        for word, names in (("@turn", self.turns), (MODULE, self.modules)):
            if word in found:
                found.update(dict.fromkeys(names, found.pop(word)))
        return found

    def script_callees_at(self, function, line):
        """As V8 itself sees calls: without frames of C."""
        found, left = {}, dict(self.callees_at(function, line))
        while left:
            name, through = left.popitem()
            if not self.functions[name].file.endswith(".c"):
                found[name] = through
            else:
                left.update(self.callees_at(self.functions[name], 0))
        return found

    def innermost(self, functions, line):
        """
        Those that are at the line and have none of the others within. Where one begins, what is around it is at
        the line as well: there it makes the function.
        """
        inside = [f for f in functions if f.first <= line <= f.last]
        around = [f for f in inside if f.first < line]
        return self.narrowest(inside) + [f for f in self.narrowest(around) if f not in self.narrowest(inside)]

    @staticmethod
    def narrowest(functions):
        narrow = min((f.last - f.first for f in functions), default=0)
        return [f for f in functions if f.last - f.first == narrow]

    def all_callees(self, function):
        return set().union(*(self.callees_at(function, line) for line in function.calls), set())


def texts_of(function):
    """What a profile may show for it: words before its name may be missing, wrong ones not."""
    match = SHOWN.fullmatch(function.shown)
    if match["name"].startswith("~"):
        return set(ANONYMOUS)
    names = {match["name"], (match["class"] or "") + match["name"]}
    if match["class"] and match["word"] == "new":
        names = {match["name"]}
    return names | {f"{match['word']} {name}" for name in names if match["word"] not in (None, "wasm")}


# --- frames ---------------------------------------------------------------------------------------

def source_of(frame):
    """Its file as a path: V8 may have a URL."""
    return frame.source.removeprefix("file://")


def is_script(frame):
    """A function of JavaScript: it is in no mapped file, but in a source."""
    return not frame.file and bool(frame.source)


def why_interpreted(frames):
    """Where V8's interpreter was called from and nothing says by which function: the leaf may be about to be."""
    for frame in stacks.without_kernel(list(frames))[1:]:
        if frame.file and "InterpreterEntryTrampoline" in frame.name:
            return INTERPRETED
    return None


WRAPPER, WASM_MODULE = "(js-to-wasm)", "wasm://wasm/"
INTERNAL = re.compile(r"(node:|internal/|native |extensions::|evalmachine|\[eval\]|v8/)|[\w-]+(\.js)?$")


def is_no_cpp(frame):
    return is_script(frame) or frame.name.startswith("Builtins_")


def why_gap(frames):
    """C++ that must have been between two frames, and is not."""
    for inner, outer in zip(frames, frames[1:]):
        if ENTRY.match(inner.name) and is_no_cpp(outer) or EXIT.match(outer.name) and is_no_cpp(inner):
            return f"{GAP}no C++ between {inner.name} and {outer.name}"
    return None


class Judge:
    """What verdicts.py asks for. lazy: V8 was not asked for lines, so it may have none but a function's first."""
    MOMENT = NONE_OF_ITS
    EARLY = {OTHERS: [INTERPRETED]}     # what Node runs once, before names come with samples

    def __init__(self, said, truth, threads=None, lazy=False):
        """threads: {id: name} of those that run JavaScript, None where their numbers are not ours."""
        self.said, self.truth, self.threads, self.lazy = said, truth, threads, lazy
        self.moment_seconds = sum(said.started.values())

    # --- which function is it ---

    def is_own(self, frame):
        if frame.file:
            return frame.file == ADDON and frame.name in self.truth.functions
        if is_script(frame) and os.path.basename(source_of(frame)) in self.truth.files:
            return True
        return bool(self.wasm_of(frame))

    def wasm_of(self, frame):
        found = re.search(r"\b(wasm_\w+)", frame.name)
        function = self.truth.functions.get(found[1]) if found and not frame.file else None
        return function if function and function.shown.startswith("wasm ") else None

    def functions_of(self, frame):
        """Those that it may be, by its name and, of the anonymous, its line."""
        if frame.file:
            return [self.truth.functions[frame.name]]
        if self.wasm_of(frame):
            return [self.wasm_of(frame)]
        name = re.sub(r"^async ", "", frame.name)
        file = os.path.basename(source_of(frame))
        found = [f for f in self.truth.by_shown.get(name, ()) if f.file == file]
        if name in ANONYMOUS:
            return self.truth.innermost(found, frame.line) or found
        if not found and set(re.findall(r"\w+", name)) <= self.truth.words[file]:
            # V8 calls a function without a name by the expression that it is a part of.
            inside = self.truth.innermost([f for f in self.truth.functions.values() if f.file == file],
                                          frame.line)
            return [f for f in inside if "~" in f.name]
        return found

    def why_no_function(self, frame):
        if not self.is_own(frame):
            if frame.name == WRAPPER and frame.source.startswith(WASM_MODULE):
                return None     # V8's own code; its module is known where the function that it wraps was met
            if is_script(frame) and not INTERNAL.match(frame.source) and not frame.source.startswith("/usr/"):
                return f"{NO_SUCH}function: {frame.name} ({frame.source})"
            return None
        found = self.functions_of(frame)
        if not found:
            return f"{NO_SUCH}function: {frame.name} ({os.path.basename(frame.source)})"
        if any(f.name in NEVER for f in found):
            return NEVER_RUNS + frame.name
        if frame.line and not any(not f.first or f.first <= frame.line <= f.last for f in found):
            return f"no line of {frame.name}: {frame.line}"
        return None

    # --- calls ---

    def steps(self, callers, frame, between, callees):
        """
        Of functions that callers may be, with the frame's line, those that call one of the callees;
        as (caller, callee) pairs.
        """
        for caller in callers:
            known = self.truth.callees_at(caller, frame.line)
            if self.lazy and frame.signature.endswith(FALLBACK):
                known = {}
                for line in caller.calls:
                    known.update(self.truth.callees_at(caller, line))
            for callee in callees:
                if callee.name in known and self.is_between_right(known[callee.name], between):
                    yield caller, callee

    @staticmethod
    def is_between_right(through, between):
        if through == "!":
            return bool(between)
        return through == "?" or all(ADAPTOR.search(f.name) for f in between)

    def why_no_calls(self, own):
        """own: (frame, frames between it and its callee), root first."""
        frame = own[0][0]
        possible = [f for f in self.functions_of(frame) if f.entry]
        if not possible:
            return f"root missing: {frame.name} is called by others"
        path = [possible]
        for (caller, _), (callee, _) in zip(own, own[1:]):
            # What is between belongs to the caller: it is above it.
            between = own[len(path) - 1][1]
            pairs = list(self.steps(path[-1], caller, between, self.functions_of(callee)))
            if not pairs:
                return self.why_no_call(path[-1], caller, callee, between)
            path.append(list({callee.name: callee for _, callee in pairs}.values()))
        return self.why_wrong_count([functions[0] for functions in path])

    def why_no_call(self, possible, caller, callee, between):
        names = {f.name for f in self.functions_of(callee)}
        known = set().union(*(self.truth.callees_at(f, caller.line) for f in possible))
        if names & known:
            said = f"{caller.name} calls {callee.name}, but with {'these' if between else 'nothing'} between"
            return said if between else GAP + said
        if not caller.file and any(names & set(self.truth.script_callees_at(f, caller.line)) for f in possible):
            return f"{GAP}no C between {caller.name} and {callee.name}"
        if any(names & self.truth.all_callees(f) for f in possible):
            return f"wrong line: {caller.name}:{caller.line} of a call of {callee.name}"
        return f"{caller.name}:{caller.line}{NO_CALL}{callee.name}"

    @staticmethod
    def why_wrong_count(path):
        """path: functions, root first."""
        seen = collections.Counter(f.name for f in path)
        for function in path:
            for name, number in function.counts.items():
                if seen[name] != number:
                    return f"{seen[name]} of {name} below {function.name}, and not {number}"
        return None

    # --- all of it ---

    def own_frames(self, frames):
        """(frame, what it called that is not its own), root first; and what the leaf called."""
        found, above = [], []
        for frame in stacks.without_kernel(list(frames)):
            if self.is_own(frame):
                found.append((frame, above))
                above = []
            else:
                above.append(frame)
        found.reverse()
        return found

    def judge(self, frames, thread):
        """TRUE or a reason. thread: its id"""
        why = stacks.why_incomplete(frames) or why_interpreted(frames)
        why = why or why_gap(stacks.without_kernel(list(frames)))
        for frame in frames:
            why = why or self.why_no_function(frame)
        if why:
            return why
        own = self.own_frames(frames)
        runs_script = self.threads is None or thread in self.threads
        if not own:
            return NONE_OF_ITS if self.threads and thread in self.threads else TRUE
        if not runs_script:
            return f"{own[-1][0].name} on a thread without JavaScript"
        return self.why_no_calls(own) or TRUE

    def scenario_of(self, sample):
        """That of the first function that is not the driver's."""
        for frame, _ in self.own_frames(sample.frames):
            for function in self.functions_of(frame):
                if function.scenario not in ("driver", "leaf"):
                    return function.scenario
        return OTHERS

    def has_no_line(self, frames):
        """It was interrupted in a function of the burner's, and the profile gives no line."""
        leaf = next(iter(stacks.without_kernel(list(frames))), None)
        return bool(leaf and not leaf.line and self.is_own(leaf) and is_script(leaf))

    @staticmethod
    def text_of(frames, limit=24):
        return text_of(frames, limit)


class Said:
    """What the burner printed."""

    def __init__(self, output):
        self.threads, self.started, self.missing, self.broken = {}, {}, {}, {}
        self.work, self.cpu = collections.Counter(), None
        for line in output.splitlines():
            word, _, rest = line.partition(" ")
            name, _, rest = rest.partition(" ")
            if word == "THREAD":
                self.threads[int(rest)] = name
            elif word == "STARTED":
                self.started[name] = float(rest)
            elif word in ("MISSING", "BROKEN"):
                getattr(self, word.lower())[name] = rest
            elif word == "WORK":
                self.work[rest.split()[0]] += float(rest.split()[1])
            elif word == "CPU":
                self.cpu = float(name)


def text_of(frames, limit=24):
    """One line for a stack, leaf first: JavaScript as name:line, others in parentheses."""
    return stacks.text_of((f"{frame.name}:{frame.line}" if is_script(frame) else f"({frame.name})" for frame in frames), limit)

# SPDX-License-Identifier: Apache-2.0
"""Which lines a Go source calls from: a table made of the source itself, not of what a compiler says of it.

    source = Source(directory)
    source.why_wrong("main.deep.func1", "burner.go", 68, "main.recurse")    None, or what is wrong

It reads gofmt's form. A function is a range of lines; functions without a name are numbered as they come, as the
compiler does. A frame that called is right on a line that calls what is above it, by name or through a value; one
that was interrupted on any line of its function.
"""
import bisect
import collections
import glob
import os
import re

QUIET = re.compile(r'"(?:\\.|[^"\\\n])*"|`[^`]*`|//[^\n]*|/\*.*?\*/', re.DOTALL)
WORDS = re.compile(r"\bfunc\b|[{}]")
NAME = re.compile(r"func(?: \([^()]*\))? (\w+)\(")
VALUES = re.compile(r"(?<![\w.])(?:f|s\.run)\(")   # through a value: what burner.go calls so
ANY = re.compile(r"\S")
# Where the runtime is called, by what it is called for; what is not here is called from any line of code.
RUNTIME = [(re.compile(function), re.compile(line)) for function, line in (
    (r"morestack(_noctxt)?$", r"\bfunc\b"),
    (r"makechan$", r"make\(chan"),
    (r"chan(send1|recv1|recv2)$", r"<-|range in"),
    (r"closechan$", r"close\("),
    (r"(selectgo|selectnb\w+)$", r"\bselect\b|\bcase\b"),
    (r"map(assign|access)\w*$", r"\bm\["),
    (r"newproc$", r"\bgo "),
    (r"(goP|p)anicIndex\w*$", r"none\["),
    (r"gopanic$", r"panic\("),
    (r"makemap\w*$", r"map\["),
)]
# Above these a frame was interrupted where it was; so it was where C's library is, whose signal frame that is.
INTERRUPT = "runtime.sigreturn"
INTERRUPTS = re.compile(r"^runtime\.(asyncPreempt|sigpanic|sigreturn\w*|sigtramp|debugCallV\d)$")

Function = collections.namedtuple("Function", "name file first last")


def without_text(source):
    """Strings and comments as blanks, so that lines and columns stay."""
    return QUIET.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source)


def body_of(text, at):
    """Where the body of the `func` at `at` begins; None for a type."""
    depth = 0
    for at in range(at, len(text)):
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0 and text[at] == "{":
            return at
        elif depth == 0 and text[at] in "\n,":
            return None
    return None


def functions_of(file, text):
    starts = [0] + [m.end() for m in re.finditer("\n", text)]
    line_at = lambda at: bisect.bisect_right(starts, at)
    opened, bodies, found, depth = [], {}, [], 0    # opened: [name, first line, depth, literals in it]
    for word in WORDS.finditer(text):
        if word[0] == "func":
            body = body_of(text, word.start())
            if body is not None:
                bodies[body] = word.start()
        elif word[0] == "{":
            if word.start() in bodies:
                opened.append([name_of(text, bodies[word.start()], opened), line_at(bodies[word.start()]), depth, 0])
            depth += 1
        else:
            depth -= 1
            if opened and opened[-1][2] == depth:
                name, first, _, _ = opened.pop()
                found.append(Function(name, file, first, line_at(word.start())))
    return found


def name_of(text, at, opened):
    """cmd/compile/internal/ir/func.go, closureName: F.func1, and in that F.func1.1."""
    if not opened:
        return "main." + NAME.match(text, at)[1]
    opened[-1][3] += 1
    return opened[-1][0] + (".func" if len(opened) == 1 else ".") + str(opened[-1][3])


class Source:
    def __init__(self, directory):
        self.lines, self.functions = {}, {}
        for path in glob.glob(os.path.join(glob.escape(directory), "*.go")):
            with open(path, encoding="utf-8") as file:
                text = without_text(file.read())
            name = os.path.basename(path)
            self.lines[name] = [""] + text.split("\n")
            for function in functions_of(name, text):
                self.functions[function.name] = function
        self.memo = {}

    def function(self, name):
        """Itself, or what it is in: compilers make functions for `go` and `defer`, cgo for calls of C."""
        while name.count(".") > 1 and name not in self.functions:
            name = name.rpartition(".")[0]
        return self.functions.get(name)

    def allowed(self, name, callee):
        """Lines on which it may be; callee: None where it was interrupted. None: the source does not say."""
        key = name, callee
        if key not in self.memo:
            function = self.function(name)
            self.memo[key] = function and (function.file, self.lines_of(function, name, callee))
        return self.memo[key]

    def lines_of(self, function, name, callee):
        numbers = range(function.first, function.last + 1)
        code = [n for n in numbers if self.lines[function.file][n].strip()]
        if name != function.name:
            return {n for n in code if re.search(r"\bgo |\bdefer |\bC\.", self.lines[function.file][n])}
        if callee is None:
            return set(code)
        found = set()
        for pattern in self.calls_of(callee):
            found = found or {n for n in code if pattern.search(self.lines[function.file][n])}
        if callee.startswith(function.name + ".") and callee in self.functions:
            found.add(self.functions[callee].last)     # func() { ... }(), where it is called at once
        if any(n > function.first and re.search(r"\bdefer ", self.lines[function.file][n]) for n in code):
            found |= {n for n in code if n == function.last or "return" in self.lines[function.file][n]}
        return found

    def calls_of(self, callee):
        """What a line has that calls it; the second where no line has the first."""
        package, _, name = callee.rpartition(".")
        if callee.startswith("main._Cfunc_"):
            return [re.compile(rf"\bC\.{name[len('_Cfunc_'):]}\(")]
        if callee in self.functions:
            return [re.compile(rf"(?<![\w.])(?<!func ){name}\("), VALUES]
        if callee.startswith("main."):      # what cgo makes of a call
            return [re.compile(r"\bC\.")]
        if package == "runtime" or package.startswith(("runtime.", "internal/")):
            return [next((line for test, line in RUNTIME if test.match(name)), ANY)]
        return [re.compile(rf"\b{re.escape(name)}\(") if package else ANY]

    def why_wrong(self, name, file, line, callee):
        """callee: the name of the frame above, None where there is none."""
        if callee is not None and INTERRUPTS.match(callee):
            callee = None
        allowed = self.allowed(name, callee)
        if not allowed:
            return None
        if os.path.basename(file) != allowed[0]:
            return f"in {file or 'no file'}, not in {allowed[0]}"
        if line in allowed[1]:
            return None
        return f"line {line}, where {callee} is not called" if callee else f"line {line}, which is not its"

# SPDX-License-Identifier: Apache-2.0
"""Judges sampled Java stacks by what the program says of itself, and by its bytecode.

A stack is *complete* when it reaches a native root, and no frame of it says that something is missing
or unknown. It is *true* when besides

- each method exists, and is none that is never called,
- each caller's line is one whose bytecode calls the callee (its callee being Java, with nothing native
  between), and the leaf's line one of its method,
- the calls of the burner's own methods are one of its CHAINs (Burner.java), or the first part of one.

Inlined methods at the leaf that the profile calls approximate (no DebugNonSafepoints) are no calls it
claims: they must exist and fit the bytecode, but are no part of the chain.
"""
import collections
import fnmatch
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "..", "tests", "kit"))
import stacks  # noqa: E402
from stacks import why_incomplete  # noqa: E402
from verdicts import NEVER_RUNS, NO_CALL, TRUE  # noqa: E402

Frame = stacks.LineFrame

NO_METHODS = "none of its methods"  # a thread that starts or ends
HEAP_FRAMES = "[frames in the heap]"
RULES = "libjavarules.so"  # C whose frames are in chains
JAVA_NAME = re.compile(r"[^\s:()\[\]]+\.[^\s:()\[\].]+")
DESCRIPTOR = re.compile(r"\([^()\s]*\)\S+")
NEVER = {"Burner.never"}
# Made at run time, or with frames that are not their own: method handles call what no bytecode names, events
# have methods of no class file (share/jfr/instrumentation/jfrEventClassTransformer.cpp, 28).
PLUMBING = ("java.lang.invoke.", "jdk.internal.event.")
POLYMORPHIC = ("java.lang.invoke.MethodHandle", "java.lang.invoke.VarHandle")


def read_profile(path):
    return stacks.read_profile(path, stacks.LineProfile)


# --- frames ---------------------------------------------------------------------------------------

def is_java(frame):
    """Frames of languages belong to no file. Stubs are no methods: they have no class."""
    return not frame.file and not frame.name.startswith("0x") and bool(JAVA_NAME.fullmatch(frame.name))


def class_of(frame):
    return frame.name.rpartition(".")[0]


def method_of(frame):
    return frame.name.rpartition(".")[2]


def descriptor_of(frame):
    """Its method's descriptor, where the profile says it; that may say more behind a space."""
    found = DESCRIPTOR.search(frame.signature)
    return found[0] if found else ""


# --- bytecode -------------------------------------------------------------------------------------

class Code:
    """The classes of one run: {class name: {method name: [classes.Method]}}."""

    def __init__(self, known):
        self.known = known

    def methods(self, frame):
        """[Method], or None where nothing is known of its class."""
        if frame.name.startswith(PLUMBING) or class_of(frame) not in self.known:
            return None
        named = self.known[class_of(frame)].get(method_of(frame), [])
        descriptor = descriptor_of(frame)
        return [m for m in named if not descriptor or m.descriptor == descriptor]

    def why_no_name(self, frame):
        """A name that cannot have been run."""
        if frame.name in NEVER:
            return NEVER_RUNS + frame.name
        if self.methods(frame) == []:
            return f"no such method: {frame.name}{descriptor_of(frame)}"
        return None

    def is_bridge(self, frame):
        """What javac adds between a call and the method that is written there."""
        methods = [m for m in self.methods(frame) or [] if frame.line in m.lines]
        return bool(methods) and all(m.is_bridge for m in methods)

    def why_no_line(self, frame):
        methods = self.methods(frame)
        if not methods:
            return None
        if any(frame.line in m.lines or not m.lines for m in methods):
            return None
        return f"no line of {frame.name}: {frame.line}"

    def why_no_call(self, caller, callee):
        """Of two Java frames with nothing between."""
        methods = self.methods(caller)
        if not methods or any(m.is_native for m in methods) or self.methods(callee) is None:
            return None
        calls = set().union(*(m.calls_at(caller.line) for m in methods))
        if any(is_call_of(call, callee) for call in calls):
            return None
        return f"{caller.name}:{caller.line}{NO_CALL}{callee.name}"


def is_call_of(call, callee):
    if call.kind == "dynamic" or call.owner in POLYMORPHIC:
        return True
    if call.name == "<init>" and call.owner != class_of(callee):
        return False
    descriptor = descriptor_of(callee)
    return call.name == method_of(callee) and descriptor in ("", call.descriptor)


def pairs(frames):
    """(caller, callee, native between) of the Java frames, leaf first."""
    callee, native = None, False
    for frame in frames:
        if is_java(frame):
            if callee is not None:
                yield frame, callee, native
            callee, native = frame, False
        else:
            native = True


# --- chains ---------------------------------------------------------------------------------------

Element = collections.namedtuple("Element", "glob repeats")
TOKEN = re.compile(r"(.+?)(?:\{(\d+|\+)\})?")


def parse_chain(text):
    chain = []
    for token in text.split():
        glob, times = TOKEN.fullmatch(token).groups()
        matches = re.compile(fnmatch.translate(glob.replace("[", "[[]"))).match
        chain += [Element(matches, times == "+")] * (int(times) if times and times != "+" else 1)
    return chain


def is_chain(chain, names, anywhere):
    """names: root first. anywhere: the first calls are not on this stack."""
    places = set(range(len(chain) + 1)) if anywhere else {0}
    for name in names:
        places = ({at + 1 for at in places if at < len(chain) and chain[at].glob(name)} |
                  {at for at in places if at and chain[at - 1].repeats and chain[at - 1].glob(name)})
        if not places:
            return False
    return True


class Said:
    """What the burner printed: its chains, its threads, what it has not."""

    # Calls of every thread: it says where it is; and what an error would be told by.
    COMMON = ("Burner$Scenario.run Burner.say", "Burner$Scenario.run Burner.threadId",
              "Burner$Scenario.run Burner$Scenario.hasThread", "Burner$Scenario.run *.hasThread")

    def __init__(self, output):
        self.chains, self.threads = collections.defaultdict(list), {}
        self.missing, self.broken, self.seen, self.cpu = {}, {}, [], None
        for line in output.splitlines():
            word, _, rest = line.partition(" ")
            name, _, rest = rest.partition(" ")
            if word == "CHAIN":
                self.chains[name].append(parse_chain(rest))
            elif word == "THREAD" and rest != "0":
                self.threads[int(rest)] = name
            elif word in ("MISSING", "BROKEN"):
                getattr(self, word.lower())[name] = rest
            elif word == "SEEN":
                self.seen.append((name, [seen_frame(call) for call in rest.split()]))
            elif word == "CPU":
                self.cpu = float(name)
        self.common = [parse_chain(text) for text in self.COMMON]

    def chains_of(self, scenario):
        """None: of all."""
        return self.chains[scenario] + self.common if scenario else sum(self.chains.values(), self.common)


def seen_frame(call):
    name, _, line = call.rpartition(":")
    return Frame(name, "", "", max(int(line), 0))


class Judge:
    """own: names of the burner's classes. What verdicts.py asks for."""
    MOMENT = NO_METHODS
    # A thread unpacks its frames: how long that takes depends on what malloc and page faults do, and on who has the CPU.
    PASSING = {"[truncated: hotspot: frames are being remade (deoptimization)]": 1.0}

    def __init__(self, said, code, own):
        self.said, self.code, self.own = said, code, own

    def scenario_of(self, sample):
        return self.said.threads.get(sample.labels.get("tid"), "others")

    def text_of(self, frames):
        return text_of(frames)

    def own_calls(self, frames):
        """Names, root first, of the burner's methods and the C functions of chains."""
        names = [f.name for f in frames
                 if f.file == RULES or (is_java(f) and class_of(f) in self.own and
                                        not f.signature.endswith(" [approximate]") and not self.code.is_bridge(f))]
        names.reverse()
        return names

    def why_no_chain(self, frames, scenario):
        names = self.own_calls(frames)
        if not names:
            return NO_METHODS if scenario else None
        anywhere = any(f.name == HEAP_FRAMES for f in frames)
        if not scenario and names[0].startswith("Burner.main"):
            return None
        short = list(names)
        while short and short[-1].endswith((".<init>", ".<clinit>")):
            short.pop()
        # In a pid namespace of its own its threads have other numbers; and of some it says none.
        for chain in self.said.chains_of(scenario):
            if is_chain(chain, names, anywhere) or is_chain(chain, short, anywhere):
                return None
        return f"{scenario or 'some thread'}: no such chain"

    def why_no_code(self, frames):
        """What bytecode has against it."""
        java = [f for f in frames if is_java(f)]
        for frame in java:
            why = self.code.why_no_name(frame)
            if why:
                return why
        for caller, callee, native in pairs(frames):
            # At a call of a stub compiled code has no debug point, so no line.
            why = self.code.why_no_call(caller, callee) if not native else \
                caller.line and self.code.why_no_line(caller)
            if why:
                return why
        return self.code.why_no_line(java[0]) if java and java[0].line else None

    def has_no_line(self, frames):
        """It was interrupted in a Java method that has lines, and the profile gives none."""
        leaf = next(iter(stacks.without_kernel(list(frames))), None)
        if leaf is None or leaf.line or not is_java(leaf):
            return False
        return any(m.lines for m in self.code.methods(leaf) or [])

    def judge(self, frames, thread):
        """TRUE or a reason. thread: its id"""
        return (why_incomplete(frames) or self.why_no_code(frames)
                or self.why_no_chain(frames, self.said.threads.get(thread, "")) or TRUE)


def text_of(frames, limit=24):
    """One line for a stack, leaf first: Java frames as name:line, others in parentheses."""
    return stacks.text_of((f"{frame.name}:{frame.line}" if is_java(frame) else f"({frame.name})" for frame in frames), limit)

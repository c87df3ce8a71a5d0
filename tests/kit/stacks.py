# SPDX-License-Identifier: Apache-2.0
"""Stacks as profiles hold them, and the grammar of the STACK lines the test programs print.

A STACK line lists a stack leaf first, tokens separated by spaces:

    name        a frame whose function matches; * and ? are wild cards, a|b are alternatives
    ?token      may be absent
    token+      once or more; token{900} exactly so often
    ...         any frames, or none
    LIBC  LD  VDSO   frames (one or more) of that file, whatever their names
    KERNEL      kernel frames, one or more
    GAP         the one frame that says that frames are missing there
    SIGRETURN   the one frame that the kernel pushes for a signal handler's return

A line that begins with MAY instead of STACK is right too, but need not be seen. A sample may also be
"aside": in a function on the way to the leaf, or in a runtime library it calls for a moment. These
stacks are complete and a tail of a line; they are counted apart, and may be few only.

Kernel frames at the leaf are allowed anywhere (interrupts, page faults). Behind the last token only
the frames that start a program or a thread may follow, and they must be there: a stack that does
not reach its root does not match. Names are compared without arguments, "foo<int>(long) const" as
"foo<int>".
"""
import collections
import fnmatch
import gzip
import itertools
import os
import re

Frame = collections.namedtuple("Frame", "name file")  # file: base name of the mapping
# weight_ns: the CPU time it stands for; each CPU has a sampling period of its own. 0: not told
Sample = collections.namedtuple("Sample", "frames count labels weight_ns", defaults=[0])

LIBC = re.compile(r"^(libc[.-]|libpthread|ld-musl|ld-linux|ld-2)")
RUNTIME = re.compile(r"^(libc[.-]|libstdc|libgcc_s|libm[.-]|libpthread|ld-musl|ld-linux|ld-2|\[vdso)")
LD = re.compile(r"^(ld-linux|ld-musl|ld-2|ld\.so)")
ROOTS = {"_start", "__libc_start_call_main", "__libc_start_main", "__libc_start_main_impl",
         "__libc_start_main@@GLIBC_2.34", "generic_start_main", "__libc_start_main_stage2",
         "libc_start_main_stage2", "_start_c", "__dls2", "_dlstart", "_dl_start_user",
         "clone", "clone3", "__clone", "__clone3", "start_thread", "start", "c_start",
         "[exec]", "[exit]"}  # a task without a user part: nothing but kernel frames before


# --- names -------------------------------------------------------------------------------------

CLONE = re.compile(r"\.(cold|part|constprop|isra)\b.*$")


def bare(name):
    """A function's name without its arguments, return type kept: cut at the last "(" that closes."""
    name = CLONE.sub("", name.split(" [clone")[0]).removesuffix(" const")
    if not name.endswith(")") or name.endswith("operator()"):
        return name
    depth = 0
    for at in range(len(name) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if depth == 0:
            return name if name[at:at + 3] == "(an" else name[:at]
    return name


def is_kernel(frame):
    return frame.file.startswith(("[kernel", "[guest.kernel", "[bpf"))


def is_error(frame):
    return frame.name.startswith("[truncated")


def is_gap(frame):
    return frame.name.startswith("[gap: ")


def is_root(frame):
    return frame.name in ROOTS or bool(LIBC.match(frame.file))


# --- the grammar -------------------------------------------------------------------------------

def is_sigreturn(frame):
    return (frame.name in ("__restore_rt", "__restore", "__kernel_rt_sigreturn")
            or bool(LIBC.match(frame.file)) or frame.file == "[vdso]")


CLASSES = {
    "LIBC": lambda f: bool(LIBC.match(f.file)),
    "LD": lambda f: bool(LD.match(f.file)),
    "VDSO": lambda f: f.file == "[vdso]",
    "KERNEL": is_kernel,
}
SINGLE = {"SIGRETURN": is_sigreturn, "GAP": is_gap}
TOKEN = re.compile(r"^(?P<optional>\??)(?P<body>.+?)(?:(?P<more>\+)|\{(?P<count>\d+)\})?$")


def test_of(body):
    """(predicate of a frame, may repeat) for a token without its prefix and suffix."""
    if body in CLASSES:
        return CLASSES[body], True
    if body in SINGLE:
        return SINGLE[body], False
    globs = [re.compile(fnmatch.translate(glob.replace("[", "[[]"))) for glob in body.split("|")]
    return (lambda f: any(g.match(bare(f.name).replace(" ", "")) for g in globs)), False


class Token:
    def __init__(self, text):
        match = TOKEN.match(text)
        self.any = text == "..."
        self.optional = bool(match["optional"]) and len(text) > 1
        self.count = int(match["count"] or 1)
        self.test, repeats = test_of(match["body"])
        self.repeats = repeats or bool(match["more"])

    def ends(self, frames, start):
        """Where this token may end when it begins at `start`."""
        if self.any:
            return set(range(start, len(frames) + 1))
        ends = {start} if self.optional else set()
        at = start
        while at < len(frames) and self.test(frames[at]):
            at += 1
            if at - start == self.count or (self.repeats and at - start > self.count):
                ends.add(at)
            if at - start >= self.count and not self.repeats:
                break
        return ends


class Pattern:
    def __init__(self, line):
        word, self.text = line.split(" ", 1)
        self.required = word == "STACK"
        self.tokens = [Token(text) for text in self.text.split()]
        self.kernel = "KERNEL" in self.text.split()[0]

    def matches_from(self, first_token, frames, start):
        places = {start}
        for token in self.tokens[first_token:]:
            places = {end for at in places for end in token.ends(frames, at)}
            if not places:
                return False
        return any(all(is_root(f) for f in frames[at:]) for at in places)

    def matches(self, frames):
        """True when all of it matches and only roots are left."""
        return self.matches_from(0, frames if self.kernel else without_kernel(frames), 0)

    def matches_aside(self, frames):
        """True when a tail of it does, below a few frames of a runtime library."""
        user = without_kernel(frames)
        start = 0
        while start < len(user) and (RUNTIME.match(user[start].file) or
                                     user[start].name.endswith("clock_gettime")):
            start += 1
        return any(self.matches_from(first, user, start)
                   for first in range(1, len(self.tokens) + 1)
                   if first == len(self.tokens) or not self.tokens[first].any)


def parse_truth(output):
    return [Pattern(line) for line in output.splitlines() if line.startswith(("STACK ", "MAY "))]


def used_by(output):
    """
    (seconds of CPU time, into how many pieces it was cut), as a program says in its last lines: CPU, and SWITCHES,
    without which nobody knows the pieces. None: it says nothing.
    """
    used = re.findall(r"^CPU ([0-9.]+)$", output, re.M)
    switches = re.findall(r"^SWITCHES (\d+)$", output, re.M)
    return (float(used[-1]), int(switches[-1]) + 1 if switches else None) if used else None


def started_in(output):
    """Seconds of CPU time that a program used before its main, by its line START; 0: it does not say."""
    used = re.findall(r"^START ([0-9.]+)$", output, re.M)
    return float(used[-1]) if used else 0.0


def without_kernel(frames):
    at = 0
    while at < len(frames) and is_kernel(frames[at]):
        at += 1
    return frames[at:]


def text_of(words, limit):
    """One line for a stack of words, leaf first: equal ones in a row as one, of a long stack not the middle."""
    counted = [(word, len(list(same))) for word, same in itertools.groupby(words)]
    words = [word if n == 1 else f"{word}{{{n}}}" for word, n in counted]
    if len(words) > limit:
        words[limit * 2 // 3:-limit // 3] = ["[...]"]
    return " ".join(words)


def is_complete(frames):
    """The stack was walked to where its program or thread starts. Kernel threads are complete."""
    if any(is_error(f) for f in frames):
        return False
    user = without_kernel(frames)
    return not user or is_root(user[-1])


UNKNOWN = re.compile(r"\[[\w-]+: unknown|0x")
UNKNOWN_REASON, NO_ROOT = "unknown: ", "native root missing"


def is_unknown(frame):
    """A language's frame without a name, or code that nobody knows."""
    return not frame.file and bool(UNKNOWN.match(frame.name))


def why_incomplete(frames):
    """Of a program with code in memory, in whose stacks no name is missing. None for a complete stack."""
    for frame in frames:
        if is_error(frame):
            return frame.name
    for frame in frames:
        if is_unknown(frame):
            return UNKNOWN_REASON + ("code" if frame.name.startswith("0x") else frame.name)
    user = without_kernel(list(frames))
    if user and not is_root(user[-1]):
        return NO_ROOT
    return None


# --- reading pprof: profile.proto, github.com/google/pprof ---------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """(field number, int or bytes) of one protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("message cut short")
        elif kind in (1, 5):  # fixed64, fixed32: bytes
            length = {1: 8, 5: 4}[kind]
            value, at = data[at:at + length], at + length
        else:
            raise ValueError(f"wire type {kind}")
        yield key >> 3, value


def numbers(value):
    """A repeated integer field: packed, or one of many."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def message(data):
    """{field: [values]}"""
    found = collections.defaultdict(list)
    for field, value in fields(data):
        found[field].append(value)
    return found


def first(msg, field, default=0):
    return msg[field][0] if msg[field] else default


class Profile:
    """A pprof file: samples with their frames, inlined ones expanded, leaf first."""

    def __init__(self, data):
        self.raw = message(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        self.strings = [text.decode("utf-8", "replace") for text in self.raw[6]]
        self.functions = {first(m, 1): self.strings[first(m, 2)]
                          for m in map(message, self.raw[5])}
        self.mappings = {first(m, 1): os.path.basename(self.strings[first(m, 5)])
                         for m in map(message, self.raw[3])}
        self.locations = {first(m, 1): self.frames_of(m) for m in map(message, self.raw[4])}
        self.samples = [self.sample_of(message(data)) for data in self.raw[2]]
        self.comments = [self.strings[i] for value in self.raw[13] for i in numbers(value)]
        # Ticks that a virtual CPU did not get, and what else the profiler says it has no sample of.
        self.lost = sum(int(n) for text in self.comments for n in re.findall(r"Hz, (\d+) lost", text))

    def frames_of(self, location):
        file = self.mappings.get(first(location, 2), "")
        lines = [message(line) for line in location[4]]
        names = [self.functions[first(line, 1)] for line in lines]
        return [Frame(name, file) for name in names or [f"0x{first(location, 3):x}"]]

    def sample_of(self, msg):
        ids = [i for value in msg[1] for i in numbers(value)]
        values = [v for value in msg[2] for v in numbers(value)]
        labels = {}
        for label in map(message, msg[3]):
            text = first(label, 2)
            labels[self.strings[first(label, 1)]] = self.strings[text] if text else first(label, 3)
        return Sample([f for i in ids for f in self.locations[i]], values[0], labels,
                      values[1] if len(values) > 1 else 0)


def read_profile(path, kind=Profile):
    with open(path, "rb") as file:
        return kind(file.read())


# signature: the system name, where it is not the name
LineFrame = collections.namedtuple("LineFrame", "name file source line signature", defaults=["", 0, ""])


class LineProfile(Profile):
    """With source file, line and signature of each frame."""

    def frames_of(self, location):
        if not hasattr(self, "more"):
            self.more = {first(m, 1): (self.strings[first(m, 4)], self.strings[first(m, 3)])
                         for m in map(message, self.raw[5])}
        file = self.mappings.get(first(location, 2), "")
        frames = []
        for line in map(message, location[4]):
            function = first(line, 1)
            source, signature = self.more[function]
            frames.append(LineFrame(self.functions[function], file, source, first(line, 2), signature))
        return frames or [LineFrame(f"0x{first(location, 3):x}", file)]


# --- reading `perf script`, to check the programs' claims with another unwinder ------------------

PERF_FRAME = re.compile(r"^\s+([0-9a-f]+) (.+?)(?:\+0x[0-9a-f]+)? \((.*)\)$")


def read_perf_script(text):
    samples = []
    for block in text.split("\n\n"):
        frames = [Frame(m[2], "[kernel]" if m[3].startswith("[kernel") or m[3].endswith(".ko")
                        else os.path.basename(m[3]))
                  for m in map(PERF_FRAME.match, block.splitlines()) if m]
        if frames:
            samples.append(Sample(frames, 1, {"comm": block.split()[0]}))
    return samples

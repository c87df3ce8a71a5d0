# SPDX-License-Identifier: Apache-2.0
"""Compares sampled stacks with what workload.py said of itself.

A stack is true when its Python frames, from the root to the leaf, are a chain of calls that was
traced: of each caller name, file and line are exact, of the leaf name and file, and the line is one
of its code.

It is in order when its native frames are right as well: it reaches a native root; where a C
function of Python's is between two Python frames, there are native frames, and none where a call
needs none; no frame of the interpreter is where a Python frame stands for it.
"""
import collections
import json
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "..", "tests", "kit"))
import counting  # noqa: E402
import runs  # noqa: E402
import shares  # noqa: E402
import stacks  # noqa: E402

Frame = stacks.LineFrame  # file: of the mapping

# What runs Python code, by version: Python frames stand in its place. (Python/ceval.c; the second
# is the JIT's way in, Python/jit.c; the third what gcc splits off.)
INTERPRETER = ("_PyEval_EvalFrameDefault", "_PyJIT_Entry", "_PyEval_EvalFrameDefault.cold")
INLINED_CALLS = (3, 11)  # from here on a Python function calls another without C between them
PLAIN_CALLS = ("spin", "descend", "fibonacci", "dive")  # called by plain calls only
BASE = "worker"  # all that the workload does is below it

CLEANUP = "<frame cleanup>"  # the interpreter destroys locals: what Python itself does not show

TRUE = "true"
OUTSIDE = "outside"  # before or after what is tested: the interpreter starts
WITHOUT_PYTHON = "no Python frame"
AT_A_CALL = "the leaf is at a call"  # and the callee is missing, or just begins or ends


def is_python(frame):
    """Frames of languages belong to no mapping; neither do frames that say why a stack ends."""
    return (not frame.file and not stacks.is_error(frame) and not is_unnamed(frame)
            and frame.name != CLEANUP)


def is_unnamed(frame):
    """Native code of no file: a JIT's."""
    return not frame.file and frame.name.startswith("0x")


def is_unknown(frame):
    return is_python(frame) and frame.name.startswith("[")


class Sample:
    """One stack taken apart: Python frames, root first, each with what is native above it."""

    def __init__(self, frames):
        self.errors = [f for f in frames if stacks.is_error(f)]
        self.complete = stacks.is_complete(frames)
        self.python, self.above = [], []
        above = []
        for frame in stacks.without_kernel(list(frames)):
            if is_python(frame):
                self.python.append(frame)
                self.above.append(above)
                above = []
            else:
                above.append(frame)
        self.python.reverse()
        self.above.reverse()  # above[i]: native frames that python[i] called

    def shows_interpreter(self):
        """Where nothing is above it, it may just be about to run a frame that is not there yet."""
        return any(f.name in INTERPRETER for above in self.above[:-1] for f in above)


class Truth:
    """functions, nodes, leaves: see workload.py, class Truth."""

    def __init__(self, data, version, workload, long_lines=()):
        """workload: what Python calls its file."""
        self.version, self.workload = version, workload
        self.functions = [tuple(f) for f in data["functions"]]
        self.long_lines = set(long_lines)
        self.nodes = collections.defaultdict(set)   # (parent, name, source, line) -> {(id, via)}
        self.leaves = collections.defaultdict(set)  # (parent, name, source) -> {(function, via)}
        for node, (parent, function, line, via) in enumerate(data["nodes"]):
            name, source = self.functions[function][:2]
            self.nodes[parent, name, source, line].add((node, via))
        for parent, function, via in data["leaves"]:
            name, source = self.functions[function][:2]
            self.leaves[parent, name, source].add((function, via))
        self.known = {f[:2] for f in self.functions}
        self.by_name = collections.defaultdict(set)
        for parent, name, source, line in self.nodes:
            self.by_name[parent, name, source].update(self.nodes[parent, name, source, line])

    def is_gap_right(self, via, native, callee):
        """via: the C function between; native: the frames that are."""
        if via and not native:
            return False
        plain = callee in PLAIN_CALLS and not via and self.version >= INLINED_CALLS
        return not (plain and native)

    def steps(self, parents, frame, native, lines, gaps):
        """Nodes that a caller may be."""
        table, key = (self.nodes, (frame.name, frame.source, frame.line)) if lines else \
            (self.by_name, (frame.name, frame.source))
        return {node for parent in parents for node, via in table.get((parent, *key), ())
                if not gaps or self.is_gap_right(via, native, frame.name)}

    def walk(self, sample, lines=True, gaps=True):
        """True when the chain was traced. lines: so were those of callers; gaps: C where C is."""
        parents, native = {-1}, []
        for frame, above in list(zip(sample.python, sample.above))[:-1]:
            parents, native = self.steps(parents, frame, native, lines, gaps), above
        leaf = sample.python[-1]
        return any((not gaps or self.is_gap_right(via, native, leaf.name)) and
                   (not lines or leaf.line in self.functions[function][3])
                   for parent in parents
                   for function, via in self.leaves.get((parent, leaf.name, leaf.source), ()))

    def why_not(self, sample):
        """What is wrong with a chain that was never traced."""
        unknown = [f for f in sample.python if is_unknown(f)]
        if unknown:
            return unknown[0].name
        if self.walk(sample, lines=False, gaps=False):
            return "wrong line"
        unknown = [f for f in sample.python if (f.name, f.source) not in self.known]
        if unknown:
            return f"no such function: {unknown[0].name}"
        root = sample.python[0]
        if (-1, root.name, root.source) not in self.by_name:
            return "root missing"
        return "no such chain"

    def judge(self, sample):
        """Of its Python frames."""
        if not sample.python:
            return WITHOUT_PYTHON
        root = sample.python[0]
        if not any(f.name == BASE for f in sample.python):
            begins_inside = root.source == self.workload and root.name != "<module>"
            return "root missing" if begins_inside else OUTSIDE
        if not self.walk(sample, gaps=False):
            return self.why_not(sample)
        leaf = sample.python[-1]
        return AT_A_CALL if (leaf.source, leaf.line) in self.long_lines else TRUE

    def judge_order(self, sample):
        """Of a true one: what is wrong with what is native."""
        if sample.errors:
            return sample.errors[-1].name
        if not sample.complete:
            return "native root missing"
        if sample.shows_interpreter():
            return "the interpreter's own frame"
        if any(is_unnamed(f) for above in sample.above for f in above):
            return "unnamed code"
        return TRUE if self.walk(sample) else "C functions between Python frames"


def long_lines_of(path, source):
    """Lines marked "# long" in the text at path, which Python calls source."""
    with open(path, encoding="utf-8") as file:
        return {(source, number) for number, line in enumerate(file, 1)
                if line.rstrip().endswith("# long")}


def text_of(frames, limit=16):
    """One line for a stack, leaf first: Python frames as name:line, native ones in parentheses."""
    return stacks.text_of((f"{f.name}:{f.line}" if is_python(f) else f"({f.name})" for f in frames), limit)


# --- a run as a whole -----------------------------------------------------------------------------

FREQUENCY = 499   # of samples, where there were none to tell it by
FEWEST = 30       # samples of a run
THRESHOLD = 99.5  # percent of samples
# True for a moment, wrong when it is more: a call does not have its callee yet, or has it no more; a
# thread that starts or ends has no Python frames.
AT_A_CALL_LIMIT = 0.5  # percent of samples
THREAD_ENDS = "a thread's start or end"
# So many threads start and end however many samples there are: what that takes, the machine decides.
THREAD_ENDS_LIMIT = 1.5, 5  # times its CPU time, and more
STARTUP = 1.3, 15  # samples before the workload: times its CPU time until then, and more
AMOUNT = 0.94, 1.3, 15  # samples by CPU time used: at least, at most, and so many more or less


def said(done, word, what):
    """What the workload printed after the word."""
    if "skip:" in done.stdout:
        raise runs.Skipped(done.stdout.strip().splitlines()[-1])
    for line in done.stdout.splitlines():
        if line.startswith(word + " "):
            return json.loads(line[len(word):])
    raise runs.Failed(f"{what}: exit status {done.returncode}, no {word} in {done.stdout[:200]!r}: "
                      f"{done.stderr[:1500]}")


class Verdict:
    """Counts samples by what is wrong with them."""

    def __init__(self, known, result, samples, racy=False, set_aside=()):
        """
        racy: no GIL: share_problems.
        set_aside: what is wrong with stacks that nobody can get right.
        """
        self.known, self.result, self.racy = known, result, racy
        self.counts, self.order, self.scenarios = (collections.Counter() for _ in range(3))
        self.examples = collections.defaultdict(collections.Counter)
        memo = {}
        for sample in samples:
            frames = tuple(sample.frames)
            if frames not in memo:
                taken_apart = Sample(frames)
                memo[frames] = taken_apart, known.judge(taken_apart)
            self.add(sample, *memo[frames])
        self.all = sum(self.counts.values())
        early = self.limit(self.result["cpu_start"], *STARTUP) + int(self.result.get("late", 0) * self.frequency())
        self.outside = min(self.counts[OUTSIDE], early)
        self.aside = sum(self.counts[reason] for reason in set_aside)
        self.tested = self.all - self.outside - self.aside
        self.at_calls = min(self.counts[AT_A_CALL], counting.allowed(self.tested, 100 - AT_A_CALL_LIMIT))
        self.thread_ends = min(self.counts[THREAD_ENDS], self.limit(self.result["cpu_threads"], *THREAD_ENDS_LIMIT))
        self.true = self.counts[TRUE] + self.at_calls + self.thread_ends

    def add(self, sample, parts, outcome):
        if outcome in (WITHOUT_PYTHON, OUTSIDE):
            main_thread = sample.labels.get("tid") == sample.labels.get("pid")
            outcome = OUTSIDE if main_thread else THREAD_ENDS
        self.counts[outcome] += sample.count
        self.examples[outcome][tuple(sample.frames)] += sample.count
        if outcome == TRUE:
            order = self.known.judge_order(parts)
            self.order[order] += sample.count
            self.examples["order: " + order][tuple(sample.frames)] += sample.count
        for name in {f.name for f in parts.python}:
            self.scenarios[name] += sample.count

    def frequency(self):
        return self.result.get("frequency", FREQUENCY)

    def limit(self, cpu, times, more):
        """Samples that something may have which took so much CPU time, in seconds."""
        return int(cpu * self.frequency() * times + more)

    @property
    def percent(self):
        return 100.0 * self.true / max(self.tested, 1)

    @property
    def percent_in_order(self):
        return 100.0 * self.order[TRUE] / max(self.counts[TRUE], 1)

    def reasons(self):
        """What is wrong, most frequent first."""
        found = collections.Counter(self.counts)
        found[OUTSIDE] -= self.outside
        found.update({"order: " + reason: n for reason, n in self.order.items()})
        return [(reason, n) for reason, n in found.most_common()
                if n > 0 and reason not in (TRUE, "order: " + TRUE)]

    def problems(self, order_threshold=THRESHOLD):
        """Why this run fails: nothing when it passes."""
        if self.tested < FEWEST:
            yield f"{self.tested} samples are too few to tell"
        if counting.is_missed(self.tested - self.true, self.tested, THRESHOLD):
            yield f"{self.percent:.2f} % true stacks"
        misplaced = self.counts[TRUE] - self.order[TRUE]
        if counting.is_missed(misplaced, self.counts[TRUE], order_threshold):
            yield f"{self.percent_in_order:.2f} % of them with native frames in order"
        yield from self.amount_problems()
        yield from [] if self.racy else self.share_problems()

    def amount_problems(self):
        yield from runs.amount_problems(self.all, self.result.get("lost", 0),
                                        self.result["cpu_total"] * self.frequency(), AMOUNT)

    def share_problems(self):
        """
        Of each scenario's CPU time, counted as samples. Not without the GIL: each thread repeats its
        scenarios undisturbed then, and such a rhythm beats against that of the samples, so that one
        scenario's surplus is its neighbour's want.
        """
        cpu = self.result["cpu"]
        if cpu:
            yield from shares.problems({name: self.scenarios[name] for name in cpu},
                                       {name: seconds * self.frequency() for name, seconds in cpu.items()})

    def print_wrong(self, limit=4):
        for reason, n in self.reasons()[:8]:
            print(f"    {100.0 * n / max(self.tested, 1):6.2f} %  {reason}")
            for frames, count in self.examples[reason].most_common(limit):
                print(f"              {count}: {text_of(frames)}")

# SPDX-License-Identifier: Apache-2.0
"""Counts judged samples, and says what misses a bar.

A bar is a share of samples, and counting.py says how many may be wrong where it holds. What is sampled before a language
is attached is judged apart, by why it took so long: runs.Effort says what the profiler did and waited for meanwhile.

The judge of a language has
    judge(frames, thread)   TRUE, or a reason as text; thread: the sample's id of it
    scenario_of(sample)     what the program was doing, for a table
    has_no_line(frames)     it was interrupted where there are lines, and the profile gives none
    text_of(frames)         a stack in one line
    MOMENT                  the reason that is right for a moment: of a thread that starts or ends
    moment_seconds          optional: CPU time of starts, as the program measured it, from its loader on; else a share of
                            the run is allowed
    PASSING                 optional: {reason: percent}: right while the runtime is at something that has no stack, which
                            may take so much of the time
    EARLY                   optional: {scenario: reasons} of a start, as LATE is one: names that were gone before they were read
    said.cpu                seconds of CPU time that the program says it used
A reason that begins with NEVER_RUNS or NO_SUCH is a wrong name, one that begins with GAP says that frames are missing
between two others, one with NO_CALL in it is a call that is not in the code.
"""
import collections

import counting
import runs
import stacks

TRUE = "true"
LATE = "[truncated: sampled before its language was attached]"
NEVER_RUNS, NO_SUCH, NO_CALL, GAP = "never runs: ", "no such ", " does not call ", "gap: "
MOMENTS_LIMIT = 1.0     # percent of a run whose starts nobody measured
START = 1.3             # times what the program says its start took
ENDS_LIMIT = 0.25       # percent of such a run, for ends
FEWEST = 200
AMOUNT = 0.94, 1.3, 40  # samples by CPU time used: at least, at most, and so many more or less
# Bars, percent of samples.
CALLS = 99.9            # without a call that is not in the code
GAPS = 99.75            # without a gap
LINES = 99.5            # whose leaf has its line: a text is compiled, and its first statement comes


def is_incomplete(reason):
    return reason.startswith(("[truncated", stacks.UNKNOWN_REASON, stacks.NO_ROOT))


def is_wrong_name(reason):
    return reason.startswith(NEVER_RUNS) or (reason.startswith(NO_SUCH + "method: ") or
                                             reason.startswith(NO_SUCH + "function: "))


class Verdict:
    """Counts samples by what is wrong with them."""

    def __init__(self, judge, samples):
        self.judge = judge
        self.counts, self.all, self.without_line = collections.Counter(), 0, 0
        self.scenarios = collections.defaultdict(collections.Counter)
        self.examples = collections.defaultdict(collections.Counter)
        memo = {}
        for sample in samples:
            key = sample.labels.get("tid"), tuple(sample.frames)
            if key not in memo:
                memo[key] = judge.judge(sample.frames, key[0])
            self.add(sample, memo[key])
        self.incomplete = sum(n for reason, n in self.counts.items() if is_incomplete(reason))
        self.moments = min(self.counts[judge.MOMENT], self.moments_limit(samples))
        passing = sum(min(self.counts[reason], counting.allowed(self.all, 100 - percent))
                      for reason, percent in getattr(judge, "PASSING", {}).items())
        self.incomplete -= passing
        self.true = self.counts[TRUE] + self.moments + passing
        early = getattr(judge, "EARLY", {}).items()
        self.late = self.counts[LATE] + sum(self.scenarios[name][reason] for name, reasons in early for reason in reasons)
        self.frequency = runs.frequency_of(samples)

    def moments_limit(self, samples):
        started = getattr(self.judge, "moment_seconds", None)
        if started is None:
            return counting.allowed(self.all, 100 - MOMENTS_LIMIT)
        return int(counting.allowed(self.all, 100 - ENDS_LIMIT) + started * START * runs.frequency_of(samples))

    def add(self, sample, reason):
        self.all += sample.count
        self.without_line += sample.count if self.judge.has_no_line(sample.frames) else 0
        self.counts[reason] += sample.count
        self.scenarios[self.judge.scenario_of(sample)][reason] += sample.count
        self.examples[reason][tuple(sample.frames)] += sample.count

    def percent(self, n):
        return 100.0 * n / max(self.all, 1)

    def reasons(self):
        return [(reason, n) for reason, n in self.counts.most_common() if reason != TRUE]

    def problems(self, threshold, fewest=FEWEST, late_seconds=0.0):
        """threshold: percent; late_seconds: of the program's CPU time, in which its language need not be attached."""
        late = min(self.late, int(late_seconds * self.frequency))
        if self.all < fewest:
            yield f"{self.all} samples are too few to tell"
        if counting.is_missed(self.incomplete - late, self.all, threshold):
            yield f"{self.percent(self.all - self.incomplete):.2f} % complete stacks"
        if counting.is_missed(self.all - self.true - late, self.all, threshold):
            yield f"{self.percent(self.true):.2f} % true stacks"
        wrong = sum(n for reason, n in self.counts.items() if is_wrong_name(reason))
        if wrong:
            yield f"{wrong} samples with a name that never ran"
        never = sum(n for reason, n in self.counts.items() if NO_CALL in reason)
        if counting.is_missed(never, self.all, CALLS):
            yield f"{never} samples with a call that is not in the code"
        missing = sum(n for reason, n in self.counts.items() if reason.startswith(GAP))
        if counting.is_missed(missing, self.all, GAPS):
            yield f"{missing} samples with a gap: frames between two others are missing"
        if counting.is_missed(self.without_line, self.all, LINES):
            yield f"{self.without_line} samples without a line where they were interrupted"

    def amount_problems(self, frequency, lost):
        if self.judge.said.cpu is None:
            yield "it did not say what CPU time it used"
            return
        yield from runs.amount_problems(self.all, lost, self.judge.said.cpu * frequency, AMOUNT)

    def print_summary(self):
        print(f"  {self.percent(self.all - self.incomplete):6.2f} % of {self.all} samples "
              f"complete, {self.percent(self.true):6.2f} % true; "
              f"{self.percent(self.without_line):.2f} % have no line at the leaf")

    def print_wrong(self, limit=2):
        for reason, n in self.reasons()[:12]:
            print(f"    {self.percent(n):6.2f} %  {reason}")
            for frames, count in self.examples[reason].most_common(limit):
                print(f"              {count}: {self.judge.text_of(frames)}")
        for name, counts in sorted(self.scenarios.items()):
            whole = sum(counts.values())
            bad = whole - counts[TRUE]
            if bad * 200 > whole and bad > 1:
                worst = [f"{n} {reason}" for reason, n in counts.most_common(3) if reason != TRUE]
                print(f"    {name}: {100.0 * bad / whole:.1f} % of {whole} are not true: {'; '.join(worst)}")

    def check(self, threshold, more=(), examples=False, fewest=FEWEST, late_seconds=0.0):
        """Prints it, and raises Failed. more: other problems."""
        problems = [*self.problems(threshold, fewest, late_seconds), *more]
        self.print_summary()
        if self.late:
            print(f"  {self.late} samples before the language was attached, {late_seconds * self.frequency:.0f} of them explained")
        if problems or examples:
            self.print_wrong()
        if problems:
            raise runs.Failed("; ".join(problems))

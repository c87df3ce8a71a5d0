#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the checks of languages share: which runs passed, and which verdicts are below their bar."""
import collections
import contextlib
import io
import unittest

import language
import runs
import stacks
import verdicts

Case = collections.namedtuple("Case", "name")
Said = collections.namedtuple("Said", "cpu")


class Judge:
    """Says of a stack what its leaf is called."""
    MOMENT = "a start"

    def __init__(self, cpu=None):
        self.said = Said(cpu)

    def judge(self, frames, _thread):
        return frames[0].name

    def scenario_of(self, sample):
        return str(sample.labels.get("tid"))

    def has_no_line(self, frames):
        return frames[0].file == "no line"

    def text_of(self, frames):
        return frames[0].name


def quiet(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        result = function(*arguments)
    return result, out.getvalue()


def verdict_of(counts, judge=None):
    """counts: {reason: samples}"""
    samples = [stacks.Sample([stacks.Frame(reason, "")], n, {"tid": 1}) for reason, n in counts.items()]
    return verdicts.Verdict(judge or Judge(), samples)


class Made:
    """A check whose runs do as their names say, when they are made (record) or judged (check)."""
    OUTCOMES = {"bad": runs.Failed, "absent": runs.Skipped}

    def record(self, case):
        if case.name == "no_start":
            raise runs.Failed("it did not start")
        return case

    def check(self, case):
        print("judged", case.name)
        if case.name in self.OUTCOMES:
            raise self.OUTCOMES[case.name]("why it did")


class Runs(unittest.TestCase):
    def test_outcomes_are_counted(self):
        names = "good", "bad", "absent", "other", "no_start", "end"
        counts, out = quiet(language.run_all, Made(), map(Case, names), "good|bad|absent|no|end")
        self.assertEqual(counts, {"OK": 2, "FAILED": 2, "SKIPPED": 1})
        self.assertIn("FAILED ] bad", out)
        self.assertNotIn("other", out)
        for name in ("good", "bad", "end"):     # what is said of a run stays together
            self.assertRegex(out, rf"RUN +\] {name}\njudged {name}\n(  why it did\n)?\[ +\w+ \] {name}\n")

    def test_amounts(self):
        bounds = 0.9, 1.2, 5
        for samples, lost, right in ((1000, 0, True), (894, 0, False), (894, 10, True), (1206, 0, False)):
            with self.subTest(samples=samples):
                self.assertEqual(not list(runs.amount_problems(samples, lost, 1000, bounds)), right)

    def test_the_process_with_most_samples(self):
        samples = [stacks.Sample([], n, {"pid": pid}) for pid, n in ((1, 5), (2, 4), (2, 4))]
        self.assertEqual({s.labels["pid"] for s in runs.process_of(samples)}, {2})
        self.assertEqual(runs.process_of([]), [])


class Verdicts(unittest.TestCase):
    CASES = [  # what there is, what it is said to be
        ({"true": 1000}, None),
        ({"true": 100}, "too few"),
        ({"true": 990, "native root missing": 10}, None),      # 0.5 % explain it
        ({"true": 975, "native root missing": 25}, "complete"),
        ({"true": 800, "[truncated: x]": 200}, "complete"),
        ({"true": 800, "no such chain": 200}, "true stacks"),
        ({"true": 9999, "never runs: f": 1}, "never ran"),
        ({"true": 9999, "no such function: f": 1}, "never ran"),
        ({"true": 995, "f:3 does not call g": 5}, None),
        ({"true": 985, "f:3 does not call g": 15}, "not in the code"),
        ({"true": 985, verdicts.GAP + "no C between a and b": 15}, "with a gap"),
        ({"true": 975, "a start": 25}, None),
        ({"true": 900, "a start": 100}, "true stacks"),
    ]

    def test_bars(self):
        for counts, wanted in self.CASES:
            with self.subTest(counts=counts, wanted=wanted):
                text = "; ".join(verdict_of(counts).problems(99.5))
                self.assertEqual(bool(text), bool(wanted), text)
                self.assertIn(wanted or "", text)

    def test_what_was_sampled_too_early_is_explained_by_time(self):
        # 500 samples a second
        for late, seconds, passes in (150, 0.4, True), (300, 0.4, False), (150, 0, False):
            samples = [stacks.Sample([stacks.Frame(reason, "")], n, {"tid": 1}, n * 2000000)
                       for reason, n in (("true", 1000), (verdicts.LATE, late))]
            with self.subTest(late=late, seconds=seconds):
                found = verdicts.Verdict(Judge(), samples).problems(99.5, late_seconds=seconds)
                self.assertEqual(not list(found), passes)

    def test_what_a_start_lacks_is_early_too(self):
        class Starting(Judge):
            EARLY = {"1": ["unknown: f"]}
        for thread, passes in (1, True), (2, False):
            samples = [stacks.Sample([stacks.Frame(reason, "")], n, {"tid": thread}, n * 2000000)
                       for reason, n in (("true", 1000), ("unknown: f", 150))]
            with self.subTest(thread=thread):
                self.assertEqual(not list(verdicts.Verdict(Starting(), samples).problems(99.5, late_seconds=0.4)), passes)

    def test_lines_that_are_missing(self):
        samples = [stacks.Sample([stacks.Frame("true", "no line")], 300, {})]
        self.assertIn("without a line", "; ".join(verdicts.Verdict(Judge(), samples).problems(99)))

    def test_amount_by_cpu_time(self):
        self.assertIn("did not say", "".join(verdict_of({"true": 1000}).amount_problems(100, 0)))
        self.assertEqual(list(verdict_of({"true": 1000}, Judge(10)).amount_problems(100, 0)), [])
        self.assertTrue(list(verdict_of({"true": 500}, Judge(10)).amount_problems(100, 0)))

    def test_a_check_fails_by_what_is_wrong(self):
        with self.assertRaises(runs.Failed):
            quiet(verdict_of({"true": 500, "no such chain": 500}).check, 99.5)
        with self.assertRaises(runs.Failed):
            quiet(verdict_of({"true": 500}).check, 99.5, ["something else"])
        self.assertIn("100.00 % true", quiet(verdict_of({"true": 500}).check, 99.5)[1])


if __name__ == "__main__":
    unittest.main()

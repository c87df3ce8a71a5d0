#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the checks of languages share: which runs passed, and which verdicts are below their bar."""
import collections
import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

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

    def __init__(self, failures=0):
        self.failures, self.made = failures, []

    def record(self, case):
        self.made.append(case.name)
        if case.name == "no_start":
            raise runs.Failed("it did not start")
        return case

    def check(self, case):
        print("judged", case.name)
        self.failures -= 1
        if self.failures >= 0 or case.name in self.OUTCOMES:
            raise self.OUTCOMES.get(case.name, runs.Failed)("why it did")


class Runs(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        files = [os.path.join(directory.name, name) for name in ("machine", "next")]
        self.enterContext(mock.patch.object(runs, "LOCKS", files))

    def test_outcomes_are_counted(self):
        names = "good", "bad", "absent", "other", "no_start", "end"
        counts, out = quiet(language.run_all, Made(), map(Case, names), "good|bad|absent|no|end", 1)
        self.assertEqual(counts, {"OK": 2, "FAILED": 2, "SKIPPED": 1})
        self.assertIn("FAILED ] bad", out)
        self.assertNotIn("other", out)
        for name in ("good", "bad", "end"):     # what is said of a run stays together
            self.assertRegex(out, rf"RUN +\] {name}\njudged {name}\n(  why it did\n)?\[ +\w+ \] {name}\n")

    def test_what_failed_is_made_again_in_the_end(self):
        for failures, tries, outcome, again in ((1, 2, "OK", 1), (9, 2, "FAILED", 1), (9, 3, "FAILED", 2),
                                                (1, 1, "FAILED", 0)):
            check = Made(failures)
            with self.subTest(failures=failures, tries=tries):
                counts, out = quiet(language.run_all, check, [Case("it")], "", tries)
                self.assertEqual(dict(counts), {outcome: 1, **({"AGAIN": again} if again else {})})
                self.assertEqual(out.count("AGAIN ] it"), again)
                self.assertEqual(out.count("CPUs, of which"), again + (tries > 1))
        check = Made(1)
        self.assertEqual(quiet(language.run_all, check, map(Case, ("it", "two", "three")), "", 2)[0]["OK"], 3)
        self.assertEqual(check.made, ["it", "two", "three", "it"])

    def test_who_is_alone_waits_for_runs_that_have_begun(self):
        with mock.patch.object(runs, "ALONE_SECONDS", 0.1):
            with runs.turn(), runs.turn():
                self.assertIn("another test", quiet(self.enter_alone)[1])
            self.assertEqual(quiet(self.enter_alone)[1], "")
            with runs.turn(alone=True):
                self.assertIn("another test", quiet(self.enter_alone)[1])

    @staticmethod
    def enter_alone():
        with runs.turn(alone=True):
            pass

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
    CASES = [  # what there is, what it is said to be; with and without slack
        ({"true": 1000}, None, None),
        ({"true": 100}, "too few", "too few"),
        ({"true": 990, "native root missing": 10}, "complete", None),
        ({"true": 800, "[truncated: x]": 200}, "complete", "complete"),
        ({"true": 800, "no such chain": 200}, "true stacks", "true stacks"),
        ({"true": 9999, "never runs: f": 1}, "never ran", "never ran"),
        ({"true": 9999, "no such function: f": 1}, "never ran", "never ran"),
        ({"true": 995, "f:3 does not call g": 5}, "not in the code", None),
        ({"true": 900, "f:3 does not call g": 100}, "not in the code", "not in the code"),
        ({"true": 991, "a start": 9}, None, None),
        ({"true": 970, "a start": 30}, "true stacks", None),
        ({"true": 900, "a start": 100}, "true stacks", "true stacks"),
    ]

    def test_bars(self):
        for counts, strict, slack in self.CASES:
            verdict = verdict_of(counts)
            for found, wanted in ((verdict.problems(99.5), strict), (verdict.slack_problems(99.5), slack)):
                with self.subTest(counts=counts, wanted=wanted):
                    text = "; ".join(found)
                    self.assertEqual(bool(text), bool(wanted), text)
                    self.assertIn(wanted or "", text)

    def test_gaps_have_a_bar_of_their_own(self):
        for gaps, bar, far in (1, "", ""), (4, "4 samples with a gap", ""), (20, "20 samples with a gap", "20 samples with a gap"):
            verdict = verdict_of({"true": 1000 - gaps, verdicts.GAP + "no C between a and b": gaps})
            self.assertIn(bar, "; ".join(verdict.problems(90)))
            self.assertEqual(bool(bar), bool(list(verdict.problems(90))))
            self.assertIn(far, "; ".join(verdict.slack_problems(90)))
            self.assertEqual(bool(far), bool(list(verdict.slack_problems(90))))

    def test_what_was_sampled_too_early_is_bounded_in_time(self):
        # 500 samples a second
        for late, cold, passes in (150, False, True), (300, False, False), (300, True, True), (600, True, False):
            samples = [stacks.Sample([stacks.Frame(reason, "")], n, {"tid": 1}, n * 2000000)
                       for reason, n in (("true", 1000), (verdicts.LATE, late))]
            verdict = verdicts.Verdict(Judge(), samples)
            with self.subTest(late=late, cold=cold):
                self.assertTrue(list(verdict.problems(99.5)))
                self.assertEqual(not list(verdict.slack_problems(99.5, cold=cold)), passes)

    def test_a_cold_run_may_have_more_calls_that_are_not_in_the_code(self):
        for calls, cold, passes in (8, False, True), (20, False, False), (20, True, True), (40, True, False):
            verdict = verdict_of({"true": 1000, "f:3 does not call g": calls})
            with self.subTest(calls=calls, cold=cold):
                self.assertEqual(not list(verdict.slack_problems(90, cold=cold)), passes)

    def test_what_a_start_lacks_is_early_too(self):
        class Starting(Judge):
            EARLY = {"1": ["unknown: f"]}
        for thread, passes in (1, True), (2, False):
            samples = [stacks.Sample([stacks.Frame(reason, "")], n, {"tid": thread}, n * 2000000)
                       for reason, n in (("true", 1000), ("unknown: f", 150))]
            with self.subTest(thread=thread):
                self.assertEqual(not list(verdicts.Verdict(Starting(), samples).slack_problems(99.5)), passes)

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

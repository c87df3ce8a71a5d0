#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison of shares must say no where it should, and only there."""
import collections
import random
import sys
import unittest

sys.dont_write_bytecode = True  # this is a source tree
import shares  # noqa: E402

WEIGHTS = {"a": 50, "b": 25, "c": 15, "d": 8, "e": 2}
MOVED = {"a": 45, "b": 30, "c": 15, "d": 8, "e": 2}


def draw(source, weights, n):
    return collections.Counter(source.choices(list(weights), list(weights.values()), k=n))


class Shares(unittest.TestCase):
    def test_margin(self):
        # p = 1/2: 300 * sqrt(1/4 * 2/1000); p = 1/100: 300 * sqrt(0.0099 * (1/100 + 1/1900))
        self.assertAlmostEqual(shares.margin(500, 1000, 500, 1000), 6.708, places=3)
        self.assertAlmostEqual(shares.margin(5, 100, 15, 1900), 3.0625, places=4)
        self.assertEqual(shares.margin(500000, 10**6, 500000, 10**6), shares.LEAST)
        self.assertEqual(shares.margin(0, 10, 0, 10), shares.LEAST)

    def test_the_margin_decides(self):
        for a, wrong in [(500, False), (566, False), (568, True), (434, False), (432, True)]:
            found = list(shares.problems({"x": a, "y": 1000 - a}, {"x": 500, "y": 500}))
            self.assertEqual(bool(found), wrong, found)

    def test_many_samples_may_be_one_point_apart(self):
        for a, wrong in [(509000, False), (511000, True)]:
            found = list(shares.problems({"x": a, "y": 10**6 - a}, {"x": 5 * 10**6, "y": 5 * 10**6}))
            self.assertEqual(bool(found), wrong, found)

    def test_chance_is_no_problem(self):
        source = random.Random(1)
        wrong = sum(bool(list(shares.problems(draw(source, WEIGHTS, 2000), draw(source, WEIGHTS, 1000))))
                    for _ in range(300))
        self.assertLess(wrong, 300 * 0.03)   # five functions of 0.27 % each, and room

    def test_what_has_moved_is_seen(self):
        source = random.Random(1)
        for _ in range(50):
            found = list(shares.problems(draw(source, WEIGHTS, 20000), draw(source, MOVED, 20000)))
            self.assertEqual([text[:2] for text in found], ["a:", "b:"], found)

    def test_a_function_that_one_lacks(self):
        for one, other in [({"x": 90, "y": 10}, {"x": 100}), ({"x": 100}, {"x": 90, "y": 10})]:
            self.assertEqual(len(list(shares.problems(one, other))), 2)
        self.assertEqual(list(shares.problems({"x": 995, "y": 5}, {"x": 1000})), [])

    def test_no_samples_are_a_problem(self):
        for one, other in [({}, {"x": 1}), ({"x": 1}, {}), ({"x": 0}, {"x": 1})]:
            self.assertEqual(len(list(shares.problems(one, other))), 1)


if __name__ == "__main__":
    unittest.main()

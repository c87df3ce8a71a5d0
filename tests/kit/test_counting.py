#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bar is missed when chance does not explain the count, and only then."""
import fractions
import math
import random
import sys
import unittest

sys.dont_write_bytecode = True  # this is a source tree
import counting  # noqa: E402


def tail(n, rate, first):
    """P(X >= first), exactly."""
    return sum(math.comb(n, k) * rate ** k * (1 - rate) ** (n - k) for k in range(first, n + 1))


class Counting(unittest.TestCase):
    def test_allowed_is_the_last_count_that_chance_explains(self):
        chance = fractions.Fraction(1, 10 ** 5)
        for n in (1, 2, 3, 10, 100, 433):
            for tenths in (5, 10, 20, 50, 300, 500, 999):
                count = counting.allowed(n, 100 - tenths / 10)
                rate = fractions.Fraction(tenths, 1000)
                self.assertGreaterEqual(tail(n, rate, count), chance, (n, tenths))
                self.assertTrue(count == n or tail(n, rate, count + 1) < chance, (n, tenths))

    def test_allowed_of_many(self):
        # Nearly the normal distribution: 4.265 deviations of sqrt(n p (1 - p))
        self.assertAlmostEqual(counting.allowed(10 ** 6, 99.5), 5000 + 4.265 * 70.53, delta=5)
        self.assertAlmostEqual(counting.allowed(10 ** 6, 50), 500000 + 4.265 * 500, delta=2)

    def test_missed(self):
        table = [(0, 0, 99, False), (0, 100, 100, False), (1, 100, 100, True), (100, 100, 0, False),
                 (1, 1, 99, False), (2, 2, 99, False), (3, 3, 99, True), (6, 1000, 99.5, False),
                 (17, 1000, 99.5, False), (18, 1000, 99.5, True), (300, 10000, 98, True)]
        for wrong, n, bar, missed in table:
            self.assertEqual(counting.is_missed(wrong, n, bar), missed, (wrong, n, bar))

    def test_not_a_bar(self):
        for n, bar in [(-1, 99), (1, -1), (1, 100.5)]:
            self.assertRaises(ValueError, counting.allowed, n, bar)

    def test_amount_is_what_poisson_explains(self):
        def poisson(mean, counts):
            return sum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in counts)
        for expected in (0.01, 0.5, 1, 7.5, 20, 500):
            fewest, most = counting.amount(expected)
            self.assertGreaterEqual(poisson(expected, range(fewest + 1)), counting.CHANCE, expected)
            self.assertTrue(not fewest or poisson(expected, range(fewest)) < counting.CHANCE)
            above = range(most + 1, most + 200)
            self.assertGreaterEqual(poisson(expected, range(most, most + 200)), counting.CHANCE)
            self.assertLess(poisson(expected, above), counting.CHANCE, expected)

    def test_amount_of_pieces(self):
        # 2.4 * sqrt(pieces): of one piece, two samples
        self.assertEqual(counting.amount(1000.5, 1), (999, 1002))
        self.assertEqual(counting.amount(1000, 100), (977, 1023))
        self.assertEqual(counting.amount(1000, 10 ** 6), counting.amount(1000))
        self.assertEqual(counting.amount(0), (0, 0))

    def test_few_and_many(self):
        table = [(0, 5, None, False, False), (0, 20, None, True, False),
                 (960, 1000, 100, True, False), (960, 1000, None, False, False),
                 (1030, 1000, 100, False, True), (1300, 1000, None, False, True)]
        for seen, expected, pieces, few, many in table:
            label = (seen, expected, pieces)
            self.assertEqual(counting.is_few(seen, expected, pieces), few, label)
            self.assertEqual(counting.is_many(seen, expected, pieces), many, label)

    def test_regular_ticks_are_within_it(self):
        source = random.Random(1)
        for _ in range(200):
            pieces = source.randrange(1, 300)
            lengths = [source.expovariate(1) * source.choice((0.1, 1, 5)) for _ in range(pieces)]
            seen = sum(math.floor(length + source.random()) for length in lengths)
            self.assertFalse(counting.is_few(seen, sum(lengths), pieces))
            self.assertFalse(counting.is_many(seen, sum(lengths), pieces))


if __name__ == "__main__":
    unittest.main()

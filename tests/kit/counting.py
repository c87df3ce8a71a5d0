# SPDX-License-Identifier: Apache-2.0
"""What a count of samples allows to say.

A bar is a share of samples: "99.5 % are right". Of n samples some are wrong even where the bar
holds, and by chance more than its share. A bar is missed when chance explains the count less often
than once in 10^5: CHANCE. A suite of 1 000 bars is then red without a cause once in 100 runs. A bar
has no other slack: no number of samples that may always be wrong.

An amount is a number of samples that CPU time lets expect. What a ticking clock hits is chance too.
"""
import math

CHANCE = 1e-5


def upper_tail(first, log_term):
    """The sum of a distribution from `first` on, where its terms only become smaller from there."""
    total, at = 0.0, first
    while True:
        term = math.exp(log_term(at))
        total += term
        if term <= total * 1e-17:
            return total
        at += 1


def most_explained(low, high, log_term):
    """The largest count in [low, high] whose upper tail is CHANCE or more. low: the mean, or below."""
    while low < high:
        middle = (low + high + 1) // 2
        if upper_tail(middle, log_term) >= CHANCE:
            low = middle
        else:
            high = middle - 1
    return low


def allowed(n, bar_percent):
    """The largest count of wrong samples, of n, that the bar explains, by the binomial's upper tail."""
    if not 0 <= bar_percent <= 100 or n < 0:
        raise ValueError(f"a bar of {bar_percent} % of {n}")
    rate = (100 - bar_percent) / 100
    if rate in (0, 1):
        return round(n * rate)

    def log_term(count):
        if count > n:
            return -math.inf
        return (math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
                + count * math.log(rate) + (n - count) * math.log1p(-rate))
    return most_explained(int(n * rate), n, log_term)


def is_missed(wrong, n, bar_percent):
    """More are wrong than the bar explains."""
    return wrong > allowed(n, bar_percent)


def amount(expected, pieces=None):
    """
    (fewest, most) samples where CPU time lets expect so many, which need not be a whole number.

    A clock that ticks regularly hits a piece of CPU time that is k periods long floor(k) or ceil(k)
    times: what it is off by lies in an interval of length 1. pieces: into how many the CPU time was
    cut, where that is known: one, and one more with each context switch. Then Hoeffding's bound
    holds for their sum, exp(-2 t^2 / pieces). In any case it is not off by more than ticks at
    random, which are Poisson's. Both bounds are good: the narrower one is taken.
    """
    def log_term(count):
        return count * math.log(expected) - expected - math.lgamma(count + 1)

    def log_term_down(down):
        count = math.floor(expected) - down
        return log_term(count) if count >= 0 else -math.inf
    if expected <= 0:
        return 0, 0
    high = math.ceil(expected + 10 * math.sqrt(expected) + 20)
    fewest = math.floor(expected) - most_explained(0, math.floor(expected), log_term_down)
    most = most_explained(math.floor(expected), high, log_term)
    if pieces is not None:
        off = math.sqrt(max(pieces, 1) * math.log(1 / CHANCE) / 2)
        fewest, most = max(fewest, math.ceil(expected - off)), min(most, math.floor(expected + off))
    return fewest, most


def is_few(seen, expected, pieces=None):
    """CPU time is missing."""
    return seen < amount(expected, pieces)[0]


def is_many(seen, expected, pieces=None):
    """CPU time is counted twice."""
    return seen > amount(expected, pieces)[1]

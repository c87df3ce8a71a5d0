# SPDX-License-Identifier: Apache-2.0
"""Compares shares of two profiles, as far as their counts allow.

For a function with a of n samples in one and b of m in the other the shares are a/n and b/m. Were both
profiles of the same program, the difference would have the deviation sqrt(p (1 - p) (1/n + 1/m)) with
p = (a + b) / (n + m): the usual test of two proportions. A difference beyond SIGMAS of these is no chance.
With many samples that is next to nothing, and what the program itself did differently would be
reported: LEAST is allowed always.
"""
import math

SIGMAS = 3
LEAST = 1.0     # percentage points


def difference(a, n, b, m):
    """Percentage points by which the first share is above the second."""
    return 100.0 * (a / n - b / m)


def margin(a, n, b, m, least=LEAST):
    """Percentage points that the two shares may be apart."""
    pooled = (a + b) / (n + m)
    deviation = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return max(least, 100.0 * SIGMAS * deviation)


def over(a, n, b, m, least=LEAST):
    """Percentage points that they are further apart than that; below 0: they are not."""
    return abs(difference(a, n, b, m)) - margin(a, n, b, m, least)


def problems(first, second):
    """What is beyond the margin, as text. first, second: {function: count}, all that was counted."""
    n, m = sum(first.values()), sum(second.values())
    if not n or not m:
        yield "no samples to compare"
        return
    for name in sorted({*first, *second}):
        a, b = first.get(name, 0), second.get(name, 0)
        if over(a, n, b, m) > 0:
            yield (f"{name}: {100 * a / n:.2f} % of {n:.0f}, but {100 * b / m:.2f} % of {m:.0f}: apart by "
                   f"{abs(difference(a, n, b, m)):.2f} points, where {margin(a, n, b, m):.2f} are chance")

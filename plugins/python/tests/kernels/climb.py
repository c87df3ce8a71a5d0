# SPDX-License-Identifier: Apache-2.0
"""A stack of Python and C functions that is deeper than what BPF walks in one run.

    climb.py SECONDS [REST]

Prints which stack its time is spent in; the grammar is in tests/kit/stacks.py. Rests first, so long
as it may take to attach to it. Imports nothing but what is built in: a guest has little of the
standard library.
"""
import sys
import time

EVALUATIONS = 8     # of the interpreter, one in the other: C is between them
CALLS = 30          # Python functions in each
C = "Py*|_Py*|*+0x*+"
STARTING, ENDING = "... Py_InitializeFromConfig ...", "... Py_FinalizeEx ..."


def spin(n):
    for _ in range(n):
        pass
    return 0


def climb(calls):
    if calls % CALLS:
        return climb(calls - 1)
    if calls:
        return max((calls - 1, 0), key=climb_or_not)
    return spin(300000)


def climb_or_not(calls):
    return climb(calls) if calls else 0


def main():
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        climb(CALLS * EVALUATIONS - 1)


def stack():
    """The leaf may be C that a loop calls."""
    evaluation = f"climb{{{CALLS}}}"
    rest = f" climb_or_not {C} {evaluation}" * (EVALUATIONS - 1)
    return f"?{C} spin {evaluation}{rest} main <module> ..."


print(f"STACK {stack()}\nMAY {STARTING}\nMAY {ENDING}", flush=True)
time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
main()
print(f"CPU {time.process_time():.3f}")

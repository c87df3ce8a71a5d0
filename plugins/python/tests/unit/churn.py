# SPDX-License-Identifier: Apache-2.0
"""Makes and drops code objects for as long as its standard input is open: see test_churn.c.

The function f_N is on line N of N.py, so whoever names one can tell whether the parts fit. A table
says which ones are alive: address and N, or 0 and 0. Prints the interpreter and the table's address
and number of rows.
"""
import ctypes
import random
import select
import sys

FIRST = 10000
LAST = 99999
ROWS = 300


def make(n):
    module = compile("def f_%d():\n  return 1\n" % n, "%d.py" % n, "exec")
    code = module.co_consts[0]
    if hasattr(code, "replace"):
        return code.replace(co_firstlineno=n)
    source = "\n" * (n - 1) + "def f_%d():\n  return 1\n" % n
    return compile(source, "%d.py" % n, "exec").co_consts[0]


def data_address(name):
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))


def main():
    rng = random.Random(1)
    table = (ctypes.c_uint64 * (2 * ROWS))()
    kept = [None] * ROWS
    print("python", sys.version_info[0], sys.version_info[1],
          int(hasattr(sys, "gettotalrefcount")), int(hasattr(sys, "getobjects")),
          int("t" in getattr(sys, "abiflags", "")), data_address("PyCode_Type"),
          data_address("_PyRuntime") if sys.version_info >= (3, 13) else 0)
    print("table", ctypes.addressof(table), ROWS)
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(100):
            row = rng.randrange(ROWS)
            table[2 * row] = table[2 * row + 1] = 0
            kept[row] = None
            n = rng.randint(FIRST, LAST)
            kept[row] = make(n)
            table[2 * row + 1] = n
            table[2 * row] = id(kept[row])


main()

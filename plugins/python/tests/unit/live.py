# SPDX-License-Identifier: Apache-2.0
"""Says what CPython itself knows of its code objects, then makes and drops some: see test_live.c.

Prints "python PID", a line for each code object (address, first line, name and file in hex, then
offset:line for its instructions, as PyCode_Addr2Line says), and "table ADDRESS ROWS". A row says
what is alive of the code that comes and goes: address and N, or 0 and 0. There the function f_N is
on line N of N.py, so whoever names one can tell whether the parts fit. Runs on 3.6 and newer; ends
when its standard input does.
"""
import ctypes
import os
import random
import select
import sys
import types

FUNCTION_BYTES = 512
FILE_BYTES = 1024
ROWS = 300
EXHAUSTIVE = 4000  # instructions; longer code, and most of the library, is looked at here and there

kept = []  # code objects must not move or die


def text(value, size):
    """What a profiler may show of a str: UTF-8 of at most size - 1 bytes, in one line."""
    clean = "".join(
        "\ufffd" if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 else c
        for c in value
    )
    if len(clean.encode()) < size:
        return clean.encode()
    while len(clean.encode()) > size - 4:
        clean = clean[:-1]
    return clean.encode() + "\u2026".encode()


def offsets(code, whole):
    n = len(code.co_code)
    step = 2 if whole and n <= 2 * EXHAUSTIVE else max(n // 8 & ~1, 2) if n < 4000 else n // 64 & ~1
    return list(range(0, n, step)) + [n - 2, -1]


def tell(code, whole):
    addr2line = ctypes.pythonapi.PyCode_Addr2Line
    addr2line.argtypes = [ctypes.py_object, ctypes.c_int]
    name = getattr(code, "co_qualname", code.co_name)
    points = ("%d:%d" % (off, max(addr2line(code, off), 0)) for off in offsets(code, whole))
    print(
        "code",
        id(code),
        code.co_firstlineno,
        text(name, FUNCTION_BYTES).hex(),
        text(code.co_filename, FILE_BYTES).hex() or "-",
        ",".join(points),
    )


def add(code, seen):
    todo = [code]
    while todo:
        code = todo.pop()
        if id(code) in seen:
            continue
        seen.add(id(code))
        kept.append(code)
        todo.extend(c for c in code.co_consts if isinstance(c, types.CodeType))


SHAPES = '''
def outer(a, b=1, *args, c, **kw):
    def inner(x):
        return (x +
                a
                -
                b)
    class Local(object):
        """Its own
        lines."""
        attribute = [y
                     for y in range(3)
                     if y]
        def method(self):
            return lambda: (
                self,
                inner(1),
            )
        @staticmethod
        def generator(n):
            for i in range(n):
                try:
                    got = yield i
                except (ValueError,
                        TypeError) as e:
                    raise
                finally:
                    i = {k: v for k, v in zip("ab",
                                              "cd")}
            return {z for z in (1, 2)}
    async def coroutine():
        async with a as b2:
            await b2
        return (d for d in
                range(4))
    with open(a) as f, open(b) as g:
        while f:
            if (g and
                    f):
                continue
            break
        else:
            f = 1
    return Local, coroutine



''' + "\n" * 300 + '''
def far_away():
    return 1
def backwards(): return [far_away(
    1, 2,
    3) for _ in range(3)]
'''


def shapes():
    yield compile(SHAPES, "<shapes>", "exec")
    yield compile("\n" * 100000 + "def f():\n  a = 1\n" + "\n" * 70000 + "  return a", "far.py", "exec")
    yield compile("lambda: 1", "eval.py", "eval")
    big = "def big(x):\n" + "  x = x + 1; y = x\n\n" * 60000
    yield compile(big, "big.py", "exec")
    wide = "def wide(x):\n  return [" + ",\n    ".join(["x"] * 4000) + "]\n"
    yield compile(wide, "wide.py", "exec")


def names():
    long_path = "/" + "p/" * 800 + "ü.py"
    for name in ("plain", "caf\u00e9", "\u0438\u043c\u044f", "\U00020000\U00020001", "a" * 600, "\u00e9" * 400,
                 "\U00020000" * 200):
        for path in ("plain.py", "/\u00fc/caf\u00e9.py", "/\u0444\u0430\u0439\u043b.py", "/\U0001f40d.py",
                     "/not\udc80utf-8.py", "/tab\tand\nline.py", long_path):
            yield compile("def %s():\n  return 1\n" % name, path, "exec")


class NotCompact(str):
    pass


def replaced():
    """Characters elsewhere, as in a subclass of str; a file name without any."""
    code = compile("def f(): pass", "x.py", "exec")
    if hasattr(code, "replace"):
        for path in ("/sub/class.py", "/\u00fc.py", "/\u0444.py", "/\U0001f40d.py", "", "/" + "q" * 2000):
            yield code.replace(co_filename=NotCompact(path))
        yield code.replace(co_filename="")


def library():
    import argparse, asyncio, collections, difflib, doctest, json, inspect, logging, pickle, typing  # noqa

    for module in list(sys.modules.values()):
        for value in list(vars(module).values()):
            for thing in [value] + list(vars(value).values() if isinstance(value, type) else ()):
                code = getattr(thing, "__code__", None)
                if isinstance(code, types.CodeType):
                    yield code


def made(n):
    code = compile("def f_%d():\n  return 1\n" % n, "%d.py" % n, "exec").co_consts[0]
    if hasattr(code, "replace"):
        return code.replace(co_firstlineno=n)
    source = "\n" * (n - 1) + "def f_%d():\n  return 1\n" % n
    return compile(source, "%d.py" % n, "exec").co_consts[0]


def churn():
    rng = random.Random(1)
    table = (ctypes.c_uint64 * (2 * ROWS))()
    alive = [None] * ROWS
    print("table", ctypes.addressof(table), ROWS)
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(100):
            row = rng.randrange(ROWS)
            table[2 * row] = table[2 * row + 1] = 0
            alive[row] = None
            n = rng.randint(10000, 99999)
            alive[row] = made(n)
            table[2 * row + 1] = n
            table[2 * row] = id(alive[row])


def main():
    print("python", os.getpid())
    seen = set()
    for source in (shapes, names, replaced):
        for code in source():
            add(code, seen)
    add(main.__code__, seen)
    ours = len(kept)
    for code in library():
        add(code, seen)
    for i, code in enumerate(kept):
        tell(code, i < ours or i % 8 == 0 or "EBPF_PROFILER_TEST_FULL" in os.environ)
    churn()


main()

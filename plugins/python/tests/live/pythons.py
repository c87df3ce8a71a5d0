# SPDX-License-Identifier: Apache-2.0
"""Pythons and the runs of workload.py in them for the live tests."""
import dataclasses
import glob
import os
import shutil
import subprocess
import sys

import truth    # and with it where the kit is
import language
from language import skip

HERE = os.path.dirname(os.path.realpath(__file__))
WORKLOAD = os.path.join(HERE, "workload.py")
START = os.path.join(HERE, "..", "..", "..", "..", "tests", "live", "start.py")
OLDEST = (3, 6)
TRAMPOLINES = "PYTHONPERFSUPPORT", "1"  # 3.12: code without unwind rules before each evaluation
JIT_ORDER = 95.0  # code the JIT has just made is not known to BPF for up to 0.1 s
LANGUAGE = language.Language("python", "PYTHON", PYTHONDONTWRITEBYTECODE="1")
# A chain of functions that each call the next one from one of many places; all share one table.
GREEDY = """
import random, types
table = bytes([0x80 | 13 << 3, 2]) * (1 << 19)
functions = []
def end(rest):
    for i in range(2000): pass
for i in range(60):
    lines = ["def f%d(rest):" % i, "    at = random.randrange(100)"]
    lines += ["    if at == %d: return functions[rest](rest + 1)" % at for at in range(100)]
    scope = {"random": random, "functions": functions}
    exec(chr(10).join(lines), scope)
    code = scope["f%d" % i].__code__
    code = code.replace(co_linetable=code.co_linetable + table)
    functions.append(types.FunctionType(code, scope))
functions.append(end)
print("ready", flush=True)
while True:
    functions[0](1)
"""


@dataclasses.dataclass
class Case(language.Case):
    """words: scenarios."""
    cold: bool = True        # each is the first of its kind
    start: str = ""          # of tests/live/start.py
    text: bool = False       # python -c TEXT
    mode: str = "burn"       # or "fork"
    host: tuple = ()         # a program, and arguments, that runs this Python within itself

    @property
    def order_threshold(self):
        """Percent; 0 where native frames are known to be incomplete."""
        deeper_than_native = "deep" in self.words and self.runtime.numbers < truth.INLINED_CALLS
        if deeper_than_native or TRAMPOLINES in self.runtime.environment:
            return 0
        return JIT_ORDER if "jit" in self.runtime.flavors else self.threshold

    def argv(self, *arguments):
        with open(WORKLOAD, encoding="utf-8") as file:
            script = ["-c", file.read()] if self.text else [WORKLOAD]
        command = self.runtime.argv([*script, *arguments, *self.words], HERE, self.way)
        command = [*self.host, *command]
        return [sys.executable, START, self.start, *command] if self.start else command


def embed(found, directory):
    """(runtime, how to run it inside a program that loads libpython late)."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    program = os.path.join(directory, "embed")
    for runtime in found:
        library = glob.glob(os.path.dirname(runtime.program) + "/../lib/libpython3.*.so.1.0")
        if runtime.root or not library or runtime.numbers < (3, 8):
            continue
        if not compiler:
            skip("embedded", "no C compiler for a program that embeds Python")
            return
        if not os.path.exists(program):
            subprocess.run([compiler, os.path.join(HERE, "embed.c"), "-o", program, "-ldl"],
                           check=True)
        yield runtime, (program, os.path.realpath(library[0]))


def cases(found, directory):
    with_root = [r for r in found if r.root]
    alone = [r for r in found if not r.root and "static" in r.flavors]
    for way in ("container", "ldso"):
        yield from (Case(r, way, way=way) for r in with_root)
    for start in ("ldso", "deleted"):
        yield from (Case(r, start, start=start) for r in alone)
    for runtime, host in embed(found, directory):
        yield Case(runtime, "embedded", host=host)
    for runtime in found:
        yield Case(runtime)
        yield Case(runtime, "fork", mode="fork")
        yield Case(runtime, "attached", attach=True, seconds=language.ATTACHED_SECONDS)
        yield Case(runtime, "command", text=True, words=("recursion", "classes", "callbacks"))
        yield Case(runtime, "transient", words=("transient", "calls"))
        yield Case(runtime, "deep", words=("deep",))
        yield Case(runtime, "sub", words=("subinterpreter",))
    for runtime in [r for r in found if r.numbers >= (3, 12)]:
        environment = (*runtime.environment, TRAMPOLINES)
        yield Case(dataclasses.replace(runtime, environment=environment), "trampolines")

# SPDX-License-Identifier: Apache-2.0
"""How tests/replay/record starts the Nodes of the fixtures: npm's, of tests/runtimes/install.

Each is recorded in all kinds of code, a thread for each kind (programs/stand.js); Node 8 has one, which is in
one kind after the other. Some are recorded once more with flags that let V8 make code of one sort only.
"""
import functools
import os
import shutil
import subprocess
import time

import runtimes

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = HERE + "/programs/stand.js"
SHRINK = True       # V8's builtins are read whole, and much of its heap is looked through
KINDS = ["plain", "optimized", "callbacks", "deep", "resting", "wasm"]
SIMPLE = ["plain", "callbacks"]
THREADS = 12        # of this major number on
FLAVORS = {         # options, kinds
    "": ([], KINDS),
    "int": (["--no-opt"], SIMPLE),
    "baseline": (["--no-opt", "--always-sparkplug"], SIMPLE),
    "deoptimized": ([], ["deoptimized"]),
    "maglev": (["--maglev", "--no-turbofan"], ["optimized"]),
}
SPARKPLUG = 16
NAMES = ["node-8", "node-8-int", "node-12", "node-18", "node-18-baseline", "node-22", "node-22-maglev", "node-26",
         "node-26-int", "node-26-deoptimized"]
SECONDS = 300

# What must be in the .txt of a thread of each kind: where it stands, what is below that, and that it is whole.
LEAF = r"(?:native  .*  Builtins_.*\n)?(?:v8  imul .*\n)?v8  spin  .*\nv8  ever  .*\n"
ROOT = r"native  libc\S*  .*\n(?:native  .*\n)?(?:\n|\Z)"
CALLBACKS = [r"v8  each  .*\n", r".*[rR]eplace.*\n", r"native  .*[Jj]son.*\n", r"v8  callbacks  .*\n"]
PLAIN = [r"(?:v8  inner  .*\n){4}v8  steps  .*\n", r"v8  get (?:Shape\.)?area  .*\n", r"v8  plain  .*\n"]
OPTIMIZED = [r"v8  low  .*\nv8  middle  .*\nv8  outer  .*\nv8  optimized  .*\n"]
WASM = [r"v8  called  .*\n", r"v8  wasm wasm_outer  .*\n", r"v8  wasm  .*\n"]
UNTIL = {   # how it begins, what is behind
    "plain": (LEAF, PLAIN),
    "optimized": (LEAF, OPTIMIZED),
    "deoptimized": (LEAF, [r"v8  seldom  .*\nv8  above  .*\nv8  deoptimized  .*\n"]),
    "callbacks": (LEAF, CALLBACKS),
    "deep": (LEAF, [r"v8  descend  .*\nv8  deep  .*\n"]),
    "resting": (r"native  .*\n", [r"v8  rest  .*\n", *CALLBACKS, *PLAIN]),
    "wasm": (r"v8  wasm burn  .*\n", WASM),
    "mixed": ("", [*CALLBACKS, *PLAIN]),
}


def patterns(kind):
    """One for each: many in one would be tried in all ways."""
    begin, behind = UNTIL[kind]
    thread = rf"thread \d+ {kind}\n"
    return [thread + begin] + [rf"{thread}(?:.+\n)*?{pattern}" for pattern in [*behind, ROOT]]


@functools.cache
def all_runtimes():
    return [r for r in runtimes.find("v8") if r.source.startswith("npm-")]


def split(name):
    version, _, flavor = name.removeprefix("node-").partition("-")
    return int(version), flavor


def kinds_of(name):
    version, flavor = split(name)
    if version < THREADS:
        return ["callbacks" if flavor else "mixed"]
    return FLAVORS[flavor][1]


def options_of(name):
    version, flavor = split(name)
    more = ["--no-sparkplug"] if flavor == "int" and version >= SPARKPLUG else []
    return [*FLAVORS[flavor][0], *more]


def command_of(runtime, name, work):
    """With the same paths on every machine: /opt, in a mount namespace of its own."""
    inside = f"/opt/node-{split(name)[0]}"
    words = [*options_of(name), work + "/stand.js", str(SECONDS), *kinds_of(name)]
    return ["unshare", "-m", "sh", "-c",
            f"mount -t tmpfs tmpfs /opt && mkdir {inside} && mount --bind {os.path.dirname(runtime.program)} {inside} && "
            f"exec env -i {inside}/node {' '.join(words)}"]


def start(name, work):
    wanted = [r for r in all_runtimes() if r.numbers[0] == split(name)[0]]
    if not wanted:
        return None, f"no Node {split(name)[0]} of npm"
    shutil.copy(SOURCE, work)
    run = subprocess.Popen(command_of(wanted[0], name, work), env={"PATH": os.environ["PATH"]},
                           stdout=subprocess.PIPE, text=True)
    if run.stdout.readline() != "ready\n":
        run.wait()
        return None, f"it did not start: {run.stdout.read()}"
    time.sleep(4)   # warm code is compiled behind it
    return run, [pattern for kind in kinds_of(name) for pattern in patterns(kind)]


def threads(name):
    """Those that are recorded, by their names."""
    return kinds_of(name)

# SPDX-License-Identifier: Apache-2.0
"""Nodes and what they run for the live tests: found, built, profiled."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
TESTS = os.path.realpath(os.path.join(HERE, "..", "..", "..", "..", "tests"))
sys.path[:0] = [HERE, os.path.join(TESTS, "live"), os.path.join(TESTS, "runtimes")]
import calls  # noqa: E402
import runs  # noqa: E402
import runtimes  # noqa: E402
import stacks  # noqa: E402

QUICK = (8, 12, 16, 18, 20, 22, 24, 26)  # major numbers of a quick run
THREADS = 12                             # of this major number on, workers need no flag
STATIC_BLOCKS = 16, 11                   # newer.js: what it needs last is of this release
ADDON_FLAGS = ["-O2", "-shared", "-fPIC", "-nostdlib", "-fomit-frame-pointer", "-fno-sanitize=all"]
LOADED = "v8: unwinder loaded"


def environment():
    return runs.environment("NODE_")


def run(command, timeout=120):
    return runs.run(command, timeout, environment())


# --- runtimes -------------------------------------------------------------------------------------

def major(runtime):
    return runtime.numbers[0]


def find(complain=None):
    return sorted(runtimes.find("v8", complain=complain), key=lambda r: (r.numbers, r.source))


def one_of_each(found):
    """For a quick run: one of each of these majors, Debian's where there is one."""
    chosen = {}
    for runtime in sorted(found, key=lambda r: (major(r), r.flavors[-1] != "libnode", r.source == "host")):
        if major(runtime) in QUICK:
            chosen.setdefault(major(runtime), runtime)
    return list(chosen.values())


# --- programs -------------------------------------------------------------------------------------

def build(directory):
    """The burner's files into the directory, which a root file system sees; the addon's path, "" without one."""
    for name in os.listdir(calls.PROGRAMS):
        if name.endswith(".js"):
            shutil.copy(os.path.join(calls.PROGRAMS, name), directory)
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not compiler:
        return ""
    addon = os.path.join(directory, calls.ADDON)
    subprocess.run([compiler, *ADDON_FLAGS, os.path.join(calls.PROGRAMS, "addon.c"), "-o", addon], check=True)
    return addon


def may_lack(runtime, addon):
    """Scenarios that this one need not have."""
    lacking = {"workers"} if major(runtime) < THREADS else set()
    if runtime.numbers[:2] < STATIC_BLOCKS:
        lacking.add("newer")
    return lacking if addon else lacking | {"native"}


# --- profiling ------------------------------------------------------------------------------------

def record(command, path, sleeper=(), frequency=499, timeout=120, after=None, seconds=0):
    """(profile, what the command and the profiler said); the arguments are those of runs.record."""
    done = runs.record(command, path, environment(), frequency, timeout, sleeper, LOADED, after, seconds)
    return stacks.read_profile(path, stacks.LineProfile), done

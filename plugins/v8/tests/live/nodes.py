# SPDX-License-Identifier: Apache-2.0
"""Nodes and what they run for the live tests: found, built, profiled."""
import os
import re
import shutil
import subprocess

import calls    # and with it where the kit is
import language

MAJORS = (8, 12, 16, 18, 20, 22, 24, 26)  # what each run that looks at one of each looks for
THREADS = 12                             # of this major number on, workers need no flag
STATIC_BLOCKS = 16, 11                   # newer.js: what it needs last is of this release
FLAGS = {   # of runs; label: options; what a Node does not take is a skip
    "jitless": ["--jitless"],
    "interpreted": ["--no-opt", "--no-sparkplug"],
    "no_opt": ["--no-opt"],
    "sparkplug": ["--always-sparkplug"],
    "maglev": ["--maglev", "--no-turbofan"],
    "native_stack": ["--interpreted-frames-native-stack"],
    "always_opt": ["--always-opt"],
    "always_turbofan": ["--always-turbofan"],
    "no_inlining": ["--no-turbo-inlining"],
    "no_short_calls": ["--no-short-builtin-calls"],
    "small_young": ["--max-semi-space-size=1"],
    "regexp_interpreted": ["--regexp-interpret-all"],
    "wasm_baseline": ["--liftoff", "--no-wasm-tier-up"],
    "wasm_optimized": ["--no-liftoff"],
    "large_pages": ["--use-largepages=on"],     # builtins are copied out of the file
}
# A frame of V8's code whose function could not be read: docs/v8.md.
NO_NAME = re.compile(r"\((function|code|builtin)\)")
EMBEDDED = 12                           # of this major number on, builtins are in the file, and have names
SLOW_SECONDS = 4
SLOW = ("jitless", "interpreted", "no_opt", "always_opt", "always_turbofan")
WITHOUT_WASM = ("jitless",)     # Node's documentation, "--jitless"; newer ones interpret it
ADDON_FLAGS = ["-O2", "-shared", "-fPIC", "-nostdlib", "-fomit-frame-pointer", "-fno-sanitize=all"]
LANGUAGE = language.Language("v8", "NODE_")
find, run, record = LANGUAGE.find, LANGUAGE.run, LANGUAGE.record


# --- runtimes -------------------------------------------------------------------------------------

def major(runtime):
    return runtime.numbers[0]


def one_of_each(found):
    """One of each of these majors, Debian's where there is one."""
    found = sorted(found, key=lambda r: (r.flavors[-1] != "libnode", r.source == "host"))
    return list(language.first_of_each(found, major, MAJORS).values())


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

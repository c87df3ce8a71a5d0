# SPDX-License-Identifier: Apache-2.0
"""PHPs and what they run for the live tests: found, asked, profiled."""
import dataclasses
import os
import subprocess

import backtraces  # and with it where the kit is
import language
import runs
from runs import Failed

BURNER = os.path.join(backtraces.PROGRAMS, "burner.php")
LANGUAGE = language.Language("php", "PHP")
find, run, record = LANGUAGE.find, LANGUAGE.run, LANGUAGE.record
PLAIN = "-n", "-d", "memory_limit=-1"
JIT = "-d", "opcache.jit_buffer_size=64M", "-d"
WAYS = {"": (), "function": (*JIT, "opcache.jit=function"), "tracing": (*JIT, "opcache.jit=tracing")}


def one_of_each(found):
    """Of each minor release the first, those that are for programs last."""
    chosen = {}
    for runtime in sorted(found, key=lambda r: (not r.root, r.source.endswith("programs"))):
        chosen.setdefault((runtime.numbers[:2], runtime.flavors), runtime)
    return sorted(chosen.values(), key=lambda r: (r.numbers, r.flavors))


def opcache(runtime, jit=""):
    """The options that switch it on: from 8.5 on it is inside."""
    library = () if runtime.numbers >= (8, 5) else ("-d", "zend_extension=opcache")
    return (*library, "-d", "opcache.enable_cli=1", "-d", "opcache.file_update_protection=0", *WAYS[jit])


def burner(runtime, seconds, *arguments, options=(), way=None):
    """The command line."""
    return runtime.argv([*PLAIN, *options, BURNER, str(seconds), *arguments], backtraces.PROGRAMS, way)


def ask(runtime, *arguments, options=(), command=None):
    """backtraces.Said: what the burner says of its stacks in this PHP."""
    done = run(command or burner(runtime, 0, "--observe", *arguments, options=options))
    known = backtraces.Said(done.stdout)
    if done.returncode or known.cpu is None or not known.stacks:
        raise Failed(f"the burner: exit status {done.returncode}: {done.stdout[-400:]} {done.stderr[-800:]}")
    return known


def sleeper(runtime):
    return runtime.argv([*PLAIN, "-r", "sleep(300);"], backtraces.PROGRAMS)


def samples_of(profile, forked=()):
    """Those of the process that has most, and of its children; not what was before PHP was executed."""
    own = runs.process_of(profile.samples, runs.is_starter)
    children = set(forked) - {own[0].labels.get("pid")} if own else set()
    return own + [s for s in profile.samples if s.labels.get("pid") in children]


# --- inside of a C program -------------------------------------------------------------------------

def library(runtime):
    """Path of its libphp inside its root, or nothing."""
    release = ".".join(map(str, runtime.numbers[:2]))
    for path in ("/usr/lib/libphp%s.so" % release, "/lib/libphp.so"):
        if runtime.root and os.path.exists(runtime.root + path):
            return path
    path = os.path.join(os.path.dirname(os.path.dirname(runtime.program)), "lib", "libphp.so")
    return path if not runtime.root and os.path.exists(path) else ""


def embedded(runtime, directory, seconds, *arguments, threads=0):
    """The command of a C program that PHP is in, once or in so many threads. In a root it is where that has tests."""
    program = os.path.join(runtime.root and "/tests" or directory, "embed_php")
    made = subprocess.run(["cc", "-O2", "-o", runtime.root + program, os.path.join(backtraces.PROGRAMS, "embed.c"), "-ldl",
                           "-lpthread"], capture_output=True, text=True, check=False)
    if made.returncode:
        raise Failed(made.stderr[-800:])
    inside = dataclasses.replace(runtime, program=program)
    return inside.argv([library(runtime), str(threads), BURNER, str(seconds), *arguments], backtraces.PROGRAMS)

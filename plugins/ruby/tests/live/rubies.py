# SPDX-License-Identifier: Apache-2.0
"""Rubies and what they run for the live tests: found, asked, profiled."""
import os
import subprocess

import locations  # and with it where the kit is
import language
import runs
from runs import Failed

BURNER = os.path.join(locations.PROGRAMS, "burner.rb")
LANGUAGE = language.Language("ruby", "RUBY", "GEM_")
find, run, record = LANGUAGE.find, LANGUAGE.run, LANGUAGE.record
PLAIN = "--disable=gems"


def one_of_each(found):
    """Of each minor release with and without YJIT the first, those that have a root first."""
    chosen = {}
    for runtime in sorted(found, key=lambda r: not r.root):
        chosen.setdefault((runtime.numbers[:2], "yjit" in runtime.flavors), runtime)
    return sorted(chosen.values(), key=lambda r: (r.numbers, r.flavors))


def burner(runtime, seconds, *arguments, options=(), way=None):
    """The command line."""
    return runtime.argv([PLAIN, *options, BURNER, str(seconds), *arguments], locations.PROGRAMS, way)


def ask(runtime, *arguments, options=()):
    """locations.Said: what the burner says of its stacks in this Ruby."""
    done = run(burner(runtime, 0, "--observe", *arguments, options=options))
    known = locations.Said(done.stdout, runtime.numbers)
    if done.returncode or known.cpu is None or not known.stacks:
        raise Failed(f"the burner: exit status {done.returncode}: {done.stderr[-800:]}")
    return known


def embedded(directory):
    """A C program that Ruby is in: one of the host's."""
    program = os.path.join(directory, "embed")
    made = subprocess.run(["cc", "-O2", "-o", program, os.path.join(locations.PROGRAMS, "embed.c"), "-ldl", "-lpthread"],
                          capture_output=True, text=True, check=False)
    if made.returncode:
        raise Failed(made.stderr[-800:])
    return program


def library(runtime):
    """Path of its libruby."""
    return run(runtime.argv([PLAIN, "-e", "puts File.read('/proc/self/maps')[/\\S*libruby\\S*/]"])).stdout.strip()


def sleeper(runtime):
    return runtime.argv([PLAIN, "-e", "sleep 300"], locations.PROGRAMS)


def samples_of(profile, forked=()):
    """Those of the process that has most, and of its children; not what was before Ruby was executed."""
    own = runs.process_of(profile.samples, runs.is_starter)
    children = set(forked) - {own[0].labels.get("pid")} if own else set()
    return own + [s for s in profile.samples if s.labels.get("pid") in children]

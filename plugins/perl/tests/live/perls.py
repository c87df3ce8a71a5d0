# SPDX-License-Identifier: Apache-2.0
"""Perls and what they run for the live tests: found, asked, profiled."""
import os

import callers  # and with it where the kit is
import language
import runs
from runs import Failed

BURNER = os.path.join(callers.PROGRAMS, "burner.pl")
LANGUAGE = language.Language("perl", "PERL")
find, run, record = LANGUAGE.find, LANGUAGE.run, LANGUAGE.record
DEBUGGED = ["-I" + callers.PROGRAMS, "-d:Burn"]


def minor(runtime):
    return runtime.numbers[1]


def one_of_each(found):
    """Of each minor release the static one and the one on libperl, no debug builds."""
    chosen = {}
    for runtime in sorted(found, key=lambda r: r.source == "perl-programs"):
        if "debug" not in runtime.flavors:
            chosen.setdefault((minor(runtime), runtime.flavors), runtime)
    return sorted(chosen.values(), key=lambda r: (r.numbers, r.flavors))


def burner(runtime, seconds, *arguments, options=(), way=None):
    """The command line."""
    return runtime.argv([*options, BURNER, str(seconds), *arguments], callers.PROGRAMS, way)


def ask(runtime, *arguments, options=()):
    """callers.Said: what the burner says of its stacks in this Perl."""
    done = run(burner(runtime, 0, "--observe", *arguments, options=options))
    known = callers.Said(done.stdout)
    if done.returncode or known.cpu is None:
        raise Failed(f"the burner: exit status {done.returncode}: {done.stderr[-800:]}")
    return known


def sleeper(runtime):
    return runtime.argv(["-e", "sleep 300"], callers.PROGRAMS)


def samples_of(profile, forked=()):
    """Those of the process that has most, and of its children; not what was before Perl was executed."""
    own = runs.process_of(profile.samples, runs.is_starter)
    children = set(forked) - {own[0].labels.get("pid")} if own else set()
    return own + [s for s in profile.samples if s.labels.get("pid") in children]

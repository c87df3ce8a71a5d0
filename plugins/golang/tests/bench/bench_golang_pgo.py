#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `go build -pgo` makes of a profile of ours, beside one of runtime/pprof that the same program wrote meanwhile:
call sites and functions that the compiler calls hot, in the program and in all packages that it uses.

Signals of Go's scheduler would hit its own profiler's samples, so they are off for both (asyncpreemptoff).

And of an ordinary program (programs/shares), as it is: two runs, each with both profilers. Many of its sites have few
samples, so two profiles of one profiler differ, too. How equal those of runtime/pprof are to each other is the measure.
"""
import os
import re
import sys
import tempfile

import goes
import measure
import runs

SECONDS, FREQ = 20, 499
PROGRAM = os.path.join(goes.PROGRAMS, "calls")
ORDINARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "shares")
HOT = re.compile(r"hot-(?:node|budget)[^\n]*")
OLDEST = 21     # 1.N: the first that takes -pgo by default


def hot(runtime, name, profile, directory):
    """What the compiler says of a build of directory/name with this profile."""
    command = ["env", "-C", os.path.join(directory, name), runtime.root + runtime.program, "build", f"-pgo={profile}",
               "-buildvcs=false", "-gcflags=all=-d=pgodebug=1", "-o", os.devnull, "."]
    done = runs.run(command, goes.BUILD_SECONDS, goes.environment(runtime, False))
    if done.returncode:
        raise runs.Failed(f"cannot be built with {profile}: {done.stderr[-1500:]}")
    return set(HOT.findall(done.stderr))


def hot_of_both(runtime, name, directory, command):
    """(ours, of runtime/pprof) of one run; command(program, where it writes its own profile)."""
    ours, theirs = (os.path.join(directory, which) for which in ("ours.pgo", "theirs.pgo"))
    measure.record(["-q", "-F", str(FREQ), "--keep-root", "--force", "-o", ours],
                   command(os.path.join(directory, name + ".exe"), theirs))
    return hot(runtime, name, ours, directory), hot(runtime, name, theirs, directory)


def equal(a, b):
    """Percent of all."""
    return 100.0 * len(a & b) / max(len(a | b), 1)


def build(runtime, source, directory):
    name = os.path.basename(source)
    goes.go_build(runtime, source, os.path.join(directory, name + ".exe"), directory, options=["-pgo=off"])
    return name


def made_for_it(runtime, directory, what):
    ours, theirs = hot_of_both(runtime, build(runtime, PROGRAM, directory), directory, lambda program, path: [
        "env", "GODEBUG=asyncpreemptoff=1", program, path, str(SECONDS)])
    measure.row(f"{what}, with runtime/pprof", len(theirs), "")
    measure.row(f"{what}, with ours", len(ours), "")
    measure.row(f"{what}: equal, of all", equal(ours, theirs), "%", ">= 95 %", 95, at_least=True)


def ordinary(runtime, directory, what):
    name = build(runtime, ORDINARY, directory)
    (ours, theirs), (ours_later, theirs_later) = (hot_of_both(
        runtime, name, directory, lambda program, path: [program, str(SECONDS), path]) for _ in range(2))
    what += f" of an ordinary program ({len(ours)} and {len(ours_later)} ours, {len(theirs)} and {len(theirs_later)} of runtime/pprof)"
    measure.row(f"{what}: two of runtime/pprof equal", equal(theirs, theirs_later), "%")
    measure.row("two of ours equal", equal(ours, ours_later), "%")
    measure.row("ours and runtime/pprof, of the same run, equal", (equal(ours, theirs) + equal(ours_later, theirs_later)) / 2, "%")


def main():
    measure.begin()
    found = [runtime for runtime in goes.LANGUAGE.find() if goes.minor(runtime) >= OLDEST]
    if not found:
        measure.skip_row("go build -pgo: what is called hot", f"no Go from 1.{OLDEST} on here")
        return
    runtime = max(found, key=goes.minor)
    what = f"go build -pgo, {runtime.version}: call sites and functions that the compiler calls hot"
    with tempfile.TemporaryDirectory() as directory:
        made_for_it(runtime, directory, what)
        ordinary(runtime, directory, what)


if __name__ == "__main__":
    sys.exit(main())

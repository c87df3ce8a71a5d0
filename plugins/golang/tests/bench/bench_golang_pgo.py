#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `go build -pgo` makes of a profile of ours, beside one of runtime/pprof that the same program wrote meanwhile:
call sites and functions that the compiler calls hot, in the program and in all packages that it uses.

Signals of Go's scheduler would hit its own profiler's samples, so they are off for both (asyncpreemptoff).
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
HOT = re.compile(r"hot-(?:node|budget)[^\n]*")
OLDEST = 21     # 1.N: the first that takes -pgo by default


def hot(runtime, profile, directory):
    """What the compiler says of a build with this profile."""
    command = ["env", "-C", os.path.join(directory, "calls"), runtime.root + runtime.program, "build", f"-pgo={profile}",
               "-buildvcs=false", "-gcflags=all=-d=pgodebug=1", "-o", os.devnull, "."]
    done = runs.run(command, goes.BUILD_SECONDS, goes.environment(runtime, False))
    if done.returncode:
        raise runs.Failed(f"cannot be built with {profile}: {done.stderr[-1500:]}")
    return set(HOT.findall(done.stderr))


def main():
    measure.begin()
    found = [runtime for runtime in goes.LANGUAGE.find() if goes.minor(runtime) >= OLDEST]
    if not found:
        measure.skip_row("go build -pgo: what is called hot", f"no Go from 1.{OLDEST} on here")
        return
    runtime = max(found, key=goes.minor)
    with tempfile.TemporaryDirectory() as directory:
        program, ours, theirs = (os.path.join(directory, name) for name in ("program", "ours.pgo", "theirs.pgo"))
        goes.go_build(runtime, PROGRAM, program, directory, options=["-pgo=off"])
        measure.record(["-q", "-F", str(FREQ), "--keep-root", "-o", ours],
                       ["env", "GODEBUG=asyncpreemptoff=1", program, theirs, str(SECONDS)])
        of_ours, of_theirs = hot(runtime, ours, directory), hot(runtime, theirs, directory)
    what = f"go build -pgo, {runtime.version}: call sites and functions that the compiler calls hot"
    both = of_ours & of_theirs
    measure.row(f"{what}, with runtime/pprof", len(of_theirs), "")
    measure.row(f"{what}, with ours", len(of_ours), "")
    measure.row(f"{what}: equal, of all", 100.0 * len(both) / max(len(of_ours | of_theirs), 1), "%", ">= 95 %", 95,
                at_least=True)


if __name__ == "__main__":
    sys.exit(main())

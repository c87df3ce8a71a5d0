#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps through builtins of each Node of npm's that this machine has (step.c).

    check_steps.py --step step_v8_builtins --plugins DIR [-n N] [--examples N]

Of a row per instruction one cannot say both of a loop's first turn and of the others, when the return address
moves in it (Generate_CallOrConstructVarargs); hence the bar."""
import glob
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # this is a source tree
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, *[".."] * 4, "tests/kit/step"))
import steps  # noqa: E402 and with it where the kit is
import outcomes  # noqa: E402
import runs  # noqa: E402

ROOTS = os.environ.get("EBPF_PROFILER_RUNTIMES", "/var/tmp/ebpf-profiler-runtimes")
PROGRAM = os.path.join(HERE, "..", "programs", "steps.js")
FIRST = 12      # of the major numbers: before it builtins are not in the file
WARM = 0.4      # seconds of CPU time
FLAGS = "", "--jitless", "--interpreted-frames-native-stack"


def cases():
    for path in sorted(glob.glob(glob.escape(ROOTS) + "/npm-node*/bin/node")):
        number = int(re.search(r"npm-node(\d+)", path).group(1))
        for flag in FLAGS if number >= FIRST else ():
            yield f"step_{number}_{re.sub('[^a-z]+', '_', flag).strip('_') or 'default'}", path, flag


def main():
    options = steps.parser(__doc__, percent=99, judged=5000).parse_args()

    def run(_, path, flag):
        with subprocess.Popen([path, flag or "--", PROGRAM]) as process:
            try:
                runs.wait_used(process, WARM)
                steps.check(options, process.pid, "-x", path)
            finally:
                process.kill()
    return outcomes.run_each(cases(), run)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single-steps Java's compiled code in each runtime, with a walk at every instruction (step.h).

    check_step.py --step step_hotspot --plugins DIR [--quick] [--only WORD] [-n N] [--flags="FLAG.."]
                  [--percent P]

Runs what tests/runtimes has installed; --quick: one of each release, with the
compilers as they are, and the oldest and the newest with each compiler alone and with none. A run fails below P percent of right callers (99.9).
Exit status 77 when there is no runtime, no javac, or no right to trace.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # this is a source tree
HERE = os.path.dirname(os.path.realpath(__file__))
TREE = os.path.join(HERE, *[".."] * 5)
sys.path[:0] = [os.path.dirname(HERE), os.path.join(TREE, "tests/kit/step")]
import javas  # noqa: E402 and with it where the kit is
import outcomes  # noqa: E402
import runs  # noqa: E402
import steps  # noqa: E402

ENTER = os.path.join(TREE, "tests/runtimes/enter.py")
ROOTS = os.environ.get("EBPF_PROFILER_RUNTIMES", "/var/tmp/ebpf-profiler-runtimes")
ALONE = ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation -XX:-Inline"]


def runtimes():
    """(name, root, java inside it)"""
    for home in sorted(glob.glob(f"{ROOTS}/*/usr/lib/jvm/java-*-openjdk-amd64")):
        if os.path.islink(home):    # java-1.25.0-openjdk-amd64, to the same
            continue
        for java in "bin/java", "jre/bin/java":
            if os.path.isfile(f"{home}/{java}"):
                root = home.split("/usr/lib/jvm/")[0]
                version = os.path.basename(home).split("-")[1]
                yield f"{version}-{os.path.basename(root)}", root, f"{home[len(root):]}/{java}"
                break


def quick(found):
    """The first runtime of each release, and the flags it is started with."""
    first = {}
    for runtime in found:
        first.setdefault(int(runtime[0].split("-")[0]), runtime)
    chosen = [first[release] for release in sorted(first)]
    for i, runtime in enumerate(chosen):
        yield runtime, [""] + (ALONE if i in (0, len(chosen) - 1) else [])


def cases(options):
    """(name of the run, root, java inside it, flags)"""
    chosen = quick(runtimes()) if options.quick else ((r, options.flags or [""]) for r in runtimes())
    for (name, root, java), all_flags in chosen:
        if options.only and name not in options.only and name.split("-")[0] not in options.only:
            continue
        for flags in all_flags:
            yield re.sub(r"\W+", "_", f"step_{name}_{flags}").strip("_"), root, java, flags.split()


def run_one(options, classes, root, java, flags):
    """Raises Skipped, Failed."""
    command = [sys.executable, ENTER, "chroot", root, classes, java, *flags, "-cp", classes,
               "Steps", str(options.warm)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline().split()
            if line[:1] == ["skip:"]:
                raise runs.Skipped(" ".join(line))
            if line[:1] != ["READY"]:
                raise runs.Failed("it did not start: " + " ".join(line))
            steps.check(options, process.pid, "-t", line[1], "-s", str(options.stretch),
                        *(["-i"] if "-Xint" in flags else []))
        finally:
            process.kill()


def main():
    parser = steps.parser(__doc__, percent=99.9, judged=20000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--flags", action="append", metavar="=FLAGS", default=[])
    parser.add_argument("--stretch", type=int, default=4000)
    parser.add_argument("--warm", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as classes:
        try:
            javas.compile_java([os.path.join(HERE, "Steps.java")], classes)
        except javas.Skipped as why:
            print(why)
            return runs.SKIP
        return outcomes.run_each(cases(options), lambda _, *case: run_one(options, classes, *case))


if __name__ == "__main__":
    sys.exit(main())

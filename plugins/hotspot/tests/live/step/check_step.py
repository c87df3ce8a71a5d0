#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single-steps Java's compiled code in each runtime, with a walk at every instruction (step.h).

    check_step.py --step step_hotspot --plugins DIR [--quick] [--only WORD] [-n N] [--flags="FLAG.."]
                  [--percent P]

Runs what tests/runtimes has installed; --quick: one of each release, with the
compilers as they are, and the oldest and the newest with each compiler alone and with none. A run fails below P percent of right callers (99.9).
Exit status 77 when there is no runtime, no javac, or no right to trace.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # this is a source tree
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
import javas  # noqa: E402

TREE = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[".."] * 5))
ENTER = os.path.join(TREE, "tests/runtimes/enter.py")
ROOTS = os.environ.get("EBPF_PROFILER_RUNTIMES", "/var/tmp/ebpf-profiler-runtimes")
SKIP = 77
ALONE = ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation -XX:-Inline"]


def runtimes():
    """(name, root, java inside it)"""
    for home in sorted(glob.glob(f"{ROOTS}/*/usr/lib/jvm/java-*-openjdk-amd64")):
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


def check(args, name, root, java, flags):
    command = [ENTER, "chroot", root, args.classes, java, *flags, "-cp", args.classes, "Steps",
               str(args.warm)]
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline().split()
            if line[:1] == ["skip:"]:
                print(*line)
                return SKIP
            if line[:1] != ["READY"]:
                print("it did not start:", *line)
                return 2
            step = [args.step, "-p", str(process.pid), "-t", line[1], "-P", args.plugins,
                    "-n", str(args.n), "-s", str(args.stretch), "-e", str(args.examples), "-m", str(args.percent)]
            if "-Xint" in flags:
                step.append("-i")
            return subprocess.run(step, check=False).returncode
        finally:
            process.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", required=True)
    parser.add_argument("--plugins", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--flags", action="append", metavar="=FLAGS", default=[])
    parser.add_argument("-n", type=int, default=20000)
    parser.add_argument("--stretch", type=int, default=4000)
    parser.add_argument("--examples", type=int, default=2)
    parser.add_argument("--percent", type=float, default=99.9)
    parser.add_argument("--warm", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as args.classes:
        try:
            javas.compile_java([os.path.join(os.path.dirname(os.path.realpath(__file__)), "Steps.java")],
                               args.classes)
        except javas.Skipped as why:
            print(why)
            return SKIP
        statuses = list(run_all(args))
    if all(status == SKIP for status in statuses):
        return SKIP
    return 1 if any(status not in (0, SKIP) for status in statuses) else 0


def run_all(args):
    chosen = quick(runtimes()) if args.quick else ((r, args.flags or [""]) for r in runtimes())
    for (name, root, java), all_flags in chosen:
        if args.only and name not in args.only and name.split("-")[0] not in args.only:
            continue
        for flags in all_flags:
            label = re.sub(r"\W+", "_", f"step_{name}_{flags}").strip("_")
            print(f"[ RUN      ] {label}", flush=True)
            status = check(args, name, root, java, flags.split())
            outcome = {0: "      OK", SKIP: " SKIPPED"}.get(status, "  FAILED")
            print(f"[ {outcome} ] {label}", flush=True)
            yield status


if __name__ == "__main__":
    sys.exit(main())

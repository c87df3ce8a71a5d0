#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test_live.c over a running JVM of each release that this machine has, in each mode:
live.py TEST. All JVMs with EBPF_PROFILER_TEST_FULL. Releases that are
nowhere are said to be skipped; without any, or without a javac, the test is (exit 77)."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import javas  # noqa: E402
import language  # noqa: E402

SKIP = 77
MILLISECONDS = "3000"  # of the compilers
DIAGNOSTIC = "-Xmx256m", "-XX:+UnlockDiagnosticVMOptions"
MODES = {"early": ["-Xint"], "dense": [*DIAGNOSTIC, "-XX:+DebugNonSafepoints"],
         "sparse": [*DIAGNOSTIC, "-XX:-DebugNonSafepoints"]}


def check(test, runtime, directory, mode):
    command = runtime.argv([*MODES[mode], "-cp", directory, "Units", MILLISECONDS], directory)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            if mode != "early" and not process.stdout.readline().startswith(b"ready"):
                print("it does not run")
                return False
            return not subprocess.run([test, str(process.pid), mode], timeout=120, check=False).returncode
        finally:
            process.kill()


def main():
    found = javas.find(language.skip_runtime)
    if not os.environ.get("EBPF_PROFILER_TEST_FULL"):
        found = javas.one_of_each(found)
    for release in sorted({*javas.RELEASES} - {*map(javas.major, found)}):
        print(f"SKIPPED: no JVM {release} on this machine")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hotspot-live-") as directory:
        os.chmod(directory, 0o755)
        try:
            javas.compile_java([os.path.join(HERE, "..", "bench", "programs", "Units.java")], directory)
        except javas.Skipped as why:
            print(why)
            return SKIP
        for runtime in found:
            for mode in MODES:
                print(runtime.name, mode, flush=True)
                if not check(sys.argv[1], runtime, directory, mode):
                    print("FAILED", flush=True)
                    failed += 1
    return 1 if failed else 0 if found else SKIP


if __name__ == "__main__":
    sys.exit(main())

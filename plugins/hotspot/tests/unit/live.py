#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test_live.c over a running JVM of each release that this machine has, with and without
DebugNonSafepoints: live.py TEST ROOT_OF_THE_TREE. One JVM of each release, all with EBPF_PROFILER_TEST_FULL. Those of other root file systems need root. Releases that are
nowhere are said to be skipped; without any, or without a javac, the test is (exit 77)."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

RELEASES = (8, 11, 17, 21, 25, 26, 27, 28)
ROOTS = os.environ.get("EBPF_PROFILER_RUNTIMES", "/var/tmp/ebpf-profiler-runtimes")
PLACES = ("/usr/lib/jvm/*/bin/java", "/usr/lib/jvm/*/jre/bin/java")
MILLISECONDS = "1200"  # of the compilers
FULL = bool(os.environ.get("EBPF_PROFILER_TEST_FULL"))


def release_of(path):
    found = re.search(r"/(?:java-(?:1\.)?|temurin-)(\d+)", path)
    return int(found.group(1)) if found else None


def find():
    """One java of each place and release: (release, root or None, path inside it)."""
    found = {}
    roots = [None] + (sorted(glob.glob(ROOTS + "/*/")) if os.geteuid() == 0 else [])
    for root in roots:
        for pattern in PLACES:
            for path in sorted(glob.glob((root or "").rstrip("/") + pattern)):
                inside = path[len(root) - 1 :] if root else path
                release = release_of(inside)
                if release in RELEASES:
                    found.setdefault((release, root if FULL else None), (root, inside))
    return sorted(((key[0],) + place for key, place in found.items()), key=str)


def compile_load(into):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Load.java")
    subprocess.run(["javac", "--release", "8", "-nowarn", "-g", "-d", into, source], check=True,
                   stderr=subprocess.DEVNULL)


def check(test, tree, classes, root, java, mode):
    flags = ["-XX:+UnlockDiagnosticVMOptions", "-XX:%sDebugNonSafepoints" % ("+" if mode == "dense" else "-")]
    command = [java, "-Xmx256m"] + flags + ["-cp", classes, "Load", MILLISECONDS]
    if root:
        enter = os.path.join(tree, "tests/runtimes/enter.py")
        command = [sys.executable, enter, "chroot", root.rstrip("/"), classes] + command
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        line = process.stdout.readline()
        if line.strip() != b"ready":
            print("FAILED: it does not run: %r" % line)
            return False
        done = subprocess.run([test, str(process.pid), mode], timeout=120)
        process.stdin.close()
    return done.returncode == 0


def main():
    test, tree = os.path.abspath(sys.argv[1]), sys.argv[2]
    found = find()
    for release in RELEASES:
        if release not in (one[0] for one in found):
            print("SKIPPED: no JVM %d on this machine" % release)
    if not found or not shutil.which("javac"):
        print("SKIPPED: no JVM, or no javac to compile Load.java")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hotspot-live-") as classes:
        os.chmod(classes, 0o755)
        compile_load(classes)
        for release, root, java in found:
            for mode in ("dense", "sparse"):
                print("%d %s%s %s" % (release, (root or "").rstrip("/"), java, mode), flush=True)
                if not check(test, tree, classes, root, java, mode):
                    print("FAILED", flush=True)
                    failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Unit tests of the whole profiler: where it is, a test's files, and a skip where it cannot profile.

EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one. The kit can be imported behind this.
"""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "kit"))

import refused_calls  # noqa: E402  of the kit

BINARY = os.environ["EBPF_PROFILER_BINARY"]
SKIP = 77


def run(*args, timeout=60, **more):
    result = subprocess.run([BINARY, *args], capture_output=True, text=True, errors="replace",
                            timeout=timeout, check=False, **more)
    check_calls(result.stderr)
    return result


def check_calls(log):
    """Of the profiler: all its system calls are on its list."""
    if refused_calls.said_in(log):
        raise AssertionError(f"system calls that are not on the list: {', '.join(refused_calls.said_in(log))}")


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="ebpf-profiler-test-")
        self.addCleanup(directory.cleanup)
        self.dir, self.out = directory.name, os.path.join(directory.name, "out.pb.gz")


def main():
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        sys.exit(SKIP)
    doctor = run("doctor")
    if doctor.returncode != 0:
        print("skip: this machine cannot profile: " + doctor.stdout.strip().splitlines()[-1])
        sys.exit(SKIP)
    unittest.main()

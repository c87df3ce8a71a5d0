#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The unit of the service: what systemd says of it, and that it asks for what the profiler is.

    service_unit.py UNIT

A system that boots with it: scripts/kernels --service.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIP = 77
EXPOSED = 60    # of 100, at most, as `systemd-analyze security` counts
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
# What hides something of other processes, or takes what names of the kernel need.
NEVER = ("ProtectProc", "ProcSubset", "PrivateTmp", "PrivateUsers", "PrivatePIDs", "PrivateNetwork", "ProtectKernelLogs",
         "ProtectKernelModules", "ProtectKernelTunables", "RootDirectory", "DynamicUser", "SystemCallFilter")
UNIT = sys.argv.pop() if len(sys.argv) > 1 and os.path.exists(sys.argv[-1]) else ""


def settings():
    with open(UNIT, encoding="utf-8") as file:
        return dict(line.strip().split("=", 1) for line in file if re.match(r"[A-Z]\w*=", line))


class Unit(unittest.TestCase):
    def test_nothing_hides_processes(self):
        self.assertEqual([name for name in NEVER if name in settings()], [])

    def test_it_starts_the_program_of_all_users(self):
        self.assertRegex(settings()["ExecStart"], "^/.*/bin/ebpf-profiler --config /")

    def test_capabilities_are_those_that_the_agent_keeps(self):
        with open(os.path.join(ROOT, "core", "cli", "parts", "privileges.c"), encoding="utf-8") as file:
            kept = set(re.findall(r"\bCAP_[A-Z_]+\b", file.read().split("uint64_t ep_privileges_kept")[1].split("\n}\n")[0]))
        # ... and the one by which it empties the bounding set
        self.assertEqual(set(settings()["CapabilityBoundingSet"].split()), kept | {"CAP_SETPCAP"})

    def analyze(self, *words):
        """With a program that is there, whatever is installed."""
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        with tempfile.TemporaryDirectory(prefix="ebpf-profiler-test-") as directory:
            path = os.path.join(directory, "ebpf-profiler.service")
            with open(UNIT, encoding="utf-8") as source, open(path, "w", encoding="utf-8") as file:
                file.write(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", source.read()))
            return subprocess.run(["systemd-analyze", *words, path], capture_output=True, text=True, timeout=50, check=False)

    def test_systemd_understands_it(self):
        result = self.analyze("verify", "--man=no")
        said = [line for line in result.stderr.splitlines() if "ebpf-profiler.service" in line]
        self.assertEqual(said, [], result.stderr)

    def test_it_is_exposed_little(self):
        """A profiler reads all processes: what it needs for that is most of the rest."""
        result = self.analyze("security", "--offline=true", f"--threshold={EXPOSED}", "--no-pager")
        if "unrecognized option" in result.stderr:
            self.skipTest("a systemd before 250")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    if not UNIT:
        print(__doc__)
        sys.exit(2)
    result = unittest.main(exit=False, verbosity=2).result
    if result.failures or result.errors:
        sys.exit(1)
    sys.exit(SKIP if result.skipped else 0)

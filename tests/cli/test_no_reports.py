#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profiler of a build with -Dreports=false: an agent and a recorder. Needs no privileges.

    test_no_reports.py [NAME...]    EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import os
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["EBPF_PROFILER_BINARY"]
REPORTS = "report", "convert", "diff", "top"


def run(*arguments):
    return subprocess.run([BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False,
                          text=True)


class NoReports(unittest.TestCase):
    def test_a_report_is_refused_in_one_sentence(self):
        for command in REPORTS:
            for arguments in ([], ["x.pb.gz"], ["--json", "-n", "3"]):
                result = run(command, *arguments)
                self.assertEqual((result.returncode, result.stdout), (1, ""), (command, arguments))
                self.assertRegex(result.stderr, f"^ebpf-profiler: this build has no reports: {command} is in .*\n$")

    def test_help_lists_what_there_is(self):
        text = run("--help").stdout
        for command in REPORTS:
            self.assertNotIn(f"ebpf-profiler {command} ", text)
            self.assertNotRegex(text, rf"(?m)^  {command} ")
        self.assertIn("ebpf-profiler record ", text)
        self.assertIn("usage: ebpf-profiler record ", run("record", "--help").stdout)

    def test_the_agent_reads_its_configuration_and_finds_its_exporters(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "profiler.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'[[exporter]]\ntype = "pprof"\ndirectory = "{directory}"\n')
            result = run("--config", path, "--check")
            self.assertEqual((result.returncode, result.stderr), (0, f"{path}: ok\n"))
            self.assertIn("pprof", run("--config", path, "--print-config").stdout)

    def test_nothing_of_reports_is_in_it(self):
        symbols = subprocess.run(["nm", BINARY], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        self.assertIn("ep_cmd_record", symbols)
        self.assertEqual([name for name in symbols if name.startswith(("ep_view_", "ep_input_", "ep_tally_", "ep_cmd_top"))], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])

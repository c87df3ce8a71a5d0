# SPDX-License-Identifier: Apache-2.0
"""Unwinders as strangers build them, from installed headers alone, and programs that they are for.

A test case names its unwinders and their sources; they are all the profiler has. EBPF_PROFILER_BUILD is
the build directory whose headers they are built with, EBPF_PROFILER_BINARY the profiler.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from whole import BINARY, SKIP, check_calls, main  # main: for the tests; and with it where the kit is
import stacks

LIVE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.join(LIVE, "..", "..")
BUILD = os.environ["EBPF_PROFILER_BUILD"]
SECONDS = "1"
# The headers, installed once for all that a test builds.
INSTALLED = tempfile.TemporaryDirectory(prefix="ebpf-profiler-test-")
os.environ["EBPF_PROFILER_INSTALLED"] = os.path.join(INSTALLED.name, "root")


class Lines(stacks.Profile):
    """samples: tuples of (function, source file, line, first line of the function)"""

    def __init__(self, data):
        super().__init__(data)
        strings = self.strings
        self.whole = {stacks.first(m, 1): (strings[stacks.first(m, 2)], strings[stacks.first(m, 4)],
                                           stacks.first(m, 5))
                      for m in map(stacks.message, self.raw[5])}
        self.where = {stacks.first(m, 1): self.lines_of(m) for m in map(stacks.message, self.raw[4])}

    def lines_of(self, location):
        for line in map(stacks.message, location[4]):
            name, source, start = self.whole[stacks.first(line, 1)]
            yield name, source, stacks.first(line, 2), start


def lines_in(path):
    with open(path, "rb") as file:
        return {line for lines in Lines(stacks.gzip.decompress(file.read())).where.values()
                for line in lines}


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, errors="replace", check=False,
                          timeout=120, **more)


def compile_program(path, *sources_and_flags):
    result = run("cc", "-O2", "-fomit-frame-pointer", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-I" + ROOT,
                 "-o", path, *sources_and_flags)
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    return path


class Case(unittest.TestCase):
    unwinders = {}  # name: directory of its sources

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="ebpf-profiler-test-")
        cls.plugins = os.path.join(cls.dir, "plugins")
        os.mkdir(cls.plugins, 0o755)
        built = run(os.path.join(ROOT, "tests", "abi", "build_unwinder"), BUILD, cls.plugins,
                    *(f"{name}={source}" for name, source in cls.unwinders.items()))
        if built.returncode == SKIP:
            raise unittest.SkipTest(built.stdout)
        if built.returncode != 0:
            raise RuntimeError(built.stdout + built.stderr)
        together = os.path.join(BUILD, "plugins", "together")
        shutil.copy(os.path.join(together, "pprof.so"), cls.plugins)
        cls.environment = dict(os.environ, EBPF_PROFILER_PLUGINS_DIR=cls.plugins)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def setUp(self):
        self.out = os.path.join(self.dir, "out.pb.gz")

    def check(self, program, *arguments, threshold="99", seconds=SECONDS, frequency="833", aside="1.5"):
        """Every stack is one of those that the program says it has; some are native, in part or
        all, as they are from before the plugin was attached."""
        result = run(sys.executable, os.path.join(LIVE, "check_stacks.py"), "--plugins", self.plugins,
                     "--seconds", seconds, "--frequency", frequency, "--threshold", threshold, "--cold", "--aside", aside,
                     "--keep", self.out, program, "{seconds}", *arguments)
        if result.returncode == SKIP:
            self.skipTest(result.stdout)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def record(self, *command):
        result = run(BINARY, "record", "-v", "--force", "-F", "499", "-o", self.out, "--", *command,
                     env=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        check_calls(result.stderr)
        return result.stderr

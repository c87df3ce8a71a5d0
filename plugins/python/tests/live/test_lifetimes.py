#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python in processes and libraries that come and go: short-lived children and commands, a second
runtime in a process, libraries that are closed and others that take their place."""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "..", "tests", "kit"))
import stacks  # noqa: E402

BINARY = os.environ["EBPF_PROFILER_BINARY"]
UNKNOWN = "[python: unknown function]"
SECONDS = 5

CHILDREN = f"""
import os, time
def work(end):
    x = 0
    while time.time() < end:
        for i in range(200): x += i
def child():
    work(time.time() + 0.015)
end = time.time() + {SECONDS}
while time.time() < end:
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(0)
    os.waitpid(pid, 0)
"""

SHORT = """
import time
def burn():
    end = time.process_time() + 0.05
    while time.process_time() < end: pass
burn()
"""

SECOND_RUNTIME = f"""
import ctypes, sys, time
ctypes.CDLL(sys.argv[1])
def inner():
    x = 0
    for i in range(100000): x += i
def outer(end):
    while time.time() < end: inner()
outer(time.time() + {SECONDS})
"""


# All code that a command has run, or could: of its modules, frozen ones too, and of functions that exist. 3.11 and newer.
KNOWN = """
import gc, sys, types, _imp
known = {("<module>", "<string>")}
def add(code):
    known.add((code.co_qualname, code.co_filename))
    for const in code.co_consts:
        if isinstance(const, types.CodeType): add(const)
for name in "_frozen_importlib", "_frozen_importlib_external", "zipimport":
    add(_imp.get_frozen_object(name))
for name, module in list(sys.modules.items()):
    try:
        code = module.__spec__.loader.get_code(module.__spec__.name)
    except (AttributeError, ImportError, TypeError):
        continue
    if code: add(code)
for thing in gc.get_objects():
    if isinstance(thing, types.FunctionType): add(thing.__code__)
for name, file in known: print(name, file, sep="\\t")
"""

IMPORTS = "import json,re,subprocess"


def libraries():
    """(path, home) of libpythons on this machine, no version twice."""
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    found = {}
    for pattern in (pyenv + "/versions/*/lib", "/usr/lib/*-linux-gnu"):
        for path in sorted(glob.glob(pattern + "/libpython3.*.so.1.0")):
            version = int(re.search(r"libpython3\.(\d+)", path)[1])
            if 7 <= version <= 12:  # Py_SetPythonHome will go one day
                home = "/usr" if path.startswith("/usr/") else os.path.dirname(os.path.dirname(path))
                found.setdefault(version, (path, home))
    return list(found.values())


class Lifetimes(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def record(self, *command, rate=199):
        """Samples as (count, names of frames)."""
        out = os.path.join(self.directory, "out.pb.gz")
        result = subprocess.run([BINARY, "record", "-q", "--force", "-F", str(rate), "-o", out, "--",
                                 *command], capture_output=True, text=True, check=False)
        if result.returncode in (3, 4):
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [(s.count, [f.name for f in s.frames]) for s in stacks.read_profile(out).samples]

    def check(self, samples, good, least):
        of = sum(count for count, _ in samples)
        share = sum(count for count, names in samples if good(names)) / max(of, 1)
        self.assertGreater(of, 100)
        self.assertGreaterEqual(share, least)

    def test_children_that_live_for_milliseconds(self):
        samples = self.record(sys.executable, "-c", CHILDREN)
        samples = [(count, names) for count, names in samples if "work" in names or UNKNOWN in names]
        self.check(samples, lambda names: UNKNOWN not in names, 0.97)

    def test_a_command_that_lives_for_milliseconds(self):
        """Its language is loaded before it starts; the rest of its time it takes to start itself.

        The profiler has milliseconds for it, and the machine may be busy: the better half counts.
        """
        def is_good(names):
            return "burn" in names and UNKNOWN not in names

        def share(run):
            good = sum(count for count, names in run if is_good(names))
            return good / max(1, sum(count for count, _ in run))

        runs = [self.record(sys.executable, "-S", "-c", SHORT, rate=999) for _ in range(10)]
        runs.sort(key=share, reverse=True)
        print(*(f"{share(run):.2f}" for run in runs), file=sys.stderr)
        self.check(sum(runs[:5], []), is_good, 0.55)

    def test_a_command_alone(self):
        """It waits for the profiler before it executes Python: what is young is the program, not the process."""
        samples = self.record(sys.executable, "-c", IMPORTS + ",subprocess,asyncio", rate=1999)
        self.check(samples, lambda names: UNKNOWN not in names, 0.97)

    def test_commands_that_are_gone_when_their_names_are_read(self):
        """What names are made of comes with their samples: no name is missing, and none is another's."""
        if sys.version_info < (3, 11):
            self.skipTest("code has no qualified names")
        for text in "1", IMPORTS:
            asked = subprocess.run([sys.executable, "-c", text + KNOWN], capture_output=True, text=True, check=True)
            known = {tuple(line.split("\t")) for line in asked.stdout.splitlines()}
            command = shlex.join([sys.executable, "-c", text])
            # The keeper is there when the first one is long over: bench_python_commands has those as well.
            loop = f"{command}; sleep 1; i=0; while [ $i -lt 40 ]; do {command}; i=$((i+1)); done"
            self.record("sh", "-c", loop, rate=499)
            profile = stacks.read_profile(os.path.join(self.directory, "out.pb.gz"), stacks.LineProfile)
            frames = [(s.count, [(f.name, f.source) for f in s.frames]) for s in profile.samples]
            # Not what is thrown away: of strings, and what finds the library.
            ours = {word for _, words in frames for word in words
                    if word[1].endswith(".py") or word[1].startswith("<frozen importlib")}
            self.assertEqual(ours - known, set())
            self.check([(count, [name for name, _ in words]) for count, words in frames
                        if (UNKNOWN, "") in words or known & set(words)], lambda names: UNKNOWN not in names, 0.95)

    def test_second_runtime_that_is_not_used(self):
        if not libraries():
            self.skipTest("no libpython")
        samples = self.record(sys.executable, "-c", SECOND_RUNTIME, libraries()[-1][0])
        samples = [(count, names) for count, names in samples
                   if "outer" in names or UNKNOWN in names or "_PyEval_EvalFrameDefault" in names]
        self.check(samples, lambda names: names.count("outer") == 1 and UNKNOWN not in names, 0.9)

    def test_libraries_that_are_closed(self):
        if len(libraries()) < 2:
            self.skipTest("no two versions of libpython")
        program = os.path.join(self.directory, "reopen")
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", program,
                        os.path.join(HERE, "reopen.c"), "-ldl"], check=True)
        arguments = [word for library in libraries()[:2] for word in library]
        samples = self.record(program, str(SECONDS), *arguments)
        samples = [(count, names) for count, names in samples
                   if any(name.startswith("PyRun_SimpleString") for name in names)]
        self.check(samples, lambda names: "outer" in names and UNKNOWN not in names, 0.9)


if __name__ == "__main__":
    unittest.main()

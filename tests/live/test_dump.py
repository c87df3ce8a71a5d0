# SPDX-License-Identifier: Apache-2.0
"""dump: the stacks of all threads of a process, once, beside what the program says of itself."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "kit"))
import stacks  # noqa: E402

BINARY = os.environ["EBPF_PROFILER_BINARY"]
PROGRAMS = sys.argv.pop(1)
TIMES = 20
HEAD = re.compile(r"^thread (\d+) (.*)$")


def dump(*args):
    return subprocess.run([BINARY, "dump", *args], capture_output=True, text=True, errors="replace",
                          timeout=60, check=False)


def frame_of(line):
    """As `ep_replay_print` writes them: kind, file, name for native code; why for an error."""
    words = line.split("  ")
    if words[0] in ("native", "native~"):
        return stacks.Frame(words[2], words[1])
    return stacks.Frame(f"[truncated: {line}]", "")


def threads_of(text):
    """{tid: frames}"""
    threads, frames = {}, None
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            frames = threads[int(head[1])] = []
        elif line:
            frames.append(frame_of(line))
    return threads


@unittest.skipIf(os.geteuid() != 0, "dump needs root")
class Dump(unittest.TestCase):
    def start(self, name, *args):
        path = os.path.join(PROGRAMS, name)
        process = subprocess.Popen([path, *args], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_stacks_are_those_that_the_program_says(self):
        ended = subprocess.run([os.path.join(PROGRAMS, "nested"), "0.01"], capture_output=True, text=True,
                               check=True)
        patterns = stacks.parse_truth(ended.stdout)
        self.assertTrue(patterns)
        process = self.start("nested", "1000")
        while "outer" not in dump("-p", str(process.pid)).stdout:   # it has begun
            self.assertIsNone(process.poll())
        for _ in range(TIMES):
            result = dump("-p", str(process.pid))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stderr, r"^ebpf-profiler: 1 thread; the process stood still for [0-9.]+ ms\n$")
            threads = threads_of(result.stdout)
            self.assertEqual(list(threads), [process.pid])
            frames = threads[process.pid]
            self.assertTrue(stacks.is_complete(frames), result.stdout)
            self.assertTrue(any(p.matches(frames) or p.matches_aside(frames) for p in patterns), result.stdout)

    def test_all_threads_or_those_that_are_named(self):
        process = self.start("threads", "1000")
        tids = []
        while len(tids) < 4:   # its own, and three that it starts
            self.assertIsNone(process.poll())
            tids = sorted(map(int, os.listdir(f"/proc/{process.pid}/task")))
        threads = threads_of(dump("-p", str(process.pid)).stdout)
        self.assertEqual(sorted(threads), tids)
        result = dump("-q", "-p", str(process.pid), "-t", f"{tids[1]},{tids[2]}")
        self.assertEqual(result.stderr, "")
        self.assertEqual(sorted(threads_of(result.stdout)), tids[1:3])

    def test_the_process_goes_on(self):
        process = self.start("nested", "0.3")
        while process.poll() is None:
            dump("-p", str(process.pid))
        self.assertEqual(process.wait(), 0)

    def test_what_cannot_be_dumped(self):
        for args, status, sentence in (
                ((), 2, "dump takes one process, -p PID, or one core file, --core FILE"),
                (("-p", "1,2"), 2, "dump takes one process, -p PID, or one core file, --core FILE"),
                (("-p", "4194304"), 1, "there is no process 4194304"),
                (("-p", str(os.getpid()), "-t", "1"), 1, "has no thread of those that -t names"),
                (("--core", "/dev/null"), 1, "/dev/null")):
            result = dump(*args)
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertIn(sentence, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

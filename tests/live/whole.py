# SPDX-License-Identifier: Apache-2.0
"""Unit tests of the whole profiler: where it is, a test's files, and a skip where it cannot profile.

EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one. The kit can be imported behind this.
"""
import contextlib
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "kit"))

import counting  # noqa: E402  of the kit
import refused_calls  # noqa: E402
import runs  # noqa: E402
import stacks  # noqa: E402

BINARY = os.environ["EBPF_PROFILER_BINARY"]
SKIP = 77
BURN = "import time\nwhile time.process_time() < {0}: sum(range(1000))\n"


def burner(seconds):
    """A command that uses so much CPU time, however long that takes."""
    return [sys.executable, "-c", BURN.format(seconds)]


def wait_until(condition, seconds=120):
    """For an event that is sure to come: the time is for what hangs."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def has_events(profiler):
    """It has its perf events, a clock and a side band for each CPU, which need not run yet."""
    n = 0
    for path in glob.glob(f"/proc/{profiler.pid}/fd/*"):
        with contextlib.suppress(OSError):
            n += "perf_event" in os.readlink(path)
    return n >= 2 * len(os.sched_getaffinity(0))


def is_sampling(log):
    """The profiler that has -v, and writes into this file, has begun."""
    with open(log, encoding="utf-8", errors="replace") as file:
        return "sampling at" in file.read()


def wait_used(pid, seconds):
    """Until it has had so much more CPU time: samples of it are sure then."""
    before = runs.cpu_of(pid)
    return wait_until(lambda: runs.cpu_of(pid) >= before + seconds)


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
        self.messages = os.path.join(directory.name, "log")


    def check_share(self, what, samples, is_right, bar, fewest=50):
        """So many percent of these samples are right, and there are enough to tell."""
        count = sum(s.count for s in samples)
        right = sum(s.count for s in samples if is_right(s))
        print(f"{what}: {right} of {count} samples")
        self.assertGreater(count, fewest, what)
        self.assertFalse(counting.is_missed(count - right, count, bar), f"{what}: {right} of {count}, below {bar} %")

    def check_whole(self, what, samples, bar, fewest=50):
        self.check_share(what + " is whole", samples, lambda s: not any(map(stacks.is_error, s.frames)), bar, fewest)

    def start_recording(self, *words):
        """It samples, or has ended. What it says is in self.messages."""
        with open(self.messages, "wb") as log:
            profiler = self.start([BINARY, "record", "-v", *words, "-o", self.out], stderr=log)
        self.assertTrue(wait_until(lambda: profiler.poll() is not None or is_sampling(self.messages)))
        return profiler

    def end_recording(self, recording):
        """By Ctrl-C, with a profile."""
        recording.send_signal(signal.SIGINT)
        status = recording.wait(250)
        with open(self.messages, encoding="utf-8", errors="replace") as log:
            self.assertEqual(status, 0, log.read())

    def start(self, command, **options):
        """It is killed at the end of the test."""
        process = subprocess.Popen(command, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class Timed(unittest.TextTestResult):
    """Says how long each test took, for the log."""

    def startTest(self, test):
        self.begun = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        self.stream.writeln(f" {time.monotonic() - self.begun:.1f} s {test.id().removeprefix('__main__.')}")
        super().stopTest(test)


def main():
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        sys.exit(SKIP)
    doctor = run("doctor")
    if doctor.returncode != 0:
        print("skip: this machine cannot profile: " + doctor.stdout.strip().splitlines()[-1])
        sys.exit(SKIP)
    unittest.main(testRunner=unittest.TextTestRunner(resultclass=Timed))

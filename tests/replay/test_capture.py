#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The capture command from outside: what it refuses, and that its target runs on.

    EBPF_PROFILER_BINARY=... EBPF_PROFILER_BUILD=... REPLAY=... THREADS=... test_capture.py
"""
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.environ["EBPF_PROFILER_BINARY"]
REPLAY = os.environ["REPLAY"]
THREADS = os.environ["THREADS"]     # tests/live/programs/threads.c
TESTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE = 0x4206
COUNT = "n = 0\nwhile True:\n    n += 1\n"


def capture(*arguments):
    return subprocess.run([BINARY, "capture", *arguments], check=False, capture_output=True, text=True, timeout=60)


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[11])

# A plugin that says what it was loaded with: capture has given up its privileges by then.
SPY = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
__attribute__((constructor)) static void say(void)
{
	char bytes[1 << 14];
	FILE *in = fopen("/proc/self/status", "r"), *out = fopen(getenv("SPY_SAYS"), "w");
	fwrite(bytes, 1, fread(bytes, 1, sizeof(bytes), in), out);
	fclose(out);
	(void)personality(0xffffffff); /* what it is; not on the list */
}
"""
PTRACE, DAC_READ, DAC_OVERRIDE, ADMIN, RESTORE = 19, 2, 1, 21, 40  # linux/capability.h


class Capture(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = directory.name + "/x.fixture.zst"

    def start(self, *argv):
        run = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        time.sleep(0.3)
        return run.pid

    def assert_refused(self, run, *words):
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual(run.stdout, "")
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)

    def assert_runs(self, pid):
        before = cpu_ticks(pid)
        end = time.monotonic() + 10
        while cpu_ticks(pid) == before and time.monotonic() < end:
            time.sleep(0.02)
        self.assertGreater(cpu_ticks(pid), before)

    def test_replay_gives_what_capture_printed(self):
        pid = self.start(THREADS, "60")
        run = capture("-p", str(pid), "-o", self.path)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.count("thread "), 4)
        self.assertIn("native  threads  run_thread", run.stdout)
        self.assertIn("stood still for", run.stderr)
        again = subprocess.run([REPLAY, self.path], check=True, capture_output=True, text=True)
        self.assertEqual(again.stdout, run.stdout)
        self.assert_runs(pid)

    def status_in(self, directory, pid):
        """Of capture, when it loads plugins."""
        source, said = os.path.join(directory, "spy.c"), os.path.join(directory, "said")
        with open(source, "w", encoding="ascii") as file:
            file.write(SPY)
        try:
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", source, "-o",
                            os.path.join(directory, "spy.so")], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("no compiler")
        os.chmod(directory, 0o755)
        more = {"EBPF_PROFILER_PLUGINS_DIR": directory, "SPY_SAYS": said}
        run = subprocess.run([BINARY, "capture", "-p", str(pid), "-o", self.path], check=False, capture_output=True,
                             text=True, timeout=60, env=os.environ | more)
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(said, encoding="ascii", errors="replace") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line), run.stderr

    def test_it_keeps_little_of_what_it_may(self):
        pid = self.start(THREADS, "60")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        said, warnings = self.status_in(directory.name, pid)
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            mine = int(next(line.split()[1] for line in file if line.startswith("CapEff:")), 16)
        with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:
            last = RESTORE if int(file.read()) >= RESTORE else ADMIN
        kept = mine & sum(1 << cap for cap in (PTRACE, DAC_READ, DAC_OVERRIDE, last))
        self.assertEqual([int(said[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")], [kept, kept, 0, 0])
        self.assertEqual(said["NoNewPrivs"], "1")
        if said["Seccomp"] == "2":  # not with sanitizers, nor where a container forbids it
            self.assertIn("system call personality", warnings)

    def test_one_thread(self):
        pid = self.start(THREADS, "60")
        tid = max(int(name) for name in os.listdir(f"/proc/{pid}/task"))
        run = capture("-p", str(pid), "-t", str(tid), "-o", self.path)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.count("thread "), 1)
        self.assertTrue(run.stdout.startswith(f"thread {tid} "), run.stdout)
        again = subprocess.run([REPLAY, self.path], check=True, capture_output=True, text=True)
        self.assertEqual(again.stdout, run.stdout)

    def test_no_such_thread(self):
        pid = self.start(THREADS, "60")
        self.assert_refused(capture("-p", str(pid), "-t", "1", "-o", self.path), "no thread", "-t")
        self.assertFalse(os.path.exists(self.path))
        self.assert_runs(pid)

    def test_nothing_is_overwritten(self):
        with open(self.path, "w", encoding="ascii") as file:
            file.write("precious")
        self.assert_refused(capture("-p", str(os.getpid()), "-o", self.path), "exists")
        with open(self.path, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_no_process(self):
        run = subprocess.Popen(["true"])
        run.wait()
        self.assert_refused(capture("-p", str(run.pid), "-o", self.path), "no process")
        self.assertFalse(os.path.exists(self.path))

    def test_no_core_file(self):
        self.assert_refused(capture("--core", __file__, "-o", self.path), "no 64-bit ELF core file")
        self.assert_refused(capture("--core", "/none", "-o", self.path), "No such file")
        self.assertFalse(os.path.exists(self.path))

    def test_usage(self):
        for arguments in ([], ["-p", "1"], ["-o", "x"], ["-p", "1,2", "-o", "x"], ["-p", "1", "--core", "x", "-o", "x"],
                          ["-p", "1", "-o", "x", "-o", "y"], ["-p", "1", "-t", "x", "-o", "x"]):
            run = capture(*arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assert_refused(run)

    def test_a_stopped_process_stays_stopped(self):
        pid = self.start(sys.executable, "-c", COUNT)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.1)
        self.assertEqual(capture("-q", "-p", str(pid), "-o", self.path).returncode, 0)
        time.sleep(0.1)
        self.assertEqual(state_of(pid), "T")
        os.kill(pid, signal.SIGCONT)
        self.assert_runs(pid)

    def test_the_main_thread_has_ended(self):
        pid = self.start(THREADS, "60", "leader")
        run = capture("-p", str(pid), "-o", self.path)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.count("thread "), 3)
        self.assertIn("native  threads  spin", run.stdout)

    def test_a_traced_process_is_left_alone(self):
        pid = self.start(sys.executable, "-c", COUNT)
        self.assertEqual(LIBC.ptrace(PTRACE_SEIZE, pid, 0, 0), 0)
        self.assert_refused(capture("-p", str(pid), "-o", self.path), "cannot stop", "debugger")
        self.assert_runs(pid)

    def test_capture_may_be_killed(self):
        """At any moment: nobody else lets the target run on."""
        pid = self.start(sys.executable, "-c", COUNT)
        for i in range(20):
            with subprocess.Popen([BINARY, "capture", "-q", "-p", str(pid), "-o", f"{self.path}{i}"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
                time.sleep(i * 0.004)
                run.kill()
        self.assert_runs(pid)

    def test_signals_are_not_lost(self):
        """Those that come while it stands still are delivered."""
        script = ("import signal\nn = 0\ndef on(*_):\n    global n\n    n += 1\nsignal.signal(10, on)\n"
                  "signal.signal(12, lambda *_: (print(n, flush=True), exit()))\nprint('ready', flush=True)\n"
                  "while True:\n    pass\n")
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as run:
            self.addCleanup(run.kill)
            run.stdout.readline()
            for i in range(5):
                sender = subprocess.Popen(["sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10; do kill -10 {run.pid}; done"])
                self.assertEqual(capture("-q", "-p", str(run.pid), "-o", f"{self.path}{i}").returncode, 0)
                sender.wait()
            os.kill(run.pid, 12)
            self.assertGreaterEqual(int(run.stdout.readline()), 5)


class OutOfTree(unittest.TestCase):
    """Plugins built as a stranger would: one whose frames replace an interpreter's, one that is entered."""

    def capture(self, name, source, programs, *arguments):
        with tempfile.TemporaryDirectory() as directory:
            build = subprocess.run([TESTS + "/abi/build_unwinder", os.environ["EBPF_PROFILER_BUILD"], directory,
                                    f"{name}={TESTS}/{source}"], check=False, capture_output=True, text=True)
            if build.returncode == 77:
                self.skipTest(build.stdout.strip())
            self.assertEqual(build.returncode, 0, build.stdout + build.stderr)
            program = f"{directory}/{name}"
            subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-D_GNU_SOURCE", f"-I{TESTS}/..",
                            f"{TESTS}/{programs}/{name}.c", "-o", program], check=True)
            with subprocess.Popen([program, "60", *arguments], stdout=subprocess.DEVNULL) as run:
                self.addCleanup(run.kill)
                time.sleep(0.3)
                result = subprocess.run([BINARY, "capture", "-p", str(run.pid), "-o", directory + "/x.fixture.zst"],
                                        check=False, capture_output=True, text=True, timeout=60,
                                        env=dict(os.environ, EBPF_PROFILER_PLUGINS_DIR=directory))
                run.kill()
            self.assertEqual(result.returncode, 0, result.stderr)
            return [tuple(line.split("  ")) for line in result.stdout.splitlines()[1:]]

    def test_replace(self):
        names = [f[1] if f[0] == "toy" else f[2] for f in self.capture(
            "toy", "../plugins/template", "../plugins/template/tests/programs")]
        self.assertIn(names[0], ("spin", "busy"))
        self.assertEqual(names[1:20], ["bounce", "inner", "outer"] * 6 + ["main"])

    def test_describe(self):
        """A stub that has neither unwind rules nor a symbol, and keeps no frame pointer. What capture writes
        must give the same stacks when nobody describes it."""
        for _ in range(8):      # one time in nine it is stopped elsewhere
            frames = self.capture("toy", "../plugins/template", "../plugins/template/tests/programs", "3", "nap")
            names = [f[1] if f[0] == "toy" else f[2] for f in frames]
            if names[0] == "nap":
                break
        self.assertEqual(names[:11], ["nap", "bounce", "inner", "outer", "bounce", "inner", "outer",
                                      "bounce", "inner", "outer", "main"])
        self.assertEqual({f[0] for f in frames}, {"native", "toy"})

    def test_enter(self):
        frames = self.capture("leap", "live/unwinders/leap", "live/programs")
        names = [f[1] if f[0] == "leap" else f[2] for f in frames]
        self.assertEqual(names[:9], ["spin", "swing", "leap", "swing", "leap", "swing", "leap", "swing", "main"])


def may_trace():
    child = subprocess.Popen(["sleep", "10"])
    ok = LIBC.ptrace(PTRACE_SEIZE, child.pid, 0, 0) == 0
    child.kill()
    child.wait()
    return ok


if __name__ == "__main__":
    if not may_trace():
        print("skip: ptrace is not permitted here")
        sys.exit(77)
    unittest.main()

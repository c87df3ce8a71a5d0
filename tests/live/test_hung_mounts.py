#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs on a file system that stops answering: a recording ends all the same, and others are not worse off.
Needs root, bpf() and /dev/fuse.

    test_hung_mounts.py PROGRAMS            EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import whole  # and with it where the kit is
import hung_mount
import runs
import stacks
from agent import Agent

# Without readers a recording ends when the file system's server does. What it takes on a machine that is not busy is
# in docs/benchmarks.md; here the names of others take most of it, and so only some processes are recorded.
NEVER_S = 90


def wait_for(what, condition):
    if not whole.wait_until(condition):
        raise AssertionError(f"{what} did not come about")


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


class Case(whole.Case):
    """Who hangs in the kernel ends after the mount's server: waited for last."""

    def setUp(self):
        super().setUp()
        self.procs = []
        self.addCleanup(lambda: [proc.wait() for proc in self.procs])

    def start(self, *args, stdout=subprocess.DEVNULL, **more):
        proc = subprocess.Popen(args, stdout=stdout, **more)
        self.procs.append(proc)
        self.addCleanup(proc.kill)
        return proc

    def mount(self, files):
        reason = hung_mount.cannot()
        if reason:
            print(f"skip: {reason}")
            sys.exit(whole.SKIP)
        mount = hung_mount.HungMount(files).__enter__()
        self.addCleanup(mount.__exit__)
        return mount

    def programs_on(self, mount, names):
        """They burn; all that they need of the file system is in memory by then."""
        procs = [self.start(mount.path(name), "3600") for name in names]
        for proc in procs:
            self.wait_for_cpu(proc, 0.2)
        return procs

    def wait_for_cpu(self, proc, seconds):
        self.assertTrue(whole.wait_used(proc.pid, seconds))

    def check_named(self, samples, proc, what, bar=95):
        self.check_share(what + " has main", [s for s in samples if s.labels["pid"] == proc.pid],
                         lambda s: any(f.name == "main" for f in s.frames), bar, 10)

    def record(self, *procs):
        """A recording of them that has begun."""
        pids = [word for proc in procs for word in ("-p", str(proc.pid))]
        with open(os.path.join(self.dir, "log"), "wb") as out:
            run = self.start(whole.BINARY, "record", "-vv", "-F", "49", "-o", self.out, *pids, stderr=out)
        wait_for("a first sample", lambda: "first complete sample" in self.log() or run.poll() is not None)
        self.assertIsNone(run.poll(), self.log())
        return run

    def log(self):
        with open(os.path.join(self.dir, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def end(self, run):
        """After the signal: seconds until the recording is over, its file there."""
        begin = time.monotonic()
        run.send_signal(signal.SIGINT)
        run.wait(timeout=NEVER_S)
        seconds = time.monotonic() - begin
        print(f"over {seconds:.2f} s after SIGINT")
        self.assertEqual(run.returncode, 0, self.log())
        return stacks.read_profile(self.out)


class HungMounts(Case):
    def test_executables_on_a_mount_that_does_not_answer(self):
        with open(os.path.join(PROGRAMS, "nested"), "rb") as file:
            program = file.read()
        mount = self.mount({f"dead{i}": program for i in range(4)})
        dead = self.programs_on(mount, mount.files)
        mount.stop()
        neighbour = self.start(os.path.join(PROGRAMS, "nested"), "3600")
        run = self.record(*dead, neighbour)
        self.wait_for_cpu(neighbour, 2)
        samples = self.end(run).samples
        self.assertIn("does not answer", self.log())
        for proc in (*dead, neighbour):
            self.assertIsNone(proc.poll())
        self.check_named(samples, neighbour, "the neighbour")

    def test_executables_on_a_slow_kind_of_mount_have_names(self):
        with open(os.path.join(PROGRAMS, "nested"), "rb") as file:
            mount = self.mount({"alive": file.read()})
        proc, = self.programs_on(mount, ["alive"])
        run = self.record(proc)
        self.wait_for_cpu(proc, 1)
        self.check_named(self.end(run).samples, proc, "the program")


class Agents(Case):
    def start_agent(self):
        """It is ended by the test, or with it."""
        agent = Agent(self)
        self.procs.append(agent.process)
        return agent

    def says(self, agent, what):
        wait_for(repr(what), lambda: any(what in line for line in agent.said) or agent.process.poll() is not None)
        self.assertIsNone(agent.process.poll(), agent.said)

    def stop(self, agent):
        begin = time.monotonic()
        self.assertEqual(agent.stop(), 0, agent.said)
        print(f"over {time.monotonic() - begin:.2f} s after SIGTERM")
        return agent.profile(self).samples

    def mount_programs(self):
        with open(os.path.join(PROGRAMS, "nested"), "rb") as file:
            program = file.read()
        return self.mount({f"dead{i}": program for i in range(2)})

    def test_an_agent_keeps_the_names_of_others_and_ends(self):
        mount = self.mount_programs()
        self.programs_on(mount, mount.files)
        mount.stop()
        neighbour = self.start(os.path.join(PROGRAMS, "nested"), "3600")
        agent = self.start_agent()
        self.says(agent, "does not answer")
        self.wait_for_cpu(neighbour, 3)
        self.check_named(self.stop(agent), neighbour, "the neighbour, also at first,", 90)

    def test_a_file_system_that_answers_again_has_names(self):
        mount = self.mount_programs()
        procs = self.programs_on(mount, mount.files)
        mount.stop()
        agent = self.start_agent()
        self.says(agent, "does not answer")
        mount.resume()
        self.says(agent, "answers again")
        # Each is read once more in a while, and again if readers were busy.
        before = [runs.cpu_of(proc.pid) for proc in procs]
        end = time.monotonic() + 40
        wait_for("the programs' CPU time", lambda: time.monotonic() > end and all(
            runs.cpu_of(proc.pid) > seconds + 2 for proc, seconds in zip(procs, before)))
        samples = self.stop(agent)
        for proc in procs:
            self.check_named(samples, proc, "a program that was away", 20)  # until it was back it has none


class Captures(Case):
    def capture(self, proc):
        """It ends, says what it has in one line at the end, and the process goes on."""
        path = os.path.join(self.dir, f"captured-{proc.pid}")
        run = self.start(whole.BINARY, "capture", "-p", str(proc.pid), "-o", path,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        begin = time.monotonic()
        said, _ = run.communicate(timeout=NEVER_S)
        print(f"over after {time.monotonic() - begin:.2f} s")
        self.assertEqual(run.returncode, 0, said)
        self.assertEqual(said.count("ebpf-profiler: "), 1, said)
        self.assertIn("the process stood still for", said)
        self.assertIsNone(proc.poll())
        self.assertNotIn(state_of(proc.pid), "Tt", said)
        self.wait_for_cpu(proc, 0.05)
        return said

    def test_an_executable_that_does_not_come(self):
        with open(os.path.join(PROGRAMS, "nested"), "rb") as file:
            mount = self.mount({"dead": file.read()})
        proc, = self.programs_on(mount, ["dead"])
        mount.stop()
        self.assertIn("does not answer", self.capture(proc))

    @unittest.skipUnless(os.uname().machine == "x86_64", "the program is of x86-64 code")
    def test_memory_that_does_not_come(self):
        mount = self.mount({"page": b"x" * 65536})
        proc = self.start(os.path.join(PROGRAMS, "hung_frame"), mount.path("page"))
        self.wait_for_cpu(proc, 0.2)
        mount.stop()
        self.assertIn("its memory does not come", self.capture(proc))

    def test_debug_files_that_do_not_come(self):
        if not shutil.which("unshare") or not shutil.which("strip") or not os.path.isdir("/usr/lib/debug"):
            self.skipTest("no unshare, strip or /usr/lib/debug")
        program = os.path.join(self.dir, "stripped")
        subprocess.run(["strip", "-o", program, os.path.join(PROGRAMS, "nested")], check=True)
        mount = self.mount({})
        proc = self.start("unshare", "-m", "--propagation", "private", "sh", "-c",
                          'mount --bind "$0" /usr/lib/debug && exec "$@"', mount.point, program, "3600")
        self.wait_for_cpu(proc, 0.2)
        mount.stop()
        self.assertIn("stripped", self.capture(proc))


if __name__ == "__main__":
    PROGRAMS = os.path.realpath(sys.argv.pop(1))
    whole.main()

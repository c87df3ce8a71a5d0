#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The life of a command and of the agent: what they leave behind, and what they say when something is missing.
Needs root and bpf().

    test_life.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import fcntl
import glob
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import termios
import time

import agent
import whole  # and with it where the kit is
import stacks
import test_terminal
from whole import BINARY, Case, burner, run, wait_until, wait_used

# Says that it has been sampled by writing a file, and goes on for a minute.
BURN_AND_SAY = "import time\nend = time.monotonic() + 60\nwhile time.process_time() < 0.5: pass\nopen({0!r}, 'w').close()\n"
LOOP = "while :; do sleep 0.05; done"


def is_there(pid):
    """And no zombie that only nobody has waited for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def limit(what, soft):
    """To be called in a child."""
    return lambda: resource.setrlimit(what, (soft, soft))


def hears_hangups():
    """To be called in a child: who runs the tests by nohup would have it ignore them."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class LifeCase(Case):
    def pid_in(self, name):
        """That a command wrote into a file of ours, once it is whole."""
        path = os.path.join(self.dir, name)

        def read():
            if not os.path.exists(path):
                return None
            with open(path, encoding="ascii") as file:
                text = file.read()
            return int(text) if text.endswith("\n") else None
        self.assertTrue(wait_until(read), name)
        pid = read()
        self.addCleanup(lambda: is_there(pid) and os.kill(pid, signal.SIGKILL))
        return pid

    def assert_one_line(self, result, pattern):
        self.assertRegex(result.stderr, r"\A[^\n]*" + pattern + r"[^\n]*\n\Z")


class Files(LifeCase):
    def test_standard_output_that_is_full_is_said(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([BINARY, "record", "-q", "-f", "folded", "-o", "-", "--", *burner(0.5)], stdout=full,
                                    stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result, "standard output: No space left on device")

    def test_a_full_disk_is_said_before_anything_is_recorded(self):
        full = os.path.join(self.dir, "full")
        os.mkdir(full)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", full], check=False).returncode:
            self.skipTest("no tmpfs can be mounted")
        self.addCleanup(subprocess.run, ["umount", full], check=True)
        with open(os.path.join(full, "fill"), "wb") as file:
            file.write(bytes(4096))
        ran = os.path.join(self.dir, "ran")
        result = run("record", "-o", os.path.join(full, "x.pb.gz"), "--", "touch", ran)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result, "No space left on device")
        self.assertFalse(os.path.exists(ran))
        self.assertEqual(os.listdir(full), ["fill"])

    def test_what_is_no_file_is_not_replaced(self):
        """With --force there would be a file in its place."""
        pipe = os.path.join(self.dir, "x.pb.gz")
        os.mkfifo(pipe)
        result = run("record", "--force", "-o", pipe, "--", "true")
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result, "is not a regular file")
        self.assertTrue(os.path.exists(pipe) and not os.path.isfile(pipe))

    def test_what_was_not_written_is_said_last(self):
        """After the summary, which is long."""
        path = os.path.join(self.dir, "x.html")
        result = run("record", "-o", path, "--", *burner(0.5), preexec_fn=limit(resource.RLIMIT_FSIZE, 20000))
        self.assertEqual(result.returncode, 1)
        self.assertIn("functions by their own time", result.stderr)
        self.assertEqual(result.stderr.splitlines()[-1], f"ebpf-profiler: not written: {path}: File too large")
        self.assertEqual(os.listdir(self.dir), [])

    def test_a_disk_that_is_full_is_said_with_another_path(self):
        full = os.path.join(self.dir, "full")
        os.mkdir(full)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "full", full], stderr=subprocess.DEVNULL,
                          check=False).returncode:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", full], check=False)
        path = os.path.join(full, "x.html")
        result = run("record", "-o", path, "--", *burner(0.5))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.splitlines()[-1], rf"\Aebpf-profiler: not written: {re.escape(path)}: No space left on "
                         r"device: record once more with -o in a directory that has space, like -o /")

    def test_a_hangup_saves_the_recording(self):
        ready = os.path.join(self.dir, "ready")
        burn = BURN_AND_SAY.format(ready) + "while time.monotonic() < end: pass"
        with subprocess.Popen([BINARY, "record", "-q", "-o", self.out, "--", sys.executable, "-c", burn],
                              stderr=subprocess.PIPE, preexec_fn=hears_hangups) as profiler:
            self.assertTrue(wait_until(lambda: os.path.exists(ready)))
            profiler.send_signal(signal.SIGHUP)
            said = profiler.communicate(timeout=60)[1]
        self.assertEqual(profiler.returncode, 0, said)
        used = sum(sample.weight_ns for sample in stacks.read_profile(self.out).samples)
        self.assertTrue(0 < used < 20e9, used)  # it did not wait for the command's minute to be over

    def test_nohup_is_respected(self):
        ready = os.path.join(self.dir, "ready")
        burn = BURN_AND_SAY.format(ready) + "time.sleep(1)\nraise SystemExit(7)"
        with subprocess.Popen([BINARY, "record", "-q", "-o", self.out, "--", sys.executable, "-c", burn],
                              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as profiler:
            self.assertTrue(wait_until(lambda: os.path.exists(ready)))
            profiler.send_signal(signal.SIGHUP)
            self.assertEqual(profiler.wait(60), 7)

    def test_a_hangup_writes_the_interval_of_the_agent(self):
        """But no file where nothing was sampled: the signals come faster than samples."""
        busy = self.start(burner(600))
        there = agent.Agent(self)
        for n in (1, 2):
            self.assertTrue(wait_used(busy.pid, 0.5))
            there.signal(signal.SIGHUP, "SIGHUP: writing")
            self.assertTrue(wait_until(lambda n=n: len(agent.files_in(self.dir)) >= n), there.log())
        for _ in range(20):
            there.process.send_signal(signal.SIGHUP)
            time.sleep(0.002)
        there.check_stop(self)
        files = agent.files_in(self.dir)
        self.assertGreaterEqual(len(files), 2)
        self.assertTrue(all(stacks.read_profile(path).samples for path in files), there.log())

    def test_convert_that_fails_leaves_what_was_there(self):
        """As root without sudo outputs are opened before root is given up."""
        self.assertEqual(run("record", "-q", "-o", self.out, "--", *burner(0.5)).returncode, 0)
        new, old, good = (os.path.join(self.dir, name) for name in ("new.pgo", "old.pgo", "good.folded"))
        with open(old, "w", encoding="ascii") as file:
            file.write("precious")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")}
        result = run("convert", self.out, "--force", "-o", new, "-o", old, "-o", good, env=environment)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no Go program", result.stderr)
        self.assertRegex(result.stderr, rf"(?m)^wrote: {re.escape(good)}$")
        self.assertFalse(os.path.exists(new))
        with open(old, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")
        self.assertGreater(os.path.getsize(good), 0)


class Streams(LifeCase):
    def test_closed_standard_streams(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", BINARY, "record", "-q", "--force", "-o",
                                       self.out, "--", *burner(0.5)], timeout=60, check=False)
                self.assertEqual(done.returncode, 0)
                self.assertGreater(len(stacks.read_profile(self.out).samples), 0)

    def test_a_closed_standard_output_takes_no_profile(self):
        result = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", BINARY, "record", "-q", "-f", "folded", "-o", "-", "--",
                                 *burner(0.5)], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result, "standard output: Bad file descriptor")

    def test_no_memory_for_threads_is_one_sentence(self):
        """A thread's stack is as large as the limit of stacks."""
        def few():
            resource.setrlimit(resource.RLIMIT_STACK, (512 << 20, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
        result = run("record", "-o", self.out, "--", "true", preexec_fn=few)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assert_one_line(result, "cannot start threads")

    def test_no_room_for_processes_is_one_sentence(self):
        """The limit holds for users other than root only."""
        if not os.path.exists("/usr/bin/setpriv"):
            self.skipTest("no setpriv")
        with tempfile.TemporaryDirectory(prefix="ebpf-profiler-test-", dir="/tmp") as there:
            os.chmod(there, 0o755)
            binary = os.path.join(there, "ebpf-profiler")
            subprocess.run(["cp", BINARY, binary], check=True)
            result = subprocess.run(["/usr/bin/setpriv", "--reuid", "65533", "--regid", "65533", "--clear-groups", binary,
                                     "plugins"], preexec_fn=limit(resource.RLIMIT_NPROC, 1), capture_output=True, text=True,
                                    timeout=60, check=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assert_one_line(result, "cannot start threads")

    def test_few_files_are_one_sentence(self):
        result = run("record", "-o", self.out, "--", "true", preexec_fn=limit(resource.RLIMIT_NOFILE, 12))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assert_one_line(result, "ulimit -n")


class Command(LifeCase):
    def record(self, *words):
        return run("record", "-q", "-o", self.out, "--", *words)

    def end_early(self, *words, files=()):
        """What was said, of a recording that is ended as soon as the command's files are there, and their pids."""
        with subprocess.Popen([BINARY, "record", "-q", "-o", self.out, "--", *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as profiler:
            pids = [self.pid_in(name) for name in files]
            profiler.terminate()
            said = profiler.communicate(timeout=90)[1]
        self.assertEqual(profiler.returncode, 0, said)
        return said, pids

    def no_samples(self, *words):
        """A command may meet the one tick of its second: then once more."""
        for _ in range(5):
            result = run("record", "-F", "1", *words)
            if "no samples" in result.stderr:
                break
            os.unlink(self.out)
        return result

    def test_the_time_that_is_over_ends_the_command(self):
        result = run("record", "-d", "500ms", "-o", self.out, "--", "sleep", "1000")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_grandchildren_end_with_the_command(self):
        """One whose parent lives, and one whose parent has gone."""
        _, pids = self.end_early("sh", "-c", f"sleep 1000 & echo $! >{self.dir}/one; (sleep 1000 & echo $! >{self.dir}/two); "
                                 "sleep 1000", files=("one", "two"))
        self.assertEqual([is_there(pid) for pid in pids], [False, False])

    def test_who_ignores_sigterm_is_killed(self):
        said, pids = self.end_early(
            "sh", "-c", f"sh -c 'trap \"\" TERM; echo $$ >{self.dir}/two; {LOOP}' & trap '' TERM; echo $$ >{self.dir}/one; {LOOP}",
            files=("one", "two"))
        self.assertRegex(said, r"\d+ process\w* of the command did not end within 2 s after SIGTERM: killed")
        self.assertEqual([is_there(pid) for pid in pids], [False, False])

    def test_who_is_stopped_ends(self):
        _, pids = self.end_early("sh", "-c", f"echo $$ >{self.dir}/one; kill -STOP $$; sleep 1000", files=("one",))
        self.assertFalse(is_there(pids[0]))

    def test_who_catches_sigterm_may_finish(self):
        self.end_early("sh", "-c", f"trap 'echo done >{self.dir}/saved; exit 0' TERM; echo $$ >{self.dir}/one; {LOOP}",
                       files=("one",))
        self.assertTrue(os.path.exists(os.path.join(self.dir, "saved")))

    def test_a_session_of_its_own_is_left_alone(self):
        _, pids = self.end_early("sh", "-c", f"setsid sh -c 'echo $$ >{self.dir}/daemon; exec sleep 1000' >/dev/null 2>&1 & "
                                 "sleep 1000", files=("daemon",))
        self.assertTrue(is_there(pids[0]))

    def test_what_a_command_leaves_behind_stays_as_in_a_shell(self):
        result = self.record("sh", "-c", f"sleep 1000 >/dev/null 2>&1 & echo $! >{self.dir}/left; exit 3")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertTrue(is_there(self.pid_in("left")))

    def test_orphans_that_end_are_no_zombies(self):
        """The command's parent, which adopts them, waits for them."""
        result = self.record("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do (true &); done; i=0; "
                             "while ps -o stat= --ppid $PPID | grep -q Z; do i=$((i + 1)); [ $i -lt 100 ] || exit 9; sleep 0.1; done")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_status_is_a_shells(self):
        script = os.path.join(self.dir, "script")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n")
        for words, status in ((["/nonexistent/program"], 127), (["no_such_program_anywhere"], 127), ([script], 126), ([self.dir], 126)):
            with self.subTest(words=words):
                result = self.record(*words)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assert_one_line(result, "cannot run " + re.escape(words[0]))
                self.assertFalse(os.path.exists(self.out))

    def test_no_samples_of_a_command_are_its_status(self):
        for words, status in ((["sleep", "0.1"], 0), (["sh", "-c", "exit 9"], 9)):
            with self.subTest(words=words):
                result = self.no_samples("-o", self.out, "--", *words)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assert_one_line(result, "warning: no samples, and no file")
                self.assertFalse(os.path.exists(self.out))

    def test_a_command_that_sleeps_is_told_that_it_waited(self):
        result = self.no_samples("-o", self.out, "--", "sleep", "2.2")
        self.assert_one_line(result, r"warning: no samples, and no file: it ran 0\.0 s of [2-9]\.\d s, the rest it waited; CPU "
                             "time is what is measured")

    def test_an_option_after_the_command_is_hinted_at(self):
        """Where the command failed, which had it."""
        result = run("record", "-o", self.out, "sleep", "0.1", "-d", "5")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"(?m)^ebpf-profiler: -d went to sleep, [^\n]*: ebpf-profiler record -d \.\. -- sleep \.\.$")
        self.assertNotIn("went to", run("record", "-o", self.out, "--force", "sh", "-c", "exit 0", "-d").stderr)

    def test_an_idle_process_is_told_that_it_waited(self):
        with subprocess.Popen(["sleep", "60"]) as idle:
            self.addCleanup(idle.kill)
            result = run("record", "-d", "1200ms", "-o", self.out, "-p", f" {idle.pid}\n")
            idle.kill()
        self.assertEqual(result.returncode, 5)
        self.assert_one_line(result, r"no samples, and no file: it ran 0\.0 s of 1\.\d s, the rest it waited")

    def test_no_samples_are_an_error_where_a_target_was_named(self):
        with subprocess.Popen(["sleep", "60"]) as idle:
            for more in ((), ("--", "sleep", "0.1")):
                with self.subTest(more=more):
                    result = run("record", "-F", "1", "-d", "300ms", "-p", str(idle.pid), "-o", self.out, *more)
                    self.assertEqual(result.returncode, 5, result.stderr)
                    self.assertFalse(os.path.exists(self.out))
            idle.kill()
        result = self.no_samples("--min-complete", "50", "-o", self.out, "--", "sleep", "0.1")
        self.assertEqual(result.returncode, 5, result.stderr)


class Targets(LifeCase):
    def threads(self):
        """A process whose second thread is busy, and that thread."""
        program = ("import threading, time\nend = time.monotonic() + 120\ndef spin():\n"
                   f"    open({self.dir + '/tid'!r}, 'w').write(str(threading.get_native_id()) + chr(10))\n"
                   "    while time.monotonic() < end: sum(range(1000))\n"
                   "threading.Thread(target=spin).start()")
        process = subprocess.Popen([sys.executable, "-c", program])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, self.pid_in("tid")

    def test_a_threads_id_means_its_process(self):
        process, tid = self.threads()
        result = run("record", "-d", "2s", "-p", str(tid), "-o", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{tid} is a thread of process {process.pid}, which is taken whole: -t {tid} is the thread", result.stderr)
        self.assertEqual({s.labels.get("pid") for s in stacks.read_profile(self.out).samples}, {process.pid})

    def test_the_process_that_is_not_there_is_named(self):
        result = run("record", "-d", "1s", "-p", f"{os.getpid()},4194303", "-o", self.out)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result, "no such process: 4194303")

    def test_a_main_thread_that_left_is_no_end(self):
        """Its process is a zombie by its own line in /proc, and runs."""
        ready, source = os.path.join(self.dir, "ready"), os.path.join(self.dir, "left.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("#include <pthread.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
                       "static void *f(void *a) { sleep(1); system((char *)a); for (;;) ; return 0; }\n"
                       "int main(int n, char **v) { pthread_t t; pthread_create(&t, 0, f, v[1]); pthread_exit(0); }\n")
        subprocess.run(["gcc", "-w", "-pthread", source, "-o", self.dir + "/left"], check=True)
        with subprocess.Popen([self.dir + "/left", f"touch {ready}"]) as process:
            self.addCleanup(process.kill)
            self.assertTrue(wait_until(lambda: os.path.exists(ready)))
            begun = time.monotonic()
            result = run("record", "-d", "3s", "-p", str(process.pid), "-o", self.out)
            took = time.monotonic() - begun
            process.kill()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(took, 3)

    def test_a_frozen_process_has_not_ended(self):
        freezer = "/sys/fs/cgroup/freezer"
        if not os.path.isdir(freezer):
            self.skipTest("no freezer of cgroup v1")
        group = tempfile.mkdtemp(prefix="ebpf-profiler-test-", dir=freezer)
        self.addCleanup(lambda: wait_until(lambda: self.remove_group(group)))
        process = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def put(name, text):
            with open(os.path.join(group, name), "w", encoding="ascii") as file:
                file.write(text)
        put("cgroup.procs", str(process.pid))
        put("freezer.state", "FROZEN")
        self.addCleanup(put, "freezer.state", "THAWED")
        result = run("capture", "-p", str(process.pid), "-o", os.path.join(self.dir, "x.fixture"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("it is frozen", result.stderr)

    @staticmethod
    def remove_group(group):
        try:
            os.rmdir(group)
        except OSError:
            return False
        return True


class Words(LifeCase):
    def test_check_looks_for_directories(self):
        self.assertEqual(run("--config", agent.write_config(self.dir), "--check").returncode, 0)
        for directory, why in ((self.dir + "/none", "not there"), (self.dir + "/profiler.toml", "no directory")):
            path = agent.write_config(self.dir, into=directory)
            result = run("--config", path, "--check")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assert_one_line(result, re.escape(f"{path}:8:13: directory '{directory}' is {why}"))

    def test_the_agents_last_words_are_no_zeros(self):
        for verbose, zeros in ((), False), (("-v",), True):
            with self.subTest(verbose=verbose):
                there = agent.Agent(self, words=verbose)
                there.check_stop(self)
                self.assertIn("ms of CPU used by the agent", there.log())
                self.assertEqual(bool(re.search(r"(?m)^ +0  ", there.log())), zeros, there.log())


class OnATerminal(LifeCase):
    """Job control is as without us: nothing of a command's is in another process group."""

    def start(self, *words):
        terminal = test_terminal.Terminal("record", "-q", "-o", self.out, "--", *words,
                                          preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.addCleanup(terminal.close)
        return terminal

    def test_a_command_reads_the_terminal(self):
        terminal = self.start("sh", "-c", "echo ask; read answer; echo got $answer; exit 4")
        self.assertTrue(terminal.wait_for("ask", 90), terminal.text)
        terminal.type("blue\n")
        self.assertTrue(terminal.wait_for("got blue"), terminal.text)
        self.assertEqual(terminal.end(90), 4, terminal.text)

    def test_ctrl_c_reaches_the_command_and_ends_both(self):
        terminal = self.start("sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done")
        self.assertTrue(terminal.wait_for("ready", 90), terminal.text)
        terminal.type("\x03")
        self.assertTrue(terminal.wait_for("caught"), terminal.text)
        self.assertIn(terminal.end(90), (0, 5), terminal.text)  # ours is told to end as well

    def test_a_command_that_cleans_up_on_ctrl_c_is_not_cut_short(self):
        terminal = self.start("sh", "-c", "trap 'sleep 0.2; echo cleaned; exit 3' INT; echo ready; while :; do sleep 0.05; done")
        self.assertTrue(terminal.wait_for("ready", 90), terminal.text)
        terminal.type("\x03")
        self.assertTrue(terminal.wait_for("cleaned"), terminal.text)
        self.assertEqual(terminal.end(90), 3, terminal.text)

    def test_a_terminal_that_goes_saves_the_recording(self):
        ready = os.path.join(self.dir, "ready")
        terminal = self.start(sys.executable, "-c", BURN_AND_SAY.format(ready) + "while time.monotonic() < end: pass")
        self.assertTrue(wait_until(lambda: os.path.exists(ready)))
        os.close(terminal.master)
        terminal.master = os.open("/dev/null", os.O_RDWR)
        self.assertEqual(terminal.process.wait(60), 0)
        self.assertGreater(len(stacks.read_profile(self.out).samples), 0)


if __name__ == "__main__":
    whole.main()

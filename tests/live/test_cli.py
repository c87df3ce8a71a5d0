#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program as its user meets it: exit codes, files, signals, labels. Needs root and bpf().

    test_cli.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import glob
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import agent
import whole  # and with it where the kit is
import counting
import stacks
from whole import BINARY, BURN, Case, burner, run, wait_until, wait_used

CONTAINER = "8f1d" * 16


def is_removed(group):
    """A group of processes that have ended."""
    try:
        os.rmdir(group)
    except OSError:
        return False
    return True


def samples_of(path):
    return stacks.read_profile(path).samples


def labels_of(path, key):
    return {sample.labels.get(key) for sample in samples_of(path)}


class Record(Case):
    def test_command_gives_file_summary_and_its_exit_status(self):
        result = run("record", "-o", self.out, "--", "sh", "-c",
                     "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 42")
        self.assertEqual(result.returncode, 42, result.stderr)
        self.assertIn("complete", result.stderr)
        self.assertIn("go tool pprof -top " + self.out, result.stderr)
        self.assertGreater(len(samples_of(self.out)), 0)

    def test_a_build_without_reports_records(self):
        alone = BINARY + "-without-reports"     # of the same objects
        result = subprocess.run([alone, "record", "-o", self.out, "--", *burner(0.3)], stderr=subprocess.PIPE, check=False,
                                timeout=120, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("complete", result.stderr)
        self.assertGreater(len(samples_of(self.out)), 0)

    def test_names_that_are_missing_are_counted(self):
        """Programs so short that most of them are gone before their functions are named."""
        loop = f"for i in $(seq 30); do {sys.executable} -c 1; done"
        result = run("record", "-F", "999", "--min-named", "100", "-o", self.out, "--", "sh", "-c", loop,
                     timeout=120)
        said = re.search(r"^names: ([0-9.]+) % fully named(.*)$", result.stderr, re.M)
        self.assertTrue(said, result.stderr)
        samples = samples_of(self.out)
        all_ns, nameless_ns, gone_ns = sum(s.weight_ns for s in samples), 0, 0
        for sample in samples:
            names = [frame.name for frame in sample.frames]
            is_gone = any(re.match(r"\[[a-z0-9]+: unknown function\]", name) for name in names)
            gone_ns += is_gone * sample.weight_ns
            nameless_ns += (is_gone or any(re.match(r"\[(truncated|gap): |0x", name) for name in names)) * sample.weight_ns
        self.assertAlmostEqual(float(said.group(1)), 100 - 100 * nameless_ns / all_ns, delta=0.02)
        self.assertEqual(result.returncode, 6 if nameless_ns else 0, result.stderr)
        if gone_ns:
            self.assertIn("gone before it was named", said.group(2))
        with open(self.out, "rb") as file:
            comments = stacks.Profile(file.read()).comments
        self.assertIn("fully named", " ".join(comments))

    def test_existing_file_is_kept_unless_forced(self):
        with open(self.out, "w", encoding="utf-8") as file:
            file.write("precious")
        result = run("record", "-o", self.out, "--", *burner(0.3))
        self.assertEqual(result.returncode, 1)
        self.assertIn("--force", result.stderr)
        with open(self.out, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")
        self.assertEqual(run("record", "--force", "-o", self.out, "--", *burner(0.3)).returncode, 0)
        self.assertGreater(len(samples_of(self.out)), 0)

    def test_a_link_stays_and_its_target_is_written(self):
        path, target = os.path.join(self.dir, "link.pb.gz"), os.path.join(self.dir, "target")
        os.symlink("target", path)
        with open(target, "w", encoding="utf-8") as file:
            file.write("old")
        result = run("record", "-q", "--force", "-o", path, "--", *burner(0.3))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.readlink(path), "target")
        self.assertGreater(len(samples_of(target)), 0)

    def record_until_used(self, pid, *words):
        """Until this process has used enough for samples to be sure, then Ctrl-C."""
        profiler = self.start_recording(*words)
        self.assertTrue(wait_used(pid, 0.5))
        self.end_recording(profiler)
        self.assertIn(pid, labels_of(self.out, "pid"))

    def test_pid_takes_the_tree_and_nothing_else(self):
        tree = self.start(["sh", "-c", f"{sys.executable} -c '{BURN.format(600)}' & echo $!; wait"],
                          stdout=subprocess.PIPE, text=True)
        child = int(tree.stdout.readline())
        self.addCleanup(tree.stdout.close)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        other = self.start(burner(600))
        self.record_until_used(child, "-p", str(tree.pid))
        self.assertNotIn(other.pid, labels_of(self.out, "pid"))

    def test_a_time_namespace_changes_nothing(self):
        ahead = ["unshare", "--time", "--monotonic", "864000", "--boottime", "864000", "--fork"]
        if subprocess.run([*ahead, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no time namespaces here")
        other, out, begin = self.start(burner(600)), self.out + ".perf.txt", time.time()
        self.addCleanup(lambda: os.path.exists(out) and os.unlink(out))
        done = subprocess.run([*ahead, BINARY, "record", "-q", "-F", "99", "-d", "1s", "-p", str(other.pid), "-o", out],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, encoding="utf-8") as file:
            times = [float(found) for found in re.findall(r"\]\s+(\d+\.\d+):", file.read())]
        self.assertTrue(times)
        self.assertTrue(all(begin <= at <= time.time() for at in times), (begin, times[:3]))

    def test_the_whole_machine_until_ctrl_c(self):
        self.record_until_used(self.start(burner(600)).pid, "-a")

    def test_standard_output(self):
        with open(self.out, "wb") as file:
            status = subprocess.run([BINARY, "record", "-q", "-o", "-", "--", *burner(0.5)],
                                    stdout=file, timeout=60, check=False).returncode
        self.assertEqual(status, 0)
        self.assertGreater(len(samples_of(self.out)), 0)

    def test_text_on_standard_output(self):
        for words in (["-f", "folded", "-o", "-"], ["-o", "-", "-f", "folded"]):
            result = run("record", "-q", *words, "--", *burner(0.5))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, r"(?m)\A([^;]+(;[^;]+)* \d+\n)+\Z")

    def test_nothing_but_text_goes_to_a_terminal(self):
        terminal, its_end = os.openpty()
        done = subprocess.run([BINARY, "record", "-q", "-o", "-", "--", "true"], stdout=its_end, stderr=subprocess.PIPE,
                              text=True, timeout=60, check=False)
        os.close(terminal)
        os.close(its_end)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\A[^\n]*pprof is not text and standard output is a terminal[^\n]*\n\Z")

    def test_what_could_not_be_written_is_not_told_as_written(self):
        """One program of a kind is wanted for this format, and there is none."""
        pgo, folded = os.path.join(self.dir, "x.pgo"), os.path.join(self.dir, "x.folded")
        result = run("record", "-o", pgo, "-o", folded, "--", *burner(0.5))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(os.listdir(self.dir), ["x.folded"])
        self.assertIn("no Go program was sampled", result.stderr)
        self.assertIn(f"wrote: {folded}\n", result.stderr)
        self.assertNotIn(f"wrote: {pgo}", result.stderr)
        self.assertRegex(result.stderr, rf"\nebpf-profiler: not written: {pgo}: [^\n]+\n\Z")    # what comes last

    def test_without_a_name_it_is_a_page(self):
        result = run("record", "--", *burner(0.5), cwd=self.dir)
        self.assertEqual(result.returncode, 0, result.stderr)
        name, = os.listdir(self.dir)
        self.assertRegex(name, r"\Aprofile-python3?[0-9.]*-\d{8}-\d{6}\.html\Z")
        self.assertIn(f"next: open {name} in a browser", result.stderr)

    def test_command_runs_as_the_user_who_called_sudo(self):
        environment = dict(os.environ, SUDO_UID="65534", SUDO_GID="65534")
        result = run("record", "-o", self.out, "--", "sh", "-c",
                     "id -u; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done", env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.strip(), "65534")

    def test_a_sudo_uid_that_is_no_number_runs_nothing(self):
        for uid, gid in (("root2", "65534"), ("65534", "x"), ("-1", "-1")):
            result = run("record", "-o", self.out, "--", "id", "-u", env=dict(os.environ, SUDO_UID=uid, SUDO_GID=gid))
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, r"\A[^\n]*SUDO_UID[^\n]*\n\Z")
        self.assertEqual(os.listdir(self.dir), [])

    def test_a_command_keeps_all_that_its_caller_may(self):
        """Also to leave a core file, and to gain what a program's file gives."""
        code = ("import re, resource; print(resource.getrlimit(resource.RLIMIT_CORE)); "
                "print(re.findall('(?:Cap|NoNew).*', open('/proc/self/status').read()))")
        plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        result = run("record", "-o", self.out, "--", sys.executable, "-c", code)
        self.assertEqual(result.stdout, plain.stdout, result.stderr)

    def test_a_profile_is_of_who_called_sudo_and_nobody_else_reads_it(self):
        for name, uid in (("theirs.pb.gz", 65534), ("ours.pb.gz", 0)):
            path = os.path.join(self.dir, name)
            result = run("record", "-o", path, "--keep-root", "--", *burner(0.5),
                         env=dict(os.environ, SUDO_UID=str(uid), SUDO_GID=str(uid)))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((os.stat(path).st_uid, os.stat(path).st_mode & 0o777), (uid, 0o600))

    def test_thread_name_and_container_id_are_labels(self):
        top = next((d for d in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
                    if os.path.isfile(d + "/cgroup.procs")), None)
        if not top:
            self.skipTest("no cgroup file system")
        group = f"{top}/docker/{CONTAINER}"
        os.makedirs(group)
        try:
            result = run("record", "-o", self.out, "--", "sh", "-c",
                         f"echo $$ > {group}/cgroup.procs; exec {sys.executable} -c '{BURN.format(1)}'")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(CONTAINER, labels_of(self.out, "container_id"))
        finally:
            self.assertTrue(wait_until(lambda: is_removed(group)))
            os.rmdir(os.path.dirname(group))

    def test_without_root_it_is_exit_3(self):
        setpriv = shutil.which("setpriv")
        if not setpriv:
            self.skipTest("no setpriv")
        binary = shutil.copy(BINARY, "/tmp/ebpf-profiler-test-binary")
        plugins = tempfile.mkdtemp(prefix="ebpf-profiler-test-", dir="/tmp")
        for path in glob.glob(os.path.join(os.environ["EBPF_PROFILER_PLUGINS_DIR"], "*.so")):
            shutil.copy(path, plugins)
        os.chmod(plugins, 0o755)
        try:
            result = subprocess.run(
                [setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", binary, "record",
                 "-d", "1s", "-a", "-o", "/tmp/ebpf-profiler-test-none.pb.gz"],
                capture_output=True, text=True, timeout=60, check=False,
                env=dict(os.environ, EBPF_PROFILER_PLUGINS_DIR=plugins))
        finally:
            os.unlink(binary)
            shutil.rmtree(plugins)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("ebpf-profiler doctor", result.stderr)


class Top(Case):
    def status(self, *words):
        return run("top", *words, stdin=subprocess.DEVNULL).returncode

    def test_the_commands_exit_status_is_passed_on(self):
        self.assertEqual(self.status("--", "sh", "-c", "exit 7"), 7)
        self.assertEqual(self.status("--", "sh", "-c", "kill -USR1 $$"), 128 + signal.SIGUSR1)
        self.assertEqual(self.status("--", "true"), 0)
        self.assertEqual(self.status("--", "/nonexistent/program"), 127)
        self.assertEqual(self.status("-d", "500ms", "--", "sleep", "30"), 0)  # we ended it

    def test_what_is_judged_at_an_end_is_refused(self):
        for option in ("--min-complete", "--min-named"):
            result = run("top", option, "99", "-d", "500ms", stdin=subprocess.DEVNULL)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(f"top {option}: ", result.stderr)


class Agent(Case):
    def write_config(self, interval, keep):
        return agent.write_config(self.dir, interval=interval, keep=keep)

    def files(self):
        return agent.files_in(self.dir)

    def test_writes_keeps_and_ends(self):
        self.start(burner(600))
        there = agent.Agent(self, interval="1s", keep=2)
        written = set()
        self.assertTrue(wait_until(lambda: written.update(self.files()) or len(written) >= 4), there.log())
        self.assertTrue(there.signal(signal.SIGUSR1, "samples taken"))
        there.check_stop(self)
        self.assertEqual(len(self.files()), 2, there.log())
        self.assertTrue(all(map(samples_of, self.files())), there.log())
        self.assertEqual(there.log().count("samples taken"), 2, there.log())
        self.assertGreaterEqual(int(re.findall(r"(\d+)  pprof: batches exported", there.log())[-1]), 4)

    def test_walks_few_frames_at_a_time_at_first_alone(self):
        there = agent.Agent(self)

        def frames():
            there.signal(signal.SIGUSR1, "frames walked in one run")
            return int(re.findall(r"(\d+)  frames walked in one run", there.log())[-1])
        self.assertTrue(wait_until(lambda: frames() > 4), there.log())
        there.check_stop(self)

    def test_last_interval_is_flushed(self):
        busy = self.start(burner(600))
        there = agent.Agent(self)
        self.assertTrue(wait_used(busy.pid, 0.5))
        there.check_stop(self)
        self.assertEqual(len(self.files()), 1)
        self.assertIn(busy.pid, labels_of(self.files()[0], "pid"))

    def status(self, pid):
        """Of each thread: what /proc/PID/status says."""
        for path in glob.glob(f"/proc/{pid}/task/*/status"):
            with open(path, encoding="utf-8") as file:
                yield dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    def kept(self):
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as file:
            admin = int(file.read()) >= 3
        with open("/proc/self/status", encoding="utf-8") as file:
            have = int(re.search(r"CapEff:\t(\w+)", file.read())[1], 16)
        return have & sum(1 << bit for bit in (39, 38, 19, 2, 34, 40) + ((21,) if admin else ()))

    def sampled(self, **environment):
        """What the threads of an agent were like when it had written a file, and its limits."""
        self.start(burner(600))
        there = agent.Agent(self, interval="1s", env=dict(os.environ, **environment))
        self.assertTrue(wait_until(self.files), there.log())
        threads = list(self.status(there.process.pid))
        with open(f"/proc/{there.process.pid}/limits", encoding="utf-8") as file:
            limits = file.read()
        there.check_stop(self)
        return threads, limits

    def test_keeps_what_doctor_names_and_nothing_else(self):
        threads, limits = self.sampled()
        self.assertGreater(len(threads), 1)
        for thread in threads:
            for key, value in (("CapEff", self.kept()), ("CapPrm", self.kept()), ("CapInh", 0), ("CapBnd", 0), ("CapAmb", 0)):
                self.assertEqual(int(thread[key], 16), value, (key, thread))
            self.assertEqual(thread["NoNewPrivs"], "1")
            self.assertEqual(thread["Seccomp"], "2")
        self.assertRegex(limits, r"Max core file size +0 +0 ")
        self.assertTrue(any(samples_of(path) for path in self.files()))

    def test_writes_where_who_called_sudo_may(self):
        os.chown(self.dir, 65534, 65534)
        self.sampled(SUDO_UID="65534", SUDO_GID="65534")
        self.assertEqual({(os.stat(path).st_uid, os.stat(path).st_mode & 0o777) for path in self.files()}, {(65534, 0o600)})

    def test_what_is_no_file_stays(self):
        """Root's agent made a file of /dev/null: here it is a device of our own."""
        paths = [os.path.join(self.dir, name) for name in ("null", "pipe", "link")]
        os.mknod(paths[0], 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.mkfifo(paths[1])
        os.symlink("null", paths[2])
        for path in paths:
            before = os.lstat(path)
            for force in ("false", "true"):
                config = self.write_config("1s", 2)
                with open(config, "w", encoding="utf-8") as file:
                    file.write('[plugins]\nenable = ["pprof"]\n[[exporter]]\ntype = "pprof"\n'
                               f'path = "{path}"\nforce = {force}\n')
                result = run("--config", config)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(f"pprof: {path} is not a regular file", result.stderr)
                self.assertEqual((os.lstat(path).st_mode, os.lstat(path).st_ino), (before.st_mode, before.st_ino))

    def test_directories_of_others_are_refused(self):
        path = self.write_config("1s", 2)
        for mode, owner, says in ((0o777, 0, "may be written by everybody"), (0o755, 65534, "belongs to user 65534")):
            os.chown(self.dir, owner, owner)
            os.chmod(self.dir, mode)
            for args in ((), ("--check",)):
                result = run("--config", path, *args)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertRegex(result.stderr, rf"\A[^\n]*:8:1: directory: [^\n]*{says}[^\n]*\n\Z")
        self.assertEqual(self.files(), [])
        os.chown(self.dir, 0, 0)
        os.chmod(self.dir, 0o1777)
        self.assertEqual(run("--config", path, "--check").returncode, 0)


class Hardship(Case):
    """What a machine does to a profiler."""

    def test_process_with_50000_mappings(self):
        program = os.path.join(self.dir, "mappings")
        source = """
            #include <stdio.h>
            #include <sys/mman.h>
            #include <time.h>
            static volatile long sink;
            __attribute__((noinline)) void spin(void) { for (long i = 0; i < 100000; i++) sink += i; }
            int main(void) {
                for (int i = 0; i < 25000; i++) {
                    char *p = mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                    if (p != MAP_FAILED) mprotect(p + 4096, 4096, PROT_NONE);
                }
                printf("%f\\n", (double)clock() / CLOCKS_PER_SEC);
                while (clock() < 2 * CLOCKS_PER_SEC) spin();
            }"""
        subprocess.run(["gcc", "-O2", "-x", "c", "-", "-o", program], input=source, text=True,
                       check=True)
        result = run("record", "-v", "-o", self.out, "--", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        # While it maps them its stacks may say that this cannot be followed.
        while_mapping, samples = float(result.stdout) * 99, samples_of(self.out)
        wrong = sum(s.count for s in samples if any(map(stacks.is_error, s.frames))) - while_mapping
        self.assertFalse(counting.is_missed(wrong, sum(s.count for s in samples), 99), result.stderr)
        cpu_ms = int(re.search(r"(\d+)  ms of CPU used by the agent", result.stderr)[1])
        self.assertLess(cpu_ms, 1500, result.stderr)

    def test_frames_without_a_rule_are_counted(self):
        program = os.path.join(self.dir, "untabled")
        source = """
            #include <time.h>
            static volatile long sink;
            __attribute__((noinline)) void spin(void) { for (long i = 0; i < 100000; i++) sink += i; }
            __attribute__((noinline)) void outer(void) { spin(); __asm__ volatile(""); }
            int main(void) { while (clock() < CLOCKS_PER_SEC) outer(); }"""
        subprocess.run(["gcc", "-O0", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables",
                        "-x", "c", "-", "-o", program], input=source, text=True, check=True)
        result = run("record", "-v", "-o", self.out, "--", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = int(re.search(r"(\d+)  native frames found by frame pointer", result.stderr)[1])
        self.assertGreater(found, 50, result.stderr)
        stack = max(samples_of(self.out), key=lambda s: s.count).frames
        self.assertEqual([f.name for f in stack[:3]], ["spin", "outer", "main"])
        self.assertEqual(stack[-1].name, "_start") # from main on there are rules again

    def test_processes_that_die_at_once(self):
        result = run("record", "-v", "-o", self.out, "--", "sh", "-c",
                     "i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i+1)); done")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(int(re.search(r"(\d+)  execs", result.stderr)[1]), 400)
        self.assertEqual(re.search(r"(\d+)  malformed events", result.stderr)[1], "0")
        self.assertEqual(re.search(r"(\d+)  samples dropped", result.stderr)[1], "0")


class Doctor(Case):
    def test_json_is_json(self):
        result = run("doctor", "--json")
        checks = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertTrue(all({"check", "status", "detail", "fix"} <= set(c) for c in checks))
        self.assertNotIn("refuses its keeper", result.stdout)


if __name__ == "__main__":
    whole.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is recorded is what was chosen: no sample of others, none of the chosen missing.

    test_filters.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one

Programs that fork a thousand times a second (programs/filterstorm.c) say how much CPU time the chosen
ones used; the samples must be as many, but for what counting by chance explains. Needs root and bpf().
"""
import os
import re
import shutil
import subprocess
import sys
import time

import whole  # and with it where the kit is
import stacks

STORM = os.environ.get("EBPF_PROFILER_FILTERSTORM", "filterstorm")
FREQ = 4999
FORKS = 800
LONG_ID = "3f2a" + "0123456789ab" * 5


def cgroup_root():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return next((line.split()[4] for line in file if " - cgroup2 " in line), None)


def remove_cgroup(path):
    """Those in it are dead, but may not be gone yet."""
    for _ in range(50):
        try:
            os.rmdir(path)
        except FileNotFoundError:
            pass
        except OSError:
            time.sleep(0.1)
            continue
        return


class Case(whole.Case):
    def cgroup(self, name):
        root = cgroup_root()
        if not root:
            self.skipTest("no cgroup v2 here")
        path = os.path.join(root, name)
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            self.skipTest(f"no cgroup can be made here: {error}")
        self.addCleanup(remove_cgroup, path)
        return path

    def record_storms(self, arguments, *storms):
        """The recording lasts as long as a command that runs the storms; each: (directory to enter or None, words)."""
        script = []
        for number, (group, words) in enumerate(storms):
            enter = f"echo 0 >{group}/cgroup.procs && " if group else ""
            script.append(f"({enter}exec {STORM} {words} >{self.dir}/{number}) &")
        run = whole.run("record", "-v", "-a", "-F", str(FREQ), *arguments, "--force", "-o", self.out, "--",
                        "sh", "-c", " ".join(script) + " wait")
        self.summary = run.stderr
        self.assertIn(run.returncode, (0, 5), run.stderr)
        return stacks.read_profile(self.out).samples if run.returncode == 0 else []

    def told(self):
        """(ns that the chosen ones used, their pids, those of others)"""
        spent, chosen, others = 0, set(), set()
        for name in filter(str.isdigit, os.listdir(self.dir)):
            with open(os.path.join(self.dir, name), encoding="ascii") as file:
                for line in file:
                    kind, ns, *pids = line.split()
                    spent += int(ns) if kind == "chosen" else 0
                    (chosen if kind == "chosen" else others).update(map(int, pids))
        return spent, chosen, others

    def compare(self, samples):
        spent, chosen, others = self.told()
        found = [sample for sample in samples if sample.labels["pid"] in chosen]
        ns, count = sum(s.weight_ns for s in found), sum(s.count for s in found)
        wrong = [s for s in samples if s.labels["pid"] in others or any(f.name == "other_burn" for f in s.frames)]
        self.assertEqual(wrong, [], f"{len(wrong)} samples of others")
        # Five times what counting by chance explains; what they do before they burn comes on top.
        slack = 5 * (spent * 1e9 / FREQ) ** 0.5
        lost = int(re.search(r"(\d+) samples lost", self.summary)[1]) / FREQ * 1e9
        self.assertGreater(ns, spent - slack - lost, f"{spent / 1e6:.1f} ms used, {ns / 1e6:.1f} ms of {count} samples")


class Storms(Case):
    def test_name(self):
        self.compare(self.record_storms(["--comm", "chos?n"], (None, f"name {FORKS}")))

    def test_name_of_an_exec(self):
        for name in ("chosen", "other"):
            subprocess.run(["cp", STORM, os.path.join(self.dir, name)], check=True)
        for choice in (["--comm", "chosen"], ["--exe", self.dir + "/*", "--exe", "!other"]):
            with self.subTest(choice=choice):
                samples = self.record_storms(choice, (None, f"exec {FORKS} {self.dir}"))
                self.compare(samples)
                self.assertEqual({s.labels["comm"] for s in samples}, {"chosen"})

    def test_user(self):
        self.compare(self.record_storms(["-u", "65534"], (None, f"user {FORKS}")))

    def test_cgroup_and_unit(self):
        inside = self.cgroup("ep-storm.service")
        self.compare(self.record_storms(["-G", "ep-storm.service", "--unit", "ep-storm"],
                                        (inside, f"chosen {FORKS}"), (None, f"other {FORKS}")))

    def test_unit_that_starts_later_and_moves(self):
        root = self.cgroup("ep-later.slice")
        inside = os.path.join(root, "ep-later.service")
        self.addCleanup(remove_cgroup, inside)
        samples = self.record_storms(["--unit", "ep-later"], (None, f"move 300 {inside}"))
        self.compare(samples)


# One process that is chosen and is not, in turns of 10 ms, long enough to be judged many times in each.
TURNS = """
import ctypes, os, sys, time
def change(chosen):
    if sys.argv[1] == "name":
        ctypes.CDLL(None).prctl(15, b"ep-turn" if chosen else b"ep-other")
    elif sys.argv[1] == "user":
        os.seteuid(65534 if chosen else 0)
    else:
        with open((sys.argv[3] if chosen else sys.argv[4]) + "/cgroup.procs", "w") as file:
            file.write("0")
spent = 0
for turn in range(40):
    change(turn % 2)
    start = time.process_time_ns()
    while time.process_time_ns() < start + 10000000: pass
    spent += (time.process_time_ns() - start) * (turn % 2)
os.seteuid(0)
with open(sys.argv[2], "w") as file:
    file.write(f"chosen {spent} {os.getpid()}\\n")
"""


class Turns(Case):
    def turn(self, choice, *words):
        run = whole.run("record", "-v", "-a", "-F", str(FREQ), *choice, "--force", "-o", self.out, "--",
                        sys.executable, "-c", TURNS, words[0], self.dir + "/0", *words[1:])
        self.summary = run.stderr
        self.assertEqual(run.returncode, 0, run.stderr)
        samples = stacks.read_profile(self.out).samples
        self.compare(samples)
        # Half of its time is not chosen. What the changes cost is on either side.
        spent, chosen, _ = self.told()
        found = sum(s.weight_ns for s in samples if s.labels["pid"] in chosen)
        self.assertLess(found, 1.5 * spent, f"{spent / 1e6:.1f} ms used, {found / 1e6:.1f} ms of samples")

    def test_name(self):
        self.turn(["--comm", "ep-turn"], "name")

    def test_user(self):
        self.turn(["-u", "65534"], "user")

    def test_cgroup(self):
        inside, outside = self.cgroup("ep-turn.slice"), self.cgroup("ep-outside.slice")
        self.turn(["-G", "ep-turn.slice"], "cgroup", inside, outside)


class Choices(Case):
    def burner(self, name="burner", threads=0):
        """A busy process under a name of its own; with a thread if wanted, whose id it prints."""
        code = ("import ctypes,sys,threading\nctypes.CDLL(None).prctl(15, sys.argv[1].encode())\n"
                "def burn():\n while True: pass\n"
                "if int(sys.argv[2]):\n t=threading.Thread(target=burn,daemon=True);t.start();print(t.native_id,flush=True)\n"
                "else: print(0,flush=True)\nburn()\n")
        proc = subprocess.Popen([sys.executable, "-c", code, name, str(threads)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(proc.stdout.close)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        return proc, int(proc.stdout.readline())

    def record(self, *arguments):
        how_long = () if "--" in arguments else ("-d", "1")
        run = whole.run("record", *how_long, "-F", "499", "--force", "-o", self.out, *arguments)
        self.assertIn(run.returncode, (0, 5), run.stderr)
        self.stderr = run.stderr
        return stacks.read_profile(self.out).samples if run.returncode == 0 else []

    def pids(self, *arguments):
        return {sample.labels["pid"] for sample in self.record(*arguments)}

    def test_processes(self):
        one, _ = self.burner("ep-one")
        two, _ = self.burner("ep-two")
        self.assertEqual(self.pids("--comm", "ep-*"), {one.pid, two.pid})
        self.assertEqual(self.pids("--comm", "ep-*", "--comm", "!ep-two"), {one.pid})
        others = self.pids("-p", str(os.getpid()), "-p", f"!{one.pid}")
        self.assertIn(two.pid, others)
        self.assertNotIn(one.pid, others)
        self.assertEqual(self.pids("-p", f"{one.pid},{two.pid}", "--comm", "ep-two"), {two.pid})
        self.assertLessEqual(self.pids("-p", str(os.getpid()), "--no-inherit"), {os.getpid()})
        self.assertEqual(self.pids("-p", str(one.pid), "-u", "!root"), set())
        self.assertIn("the target used no CPU time", self.stderr)

    def test_a_program_that_has_another_name(self):
        """As Node.js 24 does with its first thread."""
        program = os.path.join(self.dir, "ep-nodelike")
        shutil.copy2(os.path.realpath(sys.executable), program)
        code = "import ctypes\nctypes.CDLL(None).prctl(15, b'MainThread')\nprint(1,flush=True)\nwhile True: pass"
        proc = subprocess.Popen([program, "-c", code], stdout=subprocess.PIPE, text=True)
        self.addCleanup(proc.stdout.close)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        self.assertEqual(proc.stdout.readline(), "1\n")
        self.assertEqual(self.pids("--exe", "ep-nodelike"), {proc.pid})
        self.assertEqual(self.pids("--comm", "ep-node*"), set())
        told = (f"1 process runs ep-nodelike and has another name ({proc.pid} is 'MainThread'): choose by file, "
                "--exe ep-nodelike")
        self.assertEqual(self.stderr, f"ebpf-profiler: {told}\nebpf-profiler: no samples, and no file: {told}\n")
        run = whole.run("top", "-d", "1500ms", "--comm", "ep-nodelike", stdin=subprocess.DEVNULL)
        self.assertIn(f"ebpf-profiler: no samples: {told}\n", run.stderr)
        self.assertEqual(self.pids("--comm", "MainThread", "--exe", "ep-node*"), {proc.pid})

    def test_threads_and_cpus(self):
        proc, tid = self.burner("ep-threads", 1)
        samples = self.record("-t", str(tid))
        self.assertEqual({s.labels["tid"] for s in samples}, {tid})
        samples = self.record("-p", str(proc.pid), "-t", f"!{tid}")
        self.assertNotIn(tid, {s.labels["tid"] for s in samples})
        self.assertTrue(samples)
        cpu = min(os.sched_getaffinity(0))
        for thread in os.listdir(f"/proc/{proc.pid}/task"):
            os.sched_setaffinity(int(thread), {cpu})
        self.assertEqual({s.labels["cpu"] for s in self.record("--comm", "ep-threads", "-C", f"{cpu}-{cpu}")}, {cpu})
        if len(os.sched_getaffinity(0)) > 1:
            self.assertEqual(self.record("--comm", "ep-threads", "-C", f"!{cpu}"), [])

    def test_command(self):
        samples = self.record("--comm", "ep-inner", "--", "sh", "-c",
                              f"{sys.executable} -c 'for i in range(5000000): pass'; "
                              f"exec {sys.executable} -c 'import ctypes; ctypes.CDLL(None).prctl(15, b\"ep-inner\")\n"
                              "for i in range(20000000): pass'")
        self.assertEqual({s.labels["comm"] for s in samples}, {"ep-inner"})

    def test_container(self):
        inside = self.cgroup(f"docker-{LONG_ID}.scope")
        proc, _ = self.burner("ep-inside")
        self.burner("ep-outside")
        with open(inside + "/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(proc.pid))
        self.assertEqual(self.pids("--container", "3f2a0"), {proc.pid})
        self.assertEqual(self.pids("--container", "!3f2a0", "--comm", "ep-inside"), set())

    def test_errors(self):
        for arguments, text in ((["-G", "no/such"], "there is no cgroup 'no/such'"),
                                (["-t", "4194303"], "there is no thread 4194303: see `ps -eL`"),
                                (["-C", "8000"], "none of the chosen CPUs is online: see `lscpu`"),
                                (["-u", "no such"], "-u: there is no user 'no such'")):
            if arguments[0] == "-G" and not cgroup_root():
                continue
            run = whole.run("record", "-d", "1", *arguments, "-o", self.out)
            self.assertEqual(run.returncode, 2)
            self.assertIn(text, run.stderr)


if __name__ == "__main__":
    whole.main()

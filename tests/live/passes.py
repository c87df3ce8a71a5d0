# SPDX-License-Identifier: Apache-2.0
"""Runs a shell script several times under one profiler, and tells the first pass from the later ones.

What is new to the profiler in the first pass is known in the later ones, and these are most of a
machine's life. A sample has no time in a profile, but pids are handed out in cyclic order (kernel/pid.c,
alloc_pid): each pass begins in a shell that prints its pid, and what is between two of these belongs
to the first of them.
"""
import contextlib
import os
import re
import subprocess

import stacks

CANNOT = (3, 4)  # exit codes of the profiler: no permission, kernel cannot
PASS = 'echo "PASS $$"\n'
DRIVER = 'echo "DRIVER $$"; i=0; while [ $i -lt "$1" ]; do sh "$0" || exit 1; i=$((i+1)); done'


# Runs a command, and says what CPU time all that it started had: stacks.used_by.
MEASURED = """import os, resource, subprocess, sys
print("DRIVER", os.getpid(), flush=True)
status = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("SWITCHES", used.ru_nvcsw + used.ru_nivcsw)
print("CPU %.3f" % (used.ru_utime + used.ru_stime))
sys.exit(status)"""


class Failed(Exception):
    """The profiler or what it profiled did not work."""


class Cannot(Exception):
    """This machine cannot profile: a skip."""


def pid_max():
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        return int(file.read())


def write_script(directory, body):
    path = os.path.join(directory, "pass.sh")
    with open(path, "w", encoding="utf-8") as file:
        file.write("set -e\n" + PASS + body + "\n")
    return path


def again(times, command):
    """Shell text: a command so many times, one after the other."""
    return f"i=0; while [ $i -lt {times} ]; do {command}; i=$((i+1)); done"


def pids_of(word, text):
    return [int(pid) for pid in re.findall(rf"^{word} (\d+)$", text, re.M)]


class Session:
    """The samples of one profiler's life: `own` are all of the workload, in `first` and `later`."""

    def __init__(self, samples, roots, driver=None, text=""):
        self.roots, self.driver, self.text = roots, driver, text
        self.own = [s for s in samples if s.labels.get("thread_name") != "ebpf-profiler"
                    and s.labels.get("comm") != "ebpf-profiler"]
        parts = {True: [], False: []}
        for sample in self.own:
            if sample.labels.get("pid") != driver:
                parts[self.is_first(sample)].append(sample)
        self.first, self.later = parts[True], parts[False]

    def is_first(self, sample):
        """Between the first root and the second, in the kernel's order."""
        if len(self.roots) < 2:
            return True
        size = pid_max()
        return ((sample.labels.get("pid", 0) - self.roots[0]) % size
                < (self.roots[1] - self.roots[0]) % size)


def environment():
    """Without sudo's variables, which make `record` start its command as another user."""
    return {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")}


def run_record(freq, command, directory, options=(), env=None, timeout=300):
    """(profile, stdout, stderr) of `record -F freq -- command`, which must succeed."""
    path = os.path.join(directory, "record.pb.gz")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    run = subprocess.run([os.environ["EBPF_PROFILER_BINARY"], "record", "-v", "-F", str(freq), *options,
                          "-o", path, "--", *command], stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, errors="replace", check=False, env=env or environment(),
                         timeout=timeout)
    if run.returncode in CANNOT and not os.path.exists(path):
        raise Cannot((run.stderr.strip().splitlines() or ["the profiler cannot run here"])[-1])
    if run.returncode != 0 or not os.path.exists(path):
        raise Failed(f"exit status {run.returncode} of {' '.join(command)}\n{run.stderr[-3000:]}")
    return stacks.read_profile(path), run.stdout, run.stderr


def record(freq, body, number, directory, options=()):
    """A session of `record`, whose command is a shell that makes so many passes."""
    script = write_script(directory, body)
    command = ["sh", "-c", DRIVER, script, str(number)]
    profile, out, text = run_record(freq, command, directory, options)
    roots = pids_of("PASS", out)
    if len(roots) != number:
        raise Failed(f"{len(roots)} passes of {number}:\n{out[-1000:]}\n{text[-1000:]}")
    return Session(profile.samples, roots, pids_of("DRIVER", out)[0], text)


def run_pass(script, timeout=300):
    """One pass, without a profiler of its own: the pid of its shell."""
    run = subprocess.run(["sh", script], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         errors="replace", check=False, timeout=timeout)
    if run.returncode != 0:
        raise Failed(f"exit status {run.returncode} of a pass:\n{run.stdout[-500:]}{run.stderr[-2500:]}")
    return pids_of("PASS", run.stdout)[0]

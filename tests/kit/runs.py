# SPDX-License-Identifier: Apache-2.0
"""Programs under the profiler: started, profiled from their first instruction or from their middle on. What languages
run in their runtimes is in language.py.

Where the profiler is comes from EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR.
"""
import collections
import contextlib
import glob
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time

import refused_calls

SKIP = 77
CANNOT = {3: "no permission to profile", 4: "this kernel cannot"}  # exit codes of the profiler


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


# --- running --------------------------------------------------------------------------------------

def environment(*prefixes):
    """Without variables that begin so. A command runs as the user who called sudo; here it must be root."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("SUDO_", *prefixes))}


def run(command, timeout, env):
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                              env=env, timeout=timeout, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"still runs after {timeout:.0f} s: {' '.join(command)[:300]}") from error


def profiler():
    binary = os.environ.get("EBPF_PROFILER_BINARY", "")
    if not os.access(binary, os.X_OK):
        raise Failed(f"no profiler at {binary!r}: set EBPF_PROFILER_BINARY")
    return binary


def check_can(done, path):
    """What the profiler left, when it should have made the profile at path."""
    if done.returncode in CANNOT and not os.path.exists(path):
        raise Skipped(f"skip: {CANNOT[done.returncode]}: {done.stderr.strip()[-200:]}")


def process_of(samples, but=lambda sample: False):
    """Those of the process that has most; without what `but` says is not of it yet."""
    by_process = collections.defaultdict(list)
    for sample in samples:
        if not but(sample):
            by_process[sample.labels.get("pid")].append(sample)
    return max(by_process.values(), default=[], key=lambda own: sum(s.count for s in own))


def frequency_of(samples):
    """Samples for a second of its CPU time: what the CPUs had that it ran on."""
    return sum(s.count for s in samples) / (sum(s.weight_ns for s in samples) / 1e9 or 1)


def amount_problems(samples, lost, expected, bounds):
    """bounds: at least, at most, and so many more or less. What the profiler says it lost is not missing."""
    low, high, more = bounds
    if samples + lost < expected * low - more or samples > expected * high + more:
        yield f"{samples} samples, but {expected:.0f} expected from its CPU time"


# --- what it does, and waits for -------------------------------------------------------------------

class Effort(threading.Thread):
    """
    What a process did and waited for, of all its threads: seconds on a CPU, and seconds in which it could have run and
    another had the CPU (/proc/PID/schedstat, Documentation/scheduler/sched-stats.rst). What is late because the
    machine is busy is told by it from what is late by itself. Read until the process has ended, 20 times a second.
    """

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.threads = pid, {}
        self.start()

    def run(self):
        try:
            while self.look():
                time.sleep(0.05)
        except OSError:
            pass

    def look(self):
        """False when it has ended."""
        for path in glob.glob(f"/proc/{self.pid}/task/*/schedstat"):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
                self.threads[path] = [int(word) / 1e9 for word in file.read().split()[:2]]
        with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"

    @property
    def ran(self):
        return sum(ran for ran, _ in self.threads.values())

    @property
    def waited(self):
        return sum(waited for _, waited in self.threads.values())



# --- recording ------------------------------------------------------------------------------------

# Who runs before the program does: check_stacks.py.
STARTERS = re.compile(r"^(ebpf-profiler|(lib)?python3.*|env|sh|bash|dash)$")
LOADED_SECONDS = 30
# An unwinder is loaded when the first process needs it, which takes a second or two: a runtime that sleeps
# is there before, so that what is seen of the command's first seconds is not that.
AWAKE = """%s >/dev/null & sleeper=$!
echo "sleeper $sleeper" >&2
while [ ! -e "$0" ]; do sleep 0.05; done
"$@"; status=$?
kill $sleeper
exit $status"""


def is_starter(sample):
    """Before the runtime is executed, its process is the profiler, or enter.py."""
    return any(STARTERS.match(frame.file) for frame in sample.frames)


def not_of_sleeper(samples, done):
    """The sleeper itself is sampled while nothing is known yet."""
    found = re.search(r"^sleeper (\d+)$", done.stderr, re.MULTILINE)
    return [s for s in samples if not found or str(s.labels.get("pid")) != found[1]]


def record(command, path, env, frequency=499, timeout=120, sleeper=(), loaded="", after=None, seconds=0,
           is_told=False):
    """
    Makes a profile at path; what the command and the profiler said, and the profiler's effort. sleeper: the command of one, loaded: what
    the profiler says when its unwinder is loaded, a regular expression. after: begins when the command has had so many
    seconds of CPU time, for `seconds`; is_told: then the command gets SIGTERM, and ends.
    """
    start = [profiler(), "record", "-v", "-F", str(frequency), "-o", path, "--force"]
    if after is not None:
        # A file: who writes more than a pipe holds would wait for a reader.
        with tempfile.TemporaryFile("w+") as said, \
                subprocess.Popen(command, stdout=said, env=env, stdin=subprocess.DEVNULL) as process:
            wait_used(process, after)
            done = run_attached([*start, "-p", str(process.pid)], process, path, timeout, env, loaded, seconds)
            if is_told:
                process.terminate()
            process.wait()
            said.seek(0)
            done.stdout += said.read()
    elif sleeper:
        script = ["sh", "-c", AWAKE % shlex.join(sleeper), path + ".go", *command]
        done = run_awake([*start, "--", *script], path, timeout, env, loaded)
    else:
        done = run_cold([*start, "--", *command], timeout, env)
    check_can(done, path)
    if refused_calls.said_in(done.stderr):
        raise Failed(f"system calls that are not on the list: {', '.join(refused_calls.said_in(done.stderr))}")
    if not os.path.exists(path):
        raise Failed(f"no profile: {done.stderr[-1500:]}")
    return done


def cpu_of(pid):
    """Seconds of all threads of a process: fields 14 and 15, man 5 proc."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_used(process, seconds, before=0):
    """Until it has had so much CPU time, and what it had before: a machine may be busy. Four times that at most."""
    end = time.monotonic() + 4 * seconds
    while time.monotonic() < end and process.poll() is None and cpu_of(process.pid) < before + seconds:
        time.sleep(0.05)


def wait_loaded(log, process, loaded):
    end = time.monotonic() + LOADED_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with open(log, encoding="utf-8", errors="replace") as file:
            if re.search(loaded, file.read(), re.MULTILINE):
                return
        time.sleep(0.05)


def run_attached(command, process, path, timeout, env, loaded, seconds):
    """
    Profiles a process for so many seconds. It stands still until the unwinder is loaded, which takes seconds on a
    busy machine: it is attached to when it has just been let go on.
    """
    log = path + ".log"
    if process.poll() is not None:
        raise Failed(f"it ended before it was attached to: exit status {process.returncode}")
    process.send_signal(signal.SIGSTOP)
    before = cpu_of(process.pid)
    try:
        with open(log, "w", encoding="utf-8") as err, \
                subprocess.Popen(command, stdout=err, stderr=err, env=env, stdin=subprocess.DEVNULL) as recording:
            effort = Effort(recording.pid)
            wait_loaded(log, recording, loaded)
            process.send_signal(signal.SIGCONT)
            time.sleep(seconds)
            wait_used(process, seconds / 4, before)
            recording.send_signal(signal.SIGINT)
            status = wait_ended(recording, timeout)
    finally:
        process.send_signal(signal.SIGCONT)
    with open(log, encoding="utf-8", errors="replace") as file:
        done = subprocess.CompletedProcess(command, status, "", file.read())
    os.unlink(log)
    done.effort = effort
    return done


def run_cold(command, timeout, env):
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=env,
                          stdin=subprocess.DEVNULL) as process:
        effort = Effort(process.pid)
        try:
            done = subprocess.CompletedProcess(command, 0, *process.communicate(timeout=timeout))
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise Failed(f"still runs after {timeout:.0f} s: {' '.join(command)[-300:]}") from error
    done.returncode, done.effort = process.returncode, effort
    return done


def wait_ended(process, timeout):
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired as error:
        process.kill()
        raise Failed(f"still runs after {timeout:.0f} s: {' '.join(process.args)[-300:]}") from error


def run_awake(command, path, timeout, env, loaded):
    """Lets the command go on when the profiler says that it is ready."""
    go, log, said = path + ".go", path + ".log", path + ".out"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(go)
    with open(log, "w", encoding="utf-8") as err, open(said, "w", encoding="utf-8") as out, \
            subprocess.Popen(command, stdout=out, stderr=err, env=env, stdin=subprocess.DEVNULL) as process:
        effort = Effort(process.pid)
        wait_loaded(log, process, loaded)
        with open(go, "w", encoding="utf-8"):
            pass
        status = wait_ended(process, timeout)
    texts = []
    for name in (said, log):
        with open(name, encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
        os.unlink(name)
    os.unlink(go)
    done = subprocess.CompletedProcess(command, status, *texts)
    done.effort = effort
    return done

# SPDX-License-Identifier: Apache-2.0
"""Programs under the profiler: started, profiled from their first instruction or from their middle on, with the
machine for themselves where that matters. What languages run in their runtimes is in language.py.

Where the profiler is comes from EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR.
"""
import collections
import contextlib
import fcntl
import glob
import os
import re
import resource
import shlex
import signal
import subprocess
import time

import refused_calls

SKIP = 77
CANNOT = {3: "no permission to profile", 4: "this kernel cannot"}  # exit codes of the profiler
PROFILERS = ("ebpf-profiler", "perf")   # what others may run beside a test


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


# --- the machine -----------------------------------------------------------------------------------

LOCKS = "/run/ebpf-profiler-live", "/run/ebpf-profiler-live-next"  # root's; for all builds of this machine
ALONE_SECONDS = 300     # to wait for that, at most: then it says that it is not alone


def lock(file, how):
    """Without blocking for ever."""
    end = time.monotonic() + ALONE_SECONDS
    while True:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                print(f"  another test has had {file.name} for {ALONE_SECONDS} s: not waiting longer", flush=True)
                return
            time.sleep(0.05)


@contextlib.contextmanager
def turn(alone=False):
    """
    A measured run, beside other tests, or with none of them beside it. Whoever comes next holds the second file while
    it waits for the first: one that wants to be alone waits for runs that have begun, not for those after them.
    """
    how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    if not os.access(os.path.dirname(LOCKS[0]), os.W_OK):    # whoever is not root measures nothing
        yield
        return
    with open(LOCKS[0], "a", encoding="ascii") as machine:
        with open(LOCKS[1], "a", encoding="ascii") as following:
            lock(following, how)
            lock(machine, how)
        yield


class Machine:
    """How busy it is, from here on, with what we have not started."""

    def __init__(self):
        self.start = self.look()

    @staticmethod
    def look():
        """(seconds, of CPUs that were busy, of those our own, of those that a hypervisor gave to others)"""
        with open("/proc/stat", encoding="ascii") as file:  # man 5 proc: user nice system idle iowait irq softirq steal
            ticks = [int(word) / os.sysconf("SC_CLK_TCK") for word in file.readline().split()[1:9]]
        ours = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return time.monotonic(), sum(ticks[:3]) + sum(ticks[5:7]), ours, ticks[7]

    def said(self):
        seconds, busy, ours, stolen = (b - a for a, b in zip(self.start, self.look()))
        seconds = max(seconds, 0.01)
        return (f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs, of which {max(0, busy - ours) / seconds:.1f} were "
                f"busy with other work, {100 * stolen / seconds / os.cpu_count():.0f} % stolen; "
                f"{len(other_profilers())} other profilers")


def other_profilers():
    found = []
    for path in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            found += [path] if file.read().strip() in PROFILERS else []
    return found


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


def record(command, path, env, frequency=499, timeout=120, sleeper=(), loaded="", after=None, seconds=0):
    """
    Makes a profile at path; what the command and the profiler said. sleeper: the command of one, loaded: what
    the profiler says when its unwinder is loaded, a regular expression. after: begins when the command has had so many
    seconds of CPU time, for `seconds`.
    """
    start = [profiler(), "record", "-v", "-F", str(frequency), "-o", path, "--force"]
    if after is not None:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env,
                              stdin=subprocess.DEVNULL) as process:
            wait_used(process, after)
            done = run_attached([*start, "-p", str(process.pid)], process, path, timeout, env, loaded, seconds)
            done.stdout += process.communicate()[0]
    elif sleeper:
        script = ["sh", "-c", AWAKE % shlex.join(sleeper), path + ".go", *command]
        done = run_awake([*start, "--", *script], path, timeout, env, loaded)
    else:
        done = run([*start, "--", *command], timeout, env)
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
    return subprocess.CompletedProcess(command, status, *texts)

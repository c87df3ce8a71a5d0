# SPDX-License-Identifier: Apache-2.0
"""What the benches share: the profiler's processes, other processes, and what the kernel says of them.

Everything started here dies with the bench: Procs kills its processes when it is left, and the kernel
kills them when the bench itself is killed. A failed bench is an exception or an exit status, never a row.
"""
import collections
import contextlib
import ctypes
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.environ.get("EBPF_PROFILER_ROOT") or os.path.realpath(
    os.path.join(os.path.dirname(__file__), "..", ".."))
APART = os.geteuid() == 0 and os.stat(ROOT).st_uid != 0  # as scripts/common.sh
# Also for the modules of the live tests, which look into the environment.
BUILD = os.environ.setdefault("EBPF_PROFILER_BUILD", os.path.join(ROOT, "build-root" if APART else "build"))
BINARY = os.environ.setdefault("EBPF_PROFILER_BINARY", os.path.join(BUILD, "core", "cli", "ebpf-profiler"))
PLUGINS = os.environ.setdefault("EBPF_PROFILER_PLUGINS_DIR", os.path.join(BUILD, "plugins", "together"))
sys.path[:0] = [os.path.join(ROOT, "tests", part) for part in ("live", "kit", "runtimes")]

SKIP = 77
CANNOT = (3, 4)  # exit codes of the profiler: no permission, kernel cannot
STATS = "/proc/sys/kernel/bpf_stats_enabled"
TICK = os.sysconf("SC_CLK_TCK")
PR_SET_PDEATHSIG = 1  # linux/prctl.h
LIBC = ctypes.CDLL(None)


def program(name):
    path = os.path.join(BUILD, "tests", "bench", name)
    if not os.access(path, os.X_OK):
        sys.exit(f"no {path}: build first with scripts/build")
    return path


def samples_wanted():
    """How many samples a share is of, at least: `scripts/bench --samples N`."""
    return int(os.environ.get("EBPF_PROFILER_BENCH_SAMPLES", "2000"))


def note(text):
    print(text, file=sys.stderr, flush=True)


def row(name, value, unit, bar="", limit=None, at_least=False):
    """Prints a row; its verdict comes from `limit`, without one it is information."""
    verdict = "for information"
    if limit is not None:
        verdict = "met" if (value >= limit if at_least else value <= limit) else "missed"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    print(f"{name}\t{text}\t{unit}\t{bar}\t{verdict}", flush=True)


def skip_row(name, reason):
    """A row that could not be measured here: neither met nor missed."""
    print(f"{name}\t\t\t\tskipped: {reason}", flush=True)


def skip(reason):
    print(reason)
    sys.exit(SKIP)


def begin():
    """First call of a bench: may it run here? SIGTERM becomes an exit that cleans up."""
    if os.geteuid() != 0:
        skip("profiling needs root")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Procs:
    """Processes that end with the `with` block."""

    def __init__(self):
        self.all = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for proc in self.all:
            if proc.poll() is None:
                proc.kill()
            proc.wait()

    def start(self, command, cpus=None, **options):
        def prepare():
            die_with_parent()
            if cpus is not None:
                os.sched_setaffinity(0, cpus)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.DEVNULL)
        options.setdefault("stderr", subprocess.DEVNULL)
        proc = subprocess.Popen(command, preexec_fn=prepare, **options)
        self.all.append(proc)
        return proc


@contextlib.contextmanager
def bpf_stats():
    """The kernel times BPF programs in this block (it costs them two looks at the clock)."""
    with open(STATS, encoding="ascii") as file:
        before = file.read()
    with open(STATS, "w", encoding="ascii") as file:
        file.write("1\n")
    try:
        yield
    finally:
        with open(STATS, "w", encoding="ascii") as file:
            file.write(before)


# --- the profiler ---------------------------------------------------------------------------------

def environment():
    return dict(os.environ, EBPF_PROFILER_PLUGINS_DIR=PLUGINS)


def check_status(status, text):
    if status in CANNOT:
        skip((text.strip().splitlines() or ["the profiler cannot run here"])[-1])
    if status != 0:
        sys.exit(f"the profiler failed with {status}:\n{text}")


def parse_counters(text):
    """{text: number} of the lines that the profiler prints its own counters in; the last of each."""
    found = re.findall(r"^ *(\d+)  (\S.*)$", text, re.M)
    return collections.defaultdict(int, {name: int(value) for value, name in found})  # without -v it leaves zeros out


def record(arguments, command=()):
    """Runs `record -v`; its counters."""
    run = subprocess.run([BINARY, "record", "-v", *arguments, *(["--", *command] if command else [])],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                         env=environment(), preexec_fn=die_with_parent, timeout=120)
    check_status(run.returncode, run.stderr)
    return parse_counters(run.stderr)


class Agent:
    """The agent with the sample config, but for frequency, interval, directory, and pprof as its format: benches read
    these files, and figures of before are of them."""

    def __init__(self, procs, freq, interval="10s", verbose=0):
        self.procs, self.freq, self.interval, self.verbose = procs, freq, interval, verbose

    def config(self):
        with open(os.path.join(ROOT, "profiler.toml"), encoding="utf-8") as file:
            text = file.read()
        text = text.replace("otlp_file", "pprof")
        for key, value in {"freq": self.freq, "interval": f'"{self.interval}"',
                           "directory": f'"{self.directory.name}"'}.items():
            text, n = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
            if n != 1:
                sys.exit(f"profiler.toml has {n} lines `{key} =`, not one")
        return text

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        path = os.path.join(self.directory.name, "profiler.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.config())
        self.log = open(os.path.join(self.directory.name, "log"), "w+", encoding="utf-8",
                        errors="replace")
        self.start_ns = time.monotonic_ns()
        self.proc = self.procs.start([BINARY, "--config", path, *["-v"] * self.verbose],
                                     stderr=self.log, env=environment())
        return self

    def __exit__(self, *_):
        if self.proc.poll() is None:
            self.proc.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.proc.wait(5)
        self.log.close()
        self.directory.cleanup()

    def text(self):
        if self.proc.poll() not in (None, 0):
            self.log.seek(0)
            check_status(self.proc.poll(), self.log.read())
        self.log.seek(0)
        return self.log.read()

    def wait_for(self, pattern, seconds):
        """The first match of `pattern` in what the agent printed."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            match = re.search(pattern, self.text(), re.M)
            if match:
                return match
            time.sleep(0.02)
        sys.exit(f"the agent did not print {pattern!r} in {seconds} s:\n{self.text()[-2000:]}")

    def wait_sampling(self):
        self.wait_for(r"sampling at \d+ Hz", 20)

    def counters(self, seconds=10):
        """Its own counters, now."""
        size = len(self.text())
        self.proc.send_signal(signal.SIGUSR1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.text()[size:]
            if "CPU used by the agent" in text:
                time.sleep(0.1)
                return parse_counters(self.text()[size:])
            time.sleep(0.05)
        sys.exit("the agent printed no counters on SIGUSR1")

    def stop(self):
        self.proc.terminate()
        self.proc.wait(15)
        return self.text()


# --- what the kernel says -------------------------------------------------------------------------

def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def cpu_seconds(pid, thread=None):
    """User and system time of a process, or of one of its threads, by the scheduler's clock."""
    total = 0
    for task in [thread] if thread else os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError):
            total += int(read_text(f"/proc/{pid}/task/{task}/schedstat").split()[0])
    return total / 1e9


def fdinfo(pid):
    """[{key: value}] of the descriptors of a process."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(FileNotFoundError):
            lines = read_text(f"/proc/{pid}/fdinfo/{fd}").splitlines()
            found.append(dict(line.split(":", 1) for line in lines if ":" in line))
    return [{key.strip(): value.strip() for key, value in info.items()} for info in found]


BPF_PROG_TYPE_PERF_EVENT = "7"  # linux/bpf.h, enum bpf_prog_type


def bpf_cost(pid):
    """(seconds, runs) of its sampling program; those it tail-calls are charged to it."""
    progs = {info["prog_id"]: info for info in fdinfo(pid) if "prog_jited" in info}
    sampling = [info for info in progs.values() if info["prog_type"] == BPF_PROG_TYPE_PERF_EVENT]
    return (sum(int(info["run_time_ns"]) for info in sampling) / 1e9,
            sum(int(info["run_cnt"]) for info in sampling))


def status_bytes(pid):
    """{VmRSS, RssAnon, ...: bytes}"""
    return {key: int(kib) * 1024 for key, kib in
            re.findall(r"^(\w+):\s+(\d+) kB$", read_text(f"/proc/{pid}/status"), re.M)}


def cpu_list():
    return sorted(os.sched_getaffinity(0))


def interval(values, statistic=statistics.median, rounds=2000):
    """95 % bootstrap interval of a statistic of independent values; a fixed seed."""
    source = random.Random(1)
    found = sorted(statistic(source.choices(values, k=len(values))) for _ in range(rounds))
    return found[int(rounds * 0.025)], found[int(rounds * 0.975)]

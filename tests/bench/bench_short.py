#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Complete stacks of processes that are short, new or ending, and whether they are booked on the right one.

Beside them, code with an unusual stack: openssl's assembly (`openssl speed`; what runs depends on the processor), and
io_uring, whose worker threads belong to the process but have no user part.

EBPF_PROFILER_BENCH_SAMPLES: so many at least for each share that has a bar (2000); EBPF_PROFILER_BENCH_ONLY: workloads
with this in their names. A stack is complete when it has no error frame; one of kernel frames
alone, or with [exec] or [exit] in place of a user part, only where a task has none (tests/live/judge.py).
The first pass of a workload under a profiler is counted apart; `record` of a single command has only
that one, again and again with a new profiler.
"""
import os
import shutil
import sys
import tempfile

import loads
import measure
import passes
import sessions
from judge import SHELLS, Programs
from sessions import Load

SHORT = os.path.join(measure.BUILD, "tests", "live", "shortlived")
FUNCTIONS = dict.fromkeys(("short_leaf", "short_middle", "short_burn"), "shortlived")
UNUSUAL_BAR = 99.5
ONLY = os.environ.get("EBPF_PROFILER_BENCH_ONLY", "")
SCRIPT = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: sorted(map(str, range(500)))\n"


def short_load(freq, ms, times, agent, bar):
    """dash starts a program of so many milliseconds, over and over."""
    return Load(f"dash starting a {ms} ms program {times} times, {freq} Hz {'agent' if agent else 'record'}",
                freq, passes.again(times, f"{SHORT} {ms}"),
                Programs({**SHELLS, "shortlived": {"shortlived"}}, FUNCTIONS), agent, ("shortlived",), bar)


def gcc_loads(directory):
    body = f"for f in {' '.join(loads.C_FILES)}; do gcc {loads.C_FLAGS} -c $f -o {directory}/out.o; done"
    programs = Programs(loads.build_tools())
    return [Load(f"gcc -O1 of {len(loads.C_FILES)} C files one after the other, {freq} Hz {who}", freq, body,
                 programs, agent, bar=98)
            for freq, who, agent in ((99, "agent", True), (199, "record", False))]


def true_load():
    return Load("sh starting /bin/true 800 times, 499 Hz record", 499, passes.again(800, "/bin/true"),
                Programs({**SHELLS, "true": {"true"}}), bar=98)


def interpreter_load(directory):
    """The interpreter itself, not a script that looks for one."""
    path = os.path.join(directory, "short.py")
    loads.write(path, SCRIPT)
    program = os.path.realpath(sys.executable)
    name = os.path.basename(program)
    return Load("a python3 that ends after 0.3 s, 499 Hz record", 499, f"{program} {path}",
                Programs({**SHELLS, name: {name}}), bar=98)


def rust_loads(directory):
    if not shutil.which("rustc"):
        measure.skip_row("record -- rustc", "no rustc")
        return []
    out = os.path.join(directory, "short-rust")
    programs = Programs({**SHELLS, "rustc": {"rustc", "rustup"}})
    command = ["rustc", "-O", "-o", out, loads.RUST_FILE]
    return [Load("rustc, 499 Hz record", 499, " ".join(command), programs, bar=98),
            Load("record -- rustc, 499 Hz", 499, "", programs, command=command)]


def driver_load(directory):
    """A compiler driver that nobody has seen: a copy, so a new file for each run."""
    compiled = os.path.join(directory, "driver")
    load = Load("first run of an unknown compiler driver, 499 Hz record", 499, "", Programs({}),
                first_bar=97)
    if loads.rust_sysroot():
        copy, rest = loads.copy_rustc, ["-O", "-o", compiled, loads.RUST_FILE]
        load.name += " (rustc, driver and LLVM copied)"
    else:
        copy, rest = loads.copy_cc1plus, ["-quiet", "-O2", "-o", compiled + ".s", loads.CXX_FILE]
        load.name += " (cc1plus copied)"

    def prepare():
        command = copy(directory)
        if not command:
            raise sessions.NotHere("there is neither rustc nor cc1plus (package g++)")
        load.command = command + rest
    load.command, load.prepare = ["not yet"], prepare
    return load


def make_load(directory):
    project = os.path.join(directory, "project")
    os.makedirs(project)
    loads.write_project(project)
    return Load(f"make of a C project of {len(loads.C_FILES)} files, 199 Hz record", 199, "", Programs(loads.build_tools()),
                first_bar=98, command=["make", "-s", "-C", project],
                prepare=lambda: os.system(f"make -s -C {project} clean"))


def unusual_loads():
    for what, algorithm in (("AES-256-GCM", ["-evp", "aes-256-gcm"]), ("RSA 2048", ["rsa2048"]),
                            ("SHA-256", ["-evp", "sha256"]), ("ChaCha20-Poly1305", ["-evp", "chacha20-poly1305"])):
        yield Load(f"openssl speed, {what}", 499, "", Programs({}), first_bar=UNUSUAL_BAR,
                   command=["openssl", "speed", "-seconds", "2", *algorithm])
    yield Load("io_uring with worker threads and a polling one", 499, "", Programs({"uring": {"uring"}}), rooted=("uring",),
               first_bar=UNUSUAL_BAR, command=[measure.program("uring"), "2"])


def all_loads(directory):
    yield from gcc_loads(directory)
    yield true_load()
    yield short_load(20, 50, 50, True, 98)
    yield short_load(99, 50, 50, True, 98)
    yield short_load(99, 10, 100, True, 98)
    yield short_load(199, 10, 100, False, 98)
    yield short_load(99, 1, 300, True, 95)
    yield short_load(20, 300, 10, True, 98)
    yield from rust_loads(directory)
    yield interpreter_load(directory)
    yield driver_load(directory)
    yield make_load(directory)
    yield from unusual_loads()


def main():
    measure.begin()
    if not os.access(SHORT, os.X_OK):
        sys.exit(f"no {SHORT}: build first with scripts/build")
    with tempfile.TemporaryDirectory(prefix="bench-short-") as directory:
        for load in all_loads(directory):
            if ONLY in load.name:
                try:
                    if load.command and not shutil.which(load.command[0]) and not load.prepare:
                        raise sessions.NotHere(f"no {load.command[0]}")
                    sessions.report(sessions.run(load, measure.samples_wanted(), directory))
                except sessions.NotHere as reason:
                    measure.skip_row(load.name, str(reason))
                except passes.Cannot as reason:
                    measure.skip(str(reason))
                except passes.Failed as failure:
                    if "exit status 77" not in str(failure):
                        raise
                    measure.skip_row(load.name, "the kernel has no io_uring for us")


if __name__ == "__main__":
    main()

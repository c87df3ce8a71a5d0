#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes in a program, as bpftrace, Beyla and others set them: stacks go through what they take away.

    test_uprobes.py PROGRAM CHECKER     the program prints its STACK lines; CHECKER is check_stacks.py

A probe at a function's entry makes its first instruction run elsewhere, one at its return makes the return address that of
a trampoline (bpf/uretprobe.bpf.h). A copy of the program is probed, so that nobody else's is. Exit status: that of the
checker; 77 where there is no tracefs or no uprobes.
"""
import contextlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile

SKIP = 77
FUNCTION = "middle"
KINDS = "p", "r"    # at the entry, at the return
COLD_RUNS = 8


def file_offset(path, name):
    """Of a function: its address by nm, by the segment that has it."""
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()
    address = next(int(line.split()[0], 16) for line in symbols if line.split()[-1] == name)
    with open(path, "rb") as file:
        data = file.read()
    first, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    for at in range(first, first + 56 * count, 56):     # Elf64_Phdr
        kind, _, offset, start, _, size = struct.unpack_from("<IIQQQQ", data, at)
        if kind == 1 and start <= address < start + size:
            return address - start + offset
    raise ValueError(f"{name} is in no segment")


@contextlib.contextmanager
def tracefs(directory):
    """Where it is; mounted, if it is nowhere."""
    for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        if os.path.exists(path + "/uprobe_events"):
            yield path
            return
    path = os.path.join(directory, "tracing")
    os.mkdir(path)
    done = subprocess.run(["mount", "-t", "tracefs", "none", path], capture_output=True, text=True, check=False)
    try:
        yield path if os.path.exists(path + "/uprobe_events") else None
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", path], check=True)


def write(path, text):
    """In one call, as echo does; uprobe_events is appended to."""
    handle = os.open(path, os.O_WRONLY | (os.O_APPEND if path.endswith("events") else 0))
    try:
        os.write(handle, (text + "\n").encode())
    finally:
        os.close(handle)


@contextlib.contextmanager
def probe(trace, kind, program):
    name = f"ep_{os.getpid()}_{kind}"
    write(f"{trace}/uprobe_events", f"{kind}:{name}/{FUNCTION} {program}:{file_offset(program, FUNCTION):#x}")
    try:
        write(f"{trace}/events/{name}/{FUNCTION}/enable", "1")
        yield
    finally:
        with contextlib.suppress(OSError):
            write(f"{trace}/events/{name}/{FUNCTION}/enable", "0")
        write(f"{trace}/uprobe_events", f"-:{name}/{FUNCTION}")


def is_whole_when_cold(program, directory):
    """
    Of the first samples of a program the stack is copied, since its tables are not made yet, and walked later: without what
    the kernel keeps for the task. Each record is the first that knows the program.
    """
    output = os.path.join(directory, "cold.folded")
    ended, lost = 0, []
    for _ in range(COLD_RUNS):
        subprocess.run([os.environ["EBPF_PROFILER_BINARY"], "record", "-q", "-F", "4999", "--force", "-o", output, "--", program, "0.05"],
                       stdout=subprocess.DEVNULL, check=True)
        with open(output, encoding="utf-8") as file:
            # Not in the middle of the kernel's own work: the return address is taken before it is in its list.
            found = [line for line in file if f";{FUNCTION};" in line and "uprobe_notify_resume" not in line]
        lost += [line for line in found if "_start;" not in line]
        ended += len(found)
    print(f"cold: {ended} kinds of stack, {len(lost)} end at the trampoline\n", *lost, sep="")
    return ended > 0 and not lost


def main(program, checker):
    if os.geteuid() != 0:
        print("skip: probing needs root")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="ep-uprobes-") as directory, tracefs(directory) as trace:
        if not trace:
            print("skip: this kernel has no uprobes, or no tracefs")
            return SKIP
        copy = shutil.copy(program, os.path.join(directory, "probed"))
        for kind in KINDS:
            print(f"{kind}: {FUNCTION}")
            with probe(trace, kind, copy):
                sys.stdout.flush()
                status = subprocess.run([sys.executable, checker, copy, "{seconds}"], check=False).returncode
            if status:
                return status
        with probe(trace, "r", copy):
            return 0 if is_whole_when_cold(copy, directory) else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))

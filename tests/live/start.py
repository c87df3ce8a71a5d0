#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts a program in a way that makes its files hard to find.

    start.py WAY PROGRAM [ARG...]

    ldso        by naming the dynamic linker, so that /proc/PID/exe is not the program
    deleted     from a file that is gone
    memfd       from memory
    chroot      behind another root, with copies of its libraries
    container   on an overlay file system, in mount and pid namespaces of its own, by pivot_root

Exit status 77 with a line that begins with "skip:" when this machine cannot.
"""
import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_REC, MS_PRIVATE, MNT_DETACH = 0x4000, 1 << 18, 2
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}.get(platform.machine())


def check(what, result):
    if result != 0:
        print(f"skip: {what}: {os.strerror(ctypes.get_errno())}")
        sys.exit(77)


def mount(source, target, kind, flags=0, data=""):
    check(f"mount {target}", LIBC.mount(source.encode(), target.encode(), kind.encode(), flags,
                                        data.encode()))


def linker_of(program):
    text = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True,
                          check=True).stdout
    return re.search(r"program interpreter: (\S+)\]", text)[1]


def libraries_of(program):
    text = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", text)


def start_ldso(program, arguments):
    linker = linker_of(program)
    os.execv(linker, [linker, program, *arguments])


def start_deleted(program, arguments):
    handle, path = tempfile.mkstemp(prefix="zoo-deleted-")
    os.close(handle)
    shutil.copy(program, path)
    fd = os.open(path, os.O_RDONLY)
    os.unlink(path)
    os.set_inheritable(fd, True)
    os.execv(f"/proc/self/fd/{fd}", [program, *arguments])


def start_memfd(program, arguments):
    fd = os.memfd_create("zoo", 0)
    with open(program, "rb") as source, open(fd, "wb", closefd=False) as target:
        shutil.copyfileobj(source, target)
    os.execv(f"/proc/self/fd/{fd}", [program, *arguments])


def run_and_wait(body):
    """Runs body in a child; ends with its exit status after cleaning up is possible."""
    pid = os.fork()
    if pid == 0:
        body()
        os._exit(126)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def start_chroot(program, arguments):
    with tempfile.TemporaryDirectory(prefix="zoo-root-") as root:
        for path in [program, *libraries_of(program)]:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)

        def body():
            os.chroot(root)
            os.chdir("/")
            os.execv(program, [program, *arguments])
        return run_and_wait(body)


def enter_overlay(base):
    """A root that is an overlay over ours, with its upper layer in memory."""
    mount("none", base, "tmpfs")
    for name in ("upper", "work", "root"):
        os.mkdir(f"{base}/{name}")
    mount("overlay", f"{base}/root", "overlay",
          data=f"lowerdir=/,upperdir={base}/upper,workdir={base}/work")
    os.chdir(f"{base}/root")
    check("pivot_root", LIBC.syscall(SYS_PIVOT_ROOT, b".", b"."))
    check("umount", LIBC.umount2(b".", MNT_DETACH))
    os.chdir("/")


def start_container(program, arguments):
    program = os.path.realpath(program)
    with tempfile.TemporaryDirectory(prefix="zoo-overlay-") as base:
        copy = f"/zoo-{os.getpid()}"

        def body():
            with open(program, "rb") as file:
                data = file.read()
            check("unshare", LIBC.unshare(CLONE_NEWNS))
            check("private mounts", LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
            enter_overlay(base)
            with open(copy, "wb") as file:  # in the upper layer
                file.write(data)
            os.chmod(copy, 0o755)
            os.execv(copy, [copy, *arguments])
        check("unshare", LIBC.unshare(CLONE_NEWPID))
        return run_and_wait(body)


def main(arguments):
    ways = {name[6:]: fn for name, fn in globals().items() if name.startswith("start_")}
    if len(arguments) < 2 or arguments[0] not in ways:
        print(__doc__)
        return 2
    return ways[arguments[0]](os.path.realpath(arguments[1]), arguments[2:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

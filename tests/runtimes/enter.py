#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of another root file system, as `install` makes them.

    enter.py WAY ROOT DIRECTORY [NAME=VALUE...] PROGRAM [ARG...]      PROGRAM: a path inside ROOT

    chroot      chroot in a mount namespace of its own: paths in /proc/PID/maps have ROOT in front
    container   pivot_root in mount and pid namespaces of its own: they have not
    ldso        ROOT's dynamic linker and libraries, no change of root: needs no privilege

DIRECTORY of the host is seen by the program under the same path. Of the environment it gets what is
given here, and no more. It runs in this process (or, in a container, in a child): what a profiler saw
before the exec is this file's.
Exit status 77 with a line that begins with "skip:" when this machine cannot.
"""
import glob
import itertools
import os
import sys

sys.dont_write_bytecode = True  # this is a source tree
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "live"))
import start  # noqa: E402

MS_BIND = 4096
ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/"}


def call(what, result):
    start.check(what, result)


def mount_inside(root, directory):
    """/proc, /dev and the directory; only this mount namespace sees them."""
    flags = start.MS_REC | start.MS_PRIVATE
    call("private mounts", start.LIBC.mount(None, b"/", None, flags, None))
    os.makedirs(root + directory, exist_ok=True)
    start.mount(root, root, "", MS_BIND | start.MS_REC)
    start.mount("proc", root + "/proc", "proc")
    start.mount("/dev", root + "/dev", "", MS_BIND | start.MS_REC)
    start.mount(directory, root + directory, "", MS_BIND)


def enter_chroot(root, directory, argv):
    call("unshare", start.LIBC.unshare(start.CLONE_NEWNS))
    mount_inside(root, directory)
    os.chroot(root)
    os.chdir("/")
    os.execv(argv[0], argv)


def enter_container(root, directory, argv):
    def body():
        call("unshare", start.LIBC.unshare(start.CLONE_NEWNS))
        mount_inside(root, directory)
        os.chdir(root)
        call("pivot_root", start.LIBC.syscall(start.SYS_PIVOT_ROOT, b".", b"."))
        call("umount", start.LIBC.umount2(b".", start.MNT_DETACH))
        os.chdir("/")
        os.execv(argv[0], argv)
    call("unshare", start.LIBC.unshare(start.CLONE_NEWPID))
    return start.run_and_wait(body)


def inside(root, path):
    """The file that a path of the host is, when absolute links in it are followed inside root."""
    while os.path.islink(path):
        target = os.readlink(path)
        path = root + target if target[0] == "/" else os.path.join(os.path.dirname(path), target)
    return path


def enter_ldso(root, _directory, argv):
    linkers = glob.glob(root + "/lib64/ld-linux-*.so.*") + glob.glob(root + "/lib/ld-linux-*.so.*")
    linkers = [inside(root, linker) for linker in linkers]
    libraries = glob.glob(root + "/usr/lib/*-linux-gnu") + [root + "/usr/lib"]
    if not linkers:
        print(f"skip: no dynamic linker in {root}")
        return 77
    os.execv(linkers[0], [linkers[0], "--library-path", ":".join(libraries), root + argv[0],
                          *argv[1:]])


def main(arguments):
    ways = {name[6:]: fn for name, fn in globals().items() if name.startswith("enter_")}
    settings = list(itertools.takewhile(lambda word: "=" in word, arguments[3:]))
    argv = arguments[3 + len(settings):]
    if not argv or arguments[0] not in ways:
        print(__doc__)
        return 2
    os.environ.clear()
    os.environ.update(ENVIRONMENT, **dict(setting.split("=", 1) for setting in settings))
    root, directory = map(os.path.realpath, arguments[1:3])
    return ways[arguments[0]](root, directory, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

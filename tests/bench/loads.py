# SPDX-License-Identifier: Apache-2.0
"""Short-lived work as machines have it: programs of the live tests to compile, and the names of who does it."""
import functools
import glob
import os
import shutil
import subprocess

import measure

ZOO = os.path.join(measure.ROOT, "tests", "live", "programs")
C_FLAGS = "-O1 -D_GNU_SOURCE -I" + measure.ROOT
C_FILES = [path for path in sorted(glob.glob(ZOO + "/*.c")) if '#include "zoo.h"' in measure.read_text(path)]
CXX_FILE, RUST_FILE = ZOO + "/cpp.cpp", ZOO + "/rusty.rs"


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_project(directory):
    """The Makefile of a program, and of a library that has the other C files."""
    objects = [os.path.basename(path).replace(".c", ".o") for path in C_FILES]
    write(os.path.join(directory, "Makefile"), f"""CC = gcc
CFLAGS = {C_FLAGS}
vpath %.c {ZOO}

program: nested.o libfiles.a
	$(CC) -o $@ nested.o -L. -lfiles

libfiles.a: {" ".join(sorted(set(objects) - {"nested.o"}))}
	rm -f $@ && ar rc $@ $^

clean:
	rm -f *.o libfiles.a program
""")


# --- who does it -----------------------------------------------------------------------------------

def executable(tool):
    """Base name of the file that runs when one says `tool`; None when it is not installed."""
    path = shutil.which(tool)
    return path and os.path.basename(os.path.realpath(path))


@functools.lru_cache(None)
def gcc_part(name):
    """gcc's own programs: cc1, collect2."""
    run = subprocess.run(["gcc", "-print-prog-name=" + name], capture_output=True, text=True, check=True)
    return os.path.basename(os.path.realpath(run.stdout.strip()))


def build_tools():
    """{comm: executables} of a build in C."""
    files = {tool: {executable(tool)} for tool in ("gcc", "as", "ld", "make", "ar", "rm", "sh") if executable(tool)}
    files.update({name: {gcc_part(name)} for name in ("cc1", "collect2")})
    return files


# --- a large compiler that nobody has seen before --------------------------------------------------

def rust_sysroot():
    if not shutil.which("rustc"):
        return None
    run = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else None


def copy_rustc(directory):
    """Copies rustc, its driver and its LLVM; the command of the copy."""
    sysroot = rust_sysroot()
    top = os.path.join(directory, "rust")
    shutil.rmtree(top, ignore_errors=True)
    os.makedirs(top + "/bin")
    os.makedirs(top + "/lib")
    shutil.copy(sysroot + "/bin/rustc", top + "/bin/rustc")
    for path in glob.glob(sysroot + "/lib/lib*.so*"):
        shutil.copy(path, top + "/lib/")
    os.symlink(sysroot + "/lib/rustlib", top + "/lib/rustlib")
    return [top + "/bin/rustc"]


def copy_cc1plus(directory):
    """Copies the C++ compiler proper; 30 MB, where there is no rustc."""
    copy = os.path.join(directory, "driver-cc1plus")
    path = subprocess.run(["gcc", "-print-prog-name=cc1plus"], capture_output=True, text=True,
                          check=True).stdout.strip()
    if not os.path.isabs(path):
        return None
    if os.path.exists(copy):
        os.unlink(copy)  # a new inode each time
    shutil.copy(path, copy)
    return [copy]

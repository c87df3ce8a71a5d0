# SPDX-License-Identifier: Apache-2.0
"""How tests/replay/record starts the JVMs of the fixtures: those of tests/runtimes/install.

Each is recorded in all kinds of code, a thread for each kind (programs/Stand.java). Some are recorded once
more with -Xint: the code cache is one heap then, and there is little in it.
"""
import functools
import os
import shutil
import subprocess
import time

import runtimes

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = HERE + "/programs/Stand.java"
KINDS = ["interpreted", "compiled", "native", "deoptimized", "copying"]
VERSIONS = [8, 11, 17, 21, 25, 28]
VIRTUAL_SINCE = 21
INT_KINDS = ["interpreted", "native"]
INTERPRETING = [8, 17, 25]
NAMES = [f"java-{version}" for version in VERSIONS] + [f"java-{version}-int" for version in INTERPRETING]
# Quiet: a JVM without these options prints what it was told.
FLAGS = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Stand$Interpreted.*", "-XX:-UsePerfData"]
SECONDS = 120

# What must be in the .txt of a thread of each kind: where it stands, and that it is whole.
FRAME = r"(?:hotspot  .*\n)"
ROOT = r"(hotspot|native)  .*\n(.+\n)*native  libc\S*  .*\n(\n|\Z)"
UNTIL = {
    "interpreted": rf"{FRAME}*hotspot  Stand\$Interpreted\.spin  .*\n{ROOT}",
    "compiled": rf"{FRAME}+hotspot  Stand\$Compiled\.sort  .*\n(hotspot  Stand\$Compiled\.middle .*\n){{2}}{ROOT}",
    "native": rf"native  .*\n(.+\n)*hotspot  Stand\.rest .*\nhotspot  Stand\$Native\$Holder\.<clinit>  .*\n{ROOT}",
    "deoptimized": rf"native  .*\n(.+\n)*hotspot  Stand\$Deoptimized\.measure  .*\n{ROOT}",
    "copying": rf"hotspot  \[.*\n{FRAME}*hotspot  Stand\.copying  .*\n{ROOT}",
    "virtual": rf"{FRAME}*hotspot  Stand\.spin  .*\n(hotspot  Stand\$Virtual\.deep .*\n)+hotspot  \[frames in the heap\].*\n{ROOT}",
}


@functools.cache
def all_runtimes():
    return [r for r in runtimes.find("hotspot") if "zero" not in r.flavors]


def compiler():
    for name in ("javac", "/usr/lib/jvm/default-java/bin/javac"):
        if shutil.which(name):
            return name
    return None


def kinds_of(name):
    version, _, flavor = name.removeprefix("java-").partition("-")
    if flavor == "int":
        return INT_KINDS
    return KINDS + (["virtual"] if int(version) >= VIRTUAL_SINCE else [])


def start(name, work):
    version, _, flavor = name.removeprefix("java-").partition("-")
    wanted = [r for r in all_runtimes() if r.root and r.numbers[0] == int(version)]
    wanted.sort(key=lambda r: r.source)
    if not wanted or not compiler():
        return None, f"no Java {version} in a root, or no javac"
    subprocess.run([compiler(), "--release", "8", "-Xlint:-options", "-d", work, SOURCE], check=True)
    flags = [*FLAGS, "-Xint"] if flavor == "int" else FLAGS
    run = subprocess.Popen(wanted[0].argv(["-cp", work, *flags, "Stand", str(SECONDS), *kinds_of(name)],
                                          directory=work, way="container"),
                           env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, text=True)
    if run.stdout.readline() != "ready\n":
        run.wait()
        return None, f"it did not start: {run.stdout.read()}"
    time.sleep(3)   # code that is better is compiled behind it
    return run, [rf"thread \d+ {kind}\n{UNTIL[kind]}" for kind in kinds_of(name)]


def threads(name):
    """Those that are recorded, by their names."""
    return kinds_of(name)

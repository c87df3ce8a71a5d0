# SPDX-License-Identifier: Apache-2.0
"""Java runtimes and programs for the live tests: found, compiled, run, profiled.

Compiles with any javac there is: the machine's, or one of a root file system of tests/runtimes.
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
PROGRAMS = os.path.realpath(os.path.join(HERE, "..", "programs"))
TESTS = os.path.realpath(os.path.join(HERE, "..", "..", "..", "..", "tests"))
sys.path[:0] = [HERE, os.path.join(TESTS, "live"), os.path.join(TESTS, "runtimes")]
import chains  # noqa: E402
import classes  # noqa: E402
import runs  # noqa: E402
import runtimes  # noqa: E402
from runs import Failed, Skipped, is_starter, not_of_sleeper, profiler  # noqa: E402, F401

QUICK = (8, 11, 17, 21, 25, 28)  # the releases of a quick run
RELEASE = 8  # of the class files: what the oldest runtime takes
LOADED = "hotspot: unwinder loaded"
NATIVE_FLAGS = ["-O2", "-shared", "-fPIC", "-nostdlib", "-fomit-frame-pointer", "-fno-sanitize=all"]
BARE_FLAGS = ["-DBARE", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]


def environment():
    return runs.environment("JAVA_", "JDK_JAVA", "_JAVA")


def run(command, timeout=120):
    return runs.run(command, timeout, environment())


# --- runtimes -------------------------------------------------------------------------------------

def find(complain=None):
    """Those with a compiler of HotSpot's, by version."""
    found = [r for r in runtimes.find("hotspot", complain=complain) if "zero" not in r.flavors]
    return sorted(found, key=lambda r: (r.numbers, r.source))


def major(runtime):
    return runtime.numbers[0]


def one_of_each(found):
    """For a quick run: a runtime of each of these releases, with a root where there is one."""
    chosen = {}
    for runtime in sorted(found, key=lambda r: not r.root):
        chosen.setdefault(major(runtime), runtime)
    return [chosen[n] for n in QUICK if n in chosen]


def options_of(runtime):
    """What keeps warnings off the program's output."""
    return ["--enable-native-access=ALL-UNNAMED"] if major(runtime) >= 22 else []


# --- compiling ------------------------------------------------------------------------------------

def compilers(directory):
    """Commands that run a javac, which sees the directory."""
    for path in [shutil.which("javac"), *sorted(glob.glob("/usr/lib/jvm/*/bin/javac"))]:
        if path:
            yield [path]
    for path in sorted(glob.glob(glob.escape(runtimes.CACHE) + "/*/usr/lib/jvm/*/bin/javac")):
        root = re.sub("/usr/lib/jvm/.*", "", path)
        yield [sys.executable, runtimes.ENTER, "chroot", root, directory, path[len(root):]]


def compile_java(sources, directory, release=RELEASE):
    """Class files into the directory."""
    inside = os.path.join(directory, "sources")  # a root file system sees that directory only
    os.makedirs(inside, exist_ok=True)
    copies = [shutil.copy(source, inside) for source in sources]
    errors = "no javac"
    for compiler in compilers(directory):
        done = run([*compiler, "--release", str(release), "-Xlint:-options", "-nowarn", "-encoding",
                    "UTF-8", "-d", directory, *copies])
        if done.returncode == 0:
            return
        errors = done.stderr[-1500:]
    if errors == "no javac":
        raise Skipped("skip: no javac, neither here nor in tests/runtimes")
    raise Failed("javac: " + errors)


def compile_native(directory):
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not compiler:
        return False
    source = os.path.join(PROGRAMS, "natives.c")
    for name, flags in (("rules", []), ("bare", BARE_FLAGS)):
        subprocess.run([compiler, *NATIVE_FLAGS, *flags, source, "-o",
                        os.path.join(directory, f"libjava{name}.so")], check=True)
    return True


def build(directory):
    """The burner and its libraries; True with the latter."""
    compile_java(sorted(glob.glob(os.path.join(PROGRAMS, "*.java"))), directory)
    return compile_native(directory)


# --- classes --------------------------------------------------------------------------------------

def read_classes(paths):
    found = {}
    for path in paths:
        with open(path, "rb") as file:
            read = classes.ClassFile(file.read())
        found[read.name] = read.methods
    return found


class Library:
    """The burner's classes, and of each runtime those that were asked for."""

    def __init__(self, directory):
        self.directory = directory
        self.own = read_classes(glob.glob(os.path.join(directory, "*.class")))
        self.known = collections.defaultdict(dict)  # runtime's name -> {class: methods or None}

    def code(self, runtime, samples):
        """chains.Code with every class of the samples that the runtime has a file of."""
        known = self.known[runtime.name]
        names = {chains.class_of(f) for s in samples for f in s.frames if chains.is_java(f)}
        names = sorted(names - set(known) - set(self.own))
        if names:
            known.update(dict.fromkeys(names), **self.dump(runtime, names))
        return chains.Code({**{k: v for k, v in known.items() if v is not None}, **self.own})

    def dump(self, runtime, names):
        into = os.path.join(self.directory, "jdk")
        shutil.rmtree(into, ignore_errors=True)
        os.makedirs(into)
        wanted = os.path.join(self.directory, "wanted")
        with open(wanted, "w", encoding="utf-8") as file:
            file.write("\n".join(names) + "\n")
        done = run(runtime.argv(["-cp", self.directory, "Dump", wanted, into], self.directory))
        if done.returncode:
            raise Failed("Dump: " + done.stderr[-500:])
        return read_classes(glob.glob(os.path.join(into, "*.class")))


# --- profiling ------------------------------------------------------------------------------------

def process_of(samples):
    """Those of the process that has most."""
    return runs.process_of(samples, is_starter)


def sleeper(java, directory):
    """java: a command that runs one"""
    return [*java, "-Xint", "-cp", directory, "Burner", "300", "none"]


def record(command, path, frequency=499, timeout=120, sleeps=(), after=None, seconds=0):
    """(profile, what the command and the profiler said); the arguments are those of runs.record."""
    done = runs.record(command, path, environment(), frequency, timeout, sleeps, LOADED, after, seconds)
    return chains.read_profile(path), done

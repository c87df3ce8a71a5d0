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
import zipfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
PROGRAMS = os.path.realpath(os.path.join(HERE, "..", "programs"))
import chains  # noqa: E402     and with it where the kit is
import classes  # noqa: E402
import language  # noqa: E402
import runtimes  # noqa: E402
from runs import Failed, Skipped  # noqa: E402

RELEASES = (8, 11, 17, 21, 25, 28)  # what each run that looks at one of each looks for
FLAGS = {   # of runs; label: options; what a JVM does not take is a skip
    "int": ["-Xint"],
    "comp": ["-Xcomp"],
    "c1": ["-XX:TieredStopAtLevel=1"],
    "c1_profiled": ["-XX:TieredStopAtLevel=3"],
    "c2": ["-XX:-TieredCompilation"],
    "one_heap": ["-XX:-SegmentedCodeCache"],
    "small_heap": ["-XX:ReservedCodeCacheSize=4m", "-XX:+UseCodeCacheFlushing"],
    "every_scope": ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"],
    "no_scope": ["-XX:+UnlockDiagnosticVMOptions", "-XX:-DebugNonSafepoints"],
    "serial": ["-XX:+UseSerialGC"],
    "parallel": ["-XX:+UseParallelGC"],
    "g1": ["-XX:+UseG1GC"],
    "z": ["-XX:+UseZGC"],
    "shenandoah": ["-XX:+UseShenandoahGC"],
    "no_inlining": ["-XX:-Inline"],
    "no_cds": ["-Xshare:off"],
    "frame_pointers": ["-XX:+PreserveFramePointer"],
    "big_heap": ["-Xmx1g", "-XX:-UseCompressedOops"],
}
SLOW_SECONDS = 4
SLOW = ("int", "comp")
RELEASE = 8  # of the class files: what the oldest runtime takes
NATIVE_FLAGS = ["-O2", "-shared", "-fPIC", "-nostdlib", "-fomit-frame-pointer", "-fno-sanitize=all"]
BARE_FLAGS = ["-DBARE", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
HIGHER = 1000  # lines of the second version of a class that is redefined
AGENT = "Premain-Class: Redefine\nCan-Redefine-Classes: true\n"
LANGUAGE = language.Language("hotspot", "JAVA_", "JDK_JAVA", "_JAVA")
run, record = LANGUAGE.run, LANGUAGE.record


# --- runtimes -------------------------------------------------------------------------------------

def find(complain=None):
    """Those with a compiler of HotSpot's, by version."""
    return [r for r in LANGUAGE.find(complain) if "zero" not in r.flavors]


def major(runtime):
    return runtime.numbers[0]


def one_of_each(found):
    """A runtime of each of these releases, with a root where there is one."""
    return list(language.first_of_each(sorted(found, key=lambda r: not r.root), major, RELEASES).values())


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


def build_redefined(directory):
    """Both versions of Redefine.java, and the jar of the agent; its path. All classes are there already."""
    source = os.path.join(PROGRAMS, "Redefine.java")
    second = os.path.join(directory, "second")
    os.mkdir(second)
    with open(source, encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(second, "Redefine.java"), "w", encoding="utf-8") as file:
        file.write("\n" * HIGHER + text.replace("Redefine.one(", "Redefine.two("))
    programs = [path for path in glob.glob(os.path.join(PROGRAMS, "*.java")) if path != source]
    compile_java([os.path.join(second, "Redefine.java"), *programs], second)
    os.rename(os.path.join(second, "Redefine$Work.class"), os.path.join(directory, "Redefine$Work.2"))
    jar = os.path.join(directory, "agent.jar")
    with zipfile.ZipFile(jar, "w") as made:
        made.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n" + AGENT)
    return jar


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

def sleeper(java, directory):
    """java: a command that runs one"""
    return [*java, "-Xint", "-cp", directory, "Burner", "300", "none"]


def command(runtime, directory, *words, options=(), way=None, path=""):
    """The burner's. path: of classes."""
    return runtime.argv([*options_of(runtime), *options, "-Dnatives=" + directory, "-cp", path or directory, "Burner",
                         *words], directory, way)


class Repeated(language.Check):
    """What checks share that count samples of one program, in a runtime of each release, in several ways."""
    language = LANGUAGE
    groups = ()
    frequency = 999

    @classmethod
    def add_flags(cls, made):
        made.add_argument("--major", type=int)

    def prepare(self):
        compile_java(sorted(glob.glob(os.path.join(PROGRAMS, "*.java"))), self.directory)

    def sleeper(self, case):
        return sleeper(case.runtime.argv([], self.directory), self.directory)

    def find(self):
        return one_of_each(find())

    def cases(self):
        for runtime in self.find():
            if self.options.major in (None, major(runtime)):
                yield from (language.Case(runtime, way) for way in self.ways)

    def default_cases(self):
        return (language.Case(self.newest(), way) for way in self.ways)


class Javas(language.Check):
    """What checks share that run the burner."""
    language = LANGUAGE
    seconds = 4, 10
    start = 2, 200

    def prepare(self):
        if not build(self.directory):
            language.skip("native", "no C compiler: no native code between Java's")
        self.library = Library(self.directory)

    def sleeper(self, case):
        return sleeper(case.runtime.argv([], self.directory), self.directory)

    def judge(self, run, samples):
        return self.judge_of(run.case.runtime, run.text, samples)

    def judge_of(self, runtime, text, samples):
        return chains.Judge(chains.Said(text), self.library.code(runtime, samples), set(self.library.own))

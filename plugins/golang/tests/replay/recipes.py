# SPDX-License-Identifier: Apache-2.0
"""How tests/replay/record builds and starts the Go programs of the fixtures: with those of tests/runtimes/install.

One of each header of the function table and of each shape of the runtime's assembly. Nobody packages 1.16 or 1.17
any more: that one was built from Go's sources (5805efc78e, the day of 1.17's release; src/make.bash with Debian's
1.19) into go1.17 beside the others.
"""
import functools
import os
import re
import shutil
import subprocess
import time

import runtimes

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = HERE + "/programs/stand"
FLAVORS = {"": [], "stripped": ["-buildmode=pie", "-ldflags=-s -w"]}
NAMES = ["golang-1.15", "golang-1.17", "golang-1.19", "golang-1.21", "golang-1.24", "golang-1.26",
         "golang-1.26-stripped", "golang-1.27"]
THREADS = ["inlined", "panics", "described", "growing", "signalled", "turns"]

with open(SOURCE + "/stand.go", encoding="utf-8") as file:
    LINES = file.read().splitlines()


def line_of(text):
    """Of stand.go: the one that has it."""
    found = [number for number, line in enumerate(LINES, 1) if text in line]
    assert len(found) == 1, text
    return found[0]


def frame(name, text=None):
    """Of a function of the program; text: of its line."""
    return rf"native  stand  main\.{re.escape(name)}  stand/stand\.go:{line_of(text) if text else '[0-9]+'}\n"


def of_runtime(name):
    return rf"native  stand  runtime\.{name}  \S*:\d+\n"


OWN = of_runtime(r"\S+")
FROM_KERNEL = r"(?:native  stand  (?:runtime/internal/|internal/runtime/)?syscall\S*  .*\n)+"
ROOT = of_runtime("goexit")
STARTED = r"native  stand  main\.main\S+  .*\n"    # what the compiler makes of `go f(x)`
STAY = frame("stay", "	run()") + f"(?:{STARTED})?" + ROOT
TO_C = rf"(?:{of_runtime('asmcgocall.*')}){{1,2}}{of_runtime('cgocall')}"
IN_C = rf"(?:native  (?:stand|libc)\S*  (?!main|runtime)\S+(?:  \S+)?\n)+{TO_C}native  stand  main\._Cfunc_c_%s  .*\n"
INNER = r"(?:native  stand  main\.turn\.func1.*\n)?"
TO_GO = r"(?:native  stand  (?:runtime\.cgocallback|runtime\.call|_cgoexp|crosscall2|main\._cgoexp).*\n)+"
TURN = (frame("goTurn", "return C.ulong(turn") + TO_GO +
        IN_C % "turn" + INNER + frame("turn", "C.c_turn("))
UNTIL = {
    "inlined": frame("stand") + frame("innermost", "return stand(x|1)") + frame("middle", "return innermost(x^2)") +
    frame("inlined", "sink = middle(7)") + STAY,
    "panics": FROM_KERNEL + frame("pause") + r"native  stand  main\.panics\.func1  .*\n" + f"(?:{OWN})*" +
    of_runtime("sigpanic") + frame("fail", "return b.room") + frame("panics", "fail(nil)") + STAY,
    "described": f"(?:{OWN})+" + of_runtime(r"Stack\.func1") + of_runtime("systemstack") + of_runtime("Stack") +
    frame("describe", "runtime.Stack(text") + f"(?:{frame('describe', 'return describe(left-1')}){{40}}" +
    frame("described", "describe(40") + ROOT,
    "growing": f"(?:{OWN})+" + of_runtime("newstack") + of_runtime("morestack") + f"(?:{frame('grow')}){{2,}}" +
    frame("grown", "done <- grow"),
    "signalled": f"(?:{OWN})+" + r"(?:native  libc\S*  \S+\n|" + of_runtime(r"sigreturn\S*") + ")" + FROM_KERNEL +
    frame("signalled", "RawSyscall(syscall.SYS_TGKILL") + STAY,
    "turns": IN_C % "stand" + INNER + frame("turn", "C.c_stand()") + f"(?:{TURN}){{2}}" + frame("turns") + STAY,
}


@functools.cache
def all_runtimes():
    os.environ.pop("GOFLAGS", None)     # the user's may be unknown to old ones
    os.environ["GOENV"] = "off"
    return list(runtimes.find("golang"))


def environment(runtime, work):
    """Nothing is asked of the network, nothing left in the user's caches."""
    command = runtime.root + runtime.program
    found = {"PATH": os.environ["PATH"], "HOME": work, "GOTOOLCHAIN": "local", "GOPROXY": "off", "GO111MODULE": "on",
             "GOENV": "off", "GOFLAGS": "", "CGO_ENABLED": "1", "GOCACHE": work + "/cache", "GOPATH": work + "/path"}
    if runtime.root:    # its own idea of where it is does not hold here
        found["GOROOT"] = os.path.dirname(os.path.dirname(os.path.realpath(command)))
    return found


def build(runtime, flavor, work):
    """What it printed."""
    directory = work + "/source/stand"
    shutil.copytree(SOURCE, directory, dirs_exist_ok=True)
    options = [*FLAVORS[flavor], "-trimpath"] + ([] if runtime.numbers[1] < 18 else ["-buildvcs=false"])
    command = [runtime.root + runtime.program, "build", *options, "-o", work + "/stand", "."]
    return subprocess.run(command, cwd=directory, env=environment(runtime, work), check=False, capture_output=True,
                          text=True)


def start(name, work):
    version, _, flavor = name.removeprefix("golang-").partition("-")
    wanted = [r for r in all_runtimes() if re.match(re.escape(version) + r"(\.|$)", r.version)]
    wanted.sort(key=lambda r: (r.source != "host", r.source))
    if not wanted or not shutil.which("gcc"):
        return None, f"no Go {version}, or no gcc"
    built = build(wanted[0], flavor, work)
    if built.returncode:
        return None, f"it cannot be built: {built.stderr}"
    run = subprocess.Popen([work + "/stand"], env={"GODEBUG": "asyncpreemptoff=1"},
                           stdout=subprocess.PIPE, text=True)
    if run.stdout.readline() != "ready\n":
        run.wait()
        return None, "it did not start"
    time.sleep(2)
    return run, [rf"thread \d+ {kind}\n{UNTIL[kind]}" for kind in THREADS]


def threads(_name):
    """Those that are recorded, by their names."""
    return THREADS

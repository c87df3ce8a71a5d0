# SPDX-License-Identifier: Apache-2.0
"""Goes and what they build for the live tests and the benches. What their compilers made of Go's own packages is kept
beside the runtimes, in .go-build."""
import dataclasses
import os
import shutil
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "..", "tests", "kit")]
import language  # noqa: E402
import runs  # noqa: E402
import runtimes  # noqa: E402
from runs import Failed, Skipped  # noqa: E402

PROGRAMS = os.path.realpath(os.path.join(HERE, "..", "programs"))
BURNER, OPENER, HOST = (os.path.join(PROGRAMS, name) for name in ("burner", "opener", "host.c"))
BUILD_SECONDS = 600
LANGUAGE = language.Language("golang", "GO", "CGO")
find, record = LANGUAGE.find, LANGUAGE.record

STRIP = "-ldflags=-s -w"


@dataclasses.dataclass
class Build:
    """
    What `go build` makes of the burner. A library gets a suffix, and finish(runtime, path, directory) makes the
    program that has it. bar, lacks, oldest: what docs/go.md says of it in "Limits"; scenarios
    without a whole stack; releases that are judged.
    """
    cgo: bool
    options: tuple = ()
    suffix: str = ""
    finish: object = None
    bar: float = language.THRESHOLD
    lacks: tuple = ()
    oldest: int = 0     # 1.N


def with_c_shared(_runtime, path, _directory):
    link_host(path, [path + ".so", "-Wl,-rpath," + os.path.dirname(path)])


def with_c_archive(_runtime, path, _directory):
    link_host(path, [path + ".a", "-pthread", "-lresolv"])


def link_host(path, libraries):
    must(["gcc", "-O2", "-o", path, HOST, *libraries], LANGUAGE.environment())


def with_plugin(runtime, path, directory):
    go_build(runtime, OPENER, path, directory, cgo=True)


BUILDS = {
    "plain": Build(False),
    "cgo": Build(True),
    "stripped": Build(False, (STRIP,)),
    "cgo_stripped": Build(True, (STRIP,)),
    "pie": Build(False, ("-buildmode=pie",)),
    "cgo_pie": Build(True, ("-buildmode=pie",)),
    "cgo_pie_stripped": Build(True, ("-buildmode=pie", STRIP)),
    "c_shared": Build(True, ("-buildmode=c-shared",), ".so", with_c_shared),
    "c_archive": Build(True, ("-buildmode=c-archive",), ".a", with_c_archive),
    "race": Build(True, ("-race",), bar=91.0, oldest=19),
    "plugin": Build(True, ("-buildmode=plugin",), ".so", with_plugin, bar=94.0, lacks=("growing",), oldest=21),
}


def minor(runtime):
    return runtime.numbers[1]


# --- building -------------------------------------------------------------------------------------

def environment(runtime, cgo):
    """Nothing is asked of the network, nothing left in the user's caches: one beside the runtimes is kept."""
    env = LANGUAGE.environment()
    if runtime.root:    # its own idea of where it is does not hold here
        env["GOROOT"] = os.path.dirname(os.path.dirname(os.path.realpath(runtime.root + runtime.program)))
    return dict(env, GOTOOLCHAIN="local", GOPROXY="off", GO111MODULE="on", GOENV="off", CGO_ENABLED="01"[cgo],
                GOCACHE=os.path.join(runtimes.CACHE, ".go-build"), GOPATH=os.path.join(runtimes.CACHE, ".go-path"))


def must(command, env):
    done = runs.run(command, BUILD_SECONDS, env)
    if done.returncode:
        raise Failed(f"cannot be built: {done.stderr[-1500:]}")


def go_build(runtime, source, path, directory, options=(), cgo=False):
    copy = os.path.join(directory, os.path.basename(source))
    shutil.copytree(source, copy, dirs_exist_ok=True)
    more = [] if minor(runtime) < 18 else ["-buildvcs=false"]
    must(["env", "-C", copy, runtime.root + runtime.program, "build", *options, *more, "-o", path, "."],
         environment(runtime, cgo))


def build(runtime, label, path, directory):
    """The burner, at path."""
    what = BUILDS[label]
    if what.cgo and not shutil.which("gcc"):
        raise Skipped("skip: no gcc, which Go takes for C")
    go_build(runtime, BURNER, path + what.suffix, directory, what.options, what.cgo)
    if what.finish:
        what.finish(runtime, path, directory)

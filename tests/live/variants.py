# SPDX-License-Identifier: Apache-2.0
"""Files that are taken for others: two programs of one build id, or of one inode, and whose frames their samples have.

A case runs both programs for a while, each under a name of its own (COMMS), and says which file lies where; a frame of
the other program is wrong. What a sample's program is, its comm says: the links by which they are started differ.
In some cases the other program is a neighbour's, who wants his names to be taken for those of the first.
"""
import collections
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

import judge
import passes
import stacks
import whole

COMMS = {"variant_one": "two", "variant_two": "one"}  # who is run, and whose functions it has not
FREQ = 199
CANNOT = (3, 4)  # exit codes of the profiler
RUN_MS = 60
PRIVATE = "mount --make-rprivate /; "


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise passes.Cannot(f"{command[0]}: {done.stderr.strip()}")


class Place:
    """A directory with the program's place in it, `at/program`, and links to that by both names."""

    def __init__(self, directory, programs, kind):
        self.directory, self.at = directory, os.path.join(directory, "at")
        self.variant = {n: os.path.join(programs, f"variant_{n}_{kind}") for n in ("one", "two")}
        os.mkdir(self.at)
        self.program = os.path.join(self.at, "program")
        self.undo = contextlib.ExitStack()

    def path(self, name):
        path = os.path.join(self.directory, name)
        os.makedirs(path, exist_ok=True)
        return path

    def copy(self, name, to=None):
        """As cp does: an inode that is there stays."""
        shutil.copy(self.variant[name], to or self.program)

    def runs(self, name, seconds, program=None):
        """A shell command: the program under this name, over and over, so much CPU time."""
        link = os.path.join(self.directory, "variant_" + name)
        if not os.path.lexists(link):
            os.symlink(program or self.program, link)
        return f"for i in $(seq {int(seconds * 1000 / RUN_MS)}); do {link} {RUN_MS}; done"

    def mount(self, *arguments):
        """In our own namespace; undone at the end."""
        run("mount", *arguments)
        self.undo.callback(subprocess.run, ["umount", "-l", arguments[-1]], check=False)


def apart(mounts, command):
    """The command in a mount namespace with mounts of its own."""
    return ["unshare", "-m", "sh", "-ec", PRIVATE + mounts + "; " + command]


def here(command):
    return ["sh", "-ec", command]


def together(*commands):
    running = [subprocess.Popen(command) for command in commands]
    if any([proc.wait() for proc in running]):
        raise passes.Cannot("a mount namespace could not be made")


# --- cases ---

def namespaces(place, seconds):
    """Two files of one build id (or of none) at one path, in two namespaces, one of them first."""
    place.copy("one")
    other = os.path.join(place.path("other"), "program")
    place.copy("two", other)
    together(here(place.runs("one", 1)))
    together(here(place.runs("one", seconds)),
             apart(f"mount --bind {other} {place.program}", place.runs("two", seconds)))


def overwritten(place, seconds):
    """cp over the program, which keeps its inode; the other one runs a second later."""
    place.copy("one")
    together(here(place.runs("one", seconds / 2)))
    place.copy("two")
    time.sleep(1)
    together(here(place.runs("two", seconds / 2)))


def overwritten_at_once(place, seconds):
    """The same before anybody has read the names of the first one: it has none then, or its own."""
    for name in ("one", "two", "one", "two"):
        place.copy(name)
        together(here(place.runs(name, seconds / 4)))
        time.sleep(1 if name == "two" else 0)


def bound(place, seconds):
    """A file that is bound over another one, and back again, in one namespace."""
    place.copy("one")
    other = os.path.join(place.path("other"), "program")
    place.copy("two", other)
    together(here(place.runs("one", seconds / 2)))
    place.mount("--bind", other, place.program)
    time.sleep(1)
    together(here(place.runs("two", seconds / 2)))


def overlays(place, seconds):
    """Two overlays of one lower directory; one of them has its own copy of the file, by cp."""
    lower = place.path("lower")
    place.copy("one", os.path.join(lower, "program"))
    mounts = [f"mount -t overlay overlay -o lowerdir={lower},upperdir={place.path('upper' + n)},"
              f"workdir={place.path('work' + n)} {place.at}" for n in "12"]
    copy = f"cp {place.variant['two']} {place.program}; "
    together(apart(mounts[0], place.runs("one", 1)))
    together(apart(mounts[0], place.runs("one", seconds)),
             apart(mounts[1], copy + place.runs("two", seconds)))


def snapshots(place, seconds):
    """A btrfs subvolume and its snapshot, in which the file, of the same inode number, is overwritten."""
    image, top = os.path.join(place.directory, "image"), place.path("btrfs")
    if not shutil.which("mkfs.btrfs"):
        raise passes.Cannot("no mkfs.btrfs (package btrfs-progs)")
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    run("mkfs.btrfs", "-q", image)
    place.mount("-o", "loop", image, top)
    run("btrfs", "-q", "subvolume", "create", top + "/old")
    place.copy("one", top + "/old/program")
    run("btrfs", "-q", "subvolume", "snapshot", top + "/old", top + "/new")
    place.copy("two", top + "/new/program")
    if os.stat(top + "/old/program").st_ino != os.stat(top + "/new/program").st_ino:
        raise passes.Cannot("a snapshot whose file has another inode number")
    binds = [f"mount --bind {top}/{name} {place.at}" for name in ("old", "new")]
    together(apart(binds[0], place.runs("one", 1)))
    together(apart(binds[0], place.runs("one", seconds)),
             apart(binds[1], place.runs("two", seconds)))


# --- neighbours ---

NOBODY = 65534
# Executed in our mount namespace; a user then makes his own, binds the second path over the first, and maps what is there.
BIND_AND_MAP = f"""
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
if libc.unshare(0x10000000 | 0x20000) or libc.mount(sys.argv[2].encode(), sys.argv[1].encode(), None, 4096, None):
    sys.exit(os.strerror(ctypes.get_errno()))
file, maps = os.open(sys.argv[1], os.O_RDONLY), []
while True:
    maps.append(mmap.mmap(file, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
    print(flush=True)
    time.sleep(0.05)
"""


@contextlib.contextmanager
def neighbour(command, **options):
    """It runs from its first line of output on."""
    proc = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    try:
        if not proc.stdout.readline():
            raise passes.Cannot(f"no namespaces for the neighbour: {proc.stderr.read().decode().strip()}")
        yield
    finally:
        proc.kill()
        proc.communicate()


def unshared(place, seconds):
    """A user whose mount namespace is another one than that in which he was executed maps his file at the other's path."""
    os.chmod(place.directory, 0o755)
    place.copy("one")
    other = os.path.join(place.path("other"), "program")
    place.copy("two", other)
    with neighbour([sys.executable, "-c", BIND_AND_MAP, place.program, other]):
        together(here(place.runs("one", seconds)))


def debug_files(place, seconds, unshare, **options):
    """Somebody runs a stripped program first, in a namespace where /usr/lib/debug has another one's names for it."""
    if not os.path.isdir("/usr/lib/debug") or not shutil.which("strip"):
        raise passes.Cannot("no /usr/lib/debug, or no strip")
    os.chmod(place.directory, 0o755)
    run("strip", "-o", place.program, place.variant["one"])
    names = os.path.join(place.path("other"), "names")
    place.copy("two", names)
    build_id = "/usr/lib/debug/.build-id/b1"
    link = os.path.join(place.directory, "variant_two")
    os.symlink(place.program, link)
    script = (f"mount -t tmpfs none /usr/lib/debug; mkdir -p {build_id}; cp {names} {build_id}/{'b1' * 19}.debug; "
              f"chmod 644 {build_id}/*; (sleep 0.3; echo) & exec {link} 100000")
    with neighbour(["unshare", *unshare, "sh", "-ec", script], **options):
        together(here(place.runs("one", seconds)))


def debug_files_of_a_user(place, seconds):
    debug_files(place, seconds, ["-Urm"], user=NOBODY, group=NOBODY, extra_groups=[])


def debug_files_of_a_container(place, seconds):
    debug_files(place, seconds, ["-m", "--propagation", "private"])


CASES = {case.__name__: case for case in (
    namespaces, overwritten, overwritten_at_once, bound, overlays, snapshots, unshared, debug_files_of_a_user,
    debug_files_of_a_container)}
NEIGHBOURS = ("unshared", "debug_files_of_a_user", "debug_files_of_a_container")
KINDS = ("id", "bare")  # with the same build id; without one
KINDS_OF = {"debug_files_of_a_user": ("id",), "debug_files_of_a_container": ("id",)}


class Found:
    """Samples of both programs: all, those with a frame of the other, those that do not come to their own main."""

    def __init__(self, samples):
        self.samples, self.wrong, self.lost = 0, 0, 0
        self.examples = collections.Counter()
        for sample in samples:
            if sample.labels.get("comm") not in COMMS:
                continue
            other, names = COMMS[sample.labels["comm"]], [frame.name for frame in sample.frames]
            self.samples += sample.count
            if f"spin_{other}" in names or f"work_{other}" in names:
                self.wrong += sample.count
                self.examples[" ".join(names)] += sample.count
            elif judge.reason(sample.frames):
                self.lost += sample.count


def record(case, kind, programs, seconds, directory):
    """What a recording of the whole machine has of a case."""
    out, log = os.path.join(directory, "out.pb.gz"), os.path.join(directory, "log")
    place = Place(os.path.join(directory, ""), programs, kind)
    with place.undo, open(log, "wb") as said:
        profiler = subprocess.Popen(
            [os.environ["EBPF_PROFILER_BINARY"], "record", "-v", "-a", "-F", str(FREQ), "-o", out],
            stderr=said, env=passes.environment())
        try:
            whole.wait_until(lambda: whole.is_sampling(log) or profiler.poll() is not None)
            CASES[case](place, seconds)
        finally:
            profiler.terminate()
            profiler.wait(120)
    if profiler.returncode in CANNOT:
        with open(log, encoding="utf-8", errors="replace") as text:
            raise passes.Cannot(text.read().strip())
    return Found(stacks.read_profile(out).samples)


def run_case(case, kind, programs, seconds=4):
    with tempfile.TemporaryDirectory(prefix="ebpf-profiler-test-") as directory:
        return record(case, kind, programs, seconds, directory)

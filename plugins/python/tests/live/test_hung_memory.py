#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pythons with a function's name in a page of a file system that does not answer: a recording ends all the same,
and a neighbour has all its names. Needs root, bpf() and /dev/fuse.

    test_hung_memory.py                     EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
    test_hung_memory.py hang FILE           one that hangs whoever reads the name of its function
"""
import ctypes
import mmap
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "..", "tests", "live"))
TARGETS = 4
NAME_BYTES = 1 << 20  # a block of its own: nothing else is in the page that holds its beginning

NEIGHBOUR = """
def burn_beside_them():
    while True: pass
burn_beside_them()
"""


def hang(path):
    """The name's first page becomes one of the file. Nobody but a profiler looks at it from then on."""
    name = "f" + "x" * NAME_BYTES

    def burn():
        while True:
            pass

    burn.__code__ = burn.__code__.replace(co_name=name, **(
        {"co_qualname": name} if hasattr(burn.__code__, "co_qualname") else {}))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    page = mmap.PAGESIZE
    addr = id(burn.__code__.co_name) & ~(page - 1)
    fd = os.open(path, os.O_RDONLY)
    os.write(1, b"ready\n")
    os.read(0, 1)
    if libc.mmap(addr, page, mmap.PROT_READ, mmap.MAP_PRIVATE | 0x10, fd, 0) != addr:  # MAP_FIXED
        os._exit(1)
    os.write(1, b"mapped\n")
    burn()


def main():
    import subprocess
    import whole
    import hung_mount
    import stacks
    from test_hung_mounts import Case, cpu_ticks, wait_for

    class HungMemory(Case):
        def start_target(self, path):
            proc = self.start(sys.executable, os.path.realpath(__file__), "hang", path,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(proc.stdout.close)
            self.addCleanup(proc.stdin.close)
            self.assertEqual(proc.stdout.readline(), b"ready\n")
            return proc

        def map_page(self, proc):
            proc.stdin.write(b"g")
            proc.stdin.flush()
            self.assertEqual(proc.stdout.readline(), b"mapped\n")

        def run_with(self, when):
            mount = self.mount({"page": bytes(4096)})
            targets = [self.start_target(mount.path("page")) for _ in range(TARGETS)]
            neighbour = self.start(sys.executable, "-c", NEIGHBOUR)
            mount.stop()
            if when == "before":
                for target in targets:
                    self.map_page(target)
            run = self.record(*targets, neighbour)
            if when == "after":
                for target in targets:
                    self.map_page(target)
            wait_for("CPU time of the neighbour", lambda: cpu_ticks(neighbour.pid) > 200)
            for target in targets:
                wait_for("CPU time of a target", lambda: cpu_ticks(target.pid) > 50)
            samples = self.end(run).samples
            self.assertIn("its memory does not come", self.log())
            mine = [s for s in samples if s.labels["pid"] == neighbour.pid]
            count = sum(s.count for s in mine)
            named = sum(s.count for s in mine if any(f.name == "burn_beside_them" for f in s.frames))
            print(f"the neighbour: {named} of {count} samples have the function")
            self.assertGreater(count, 0)
            self.assertGreater(named, 0.8 * count)

        def test_names_in_pages_that_do_not_come(self):
            self.run_with("before")

        def test_pages_that_are_mapped_during_the_recording(self):
            self.run_with("after")

    globals()["HungMemory"] = HungMemory
    whole.main()


if __name__ == "__main__":
    if sys.argv[1:2] == ["hang"]:
        hang(sys.argv[2])
    else:
        main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single-steps Java's compiled code in each runtime, with a walk at every instruction (step.h).

    check_step.py --step step_hotspot [--plugins DIR] [--quick] [--only WORD] [-n N] [--flags="FLAG.."]
                  [--percent P]

Runs what tests/runtimes has installed; --quick: one of each release, with the
compilers as they are, and the oldest and the newest with each compiler alone and with none. A run fails below P percent of right callers (99.9).
Exit status 77 when there is no runtime, no javac, or no right to trace.
"""
import argparse
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # this is a source tree
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
import javas  # noqa: E402

TREE = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[".."] * 5))
ENTER = os.path.join(TREE, "tests/runtimes/enter.py")
ROOTS = os.environ.get("EBPF_PROFILER_RUNTIMES", "/var/tmp/ebpf-profiler-runtimes")
SKIP = 77
ALONE = ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation -XX:-Inline"]


class Tables:
    """What a VM publishes of itself: vmStructs.hpp, VMStructEntry; strides and offsets have symbols."""

    def __init__(self, pid):
        self.memory = open(f"/proc/{pid}/mem", "rb", 0)
        self.symbols = self.find_symbols(pid)
        self.fields, self.statics, self.sizes = {}, {}, {}
        for entry in self.entries("gHotSpotVMStructs", "gHotSpotVMStructEntry", "TypeName"):
            key = self.string(entry("TypeName")), self.string(entry("FieldName"))
            if entry("IsStatic") & 0xffffffff:
                self.statics[key] = entry("Address")
            else:
                self.fields[key] = entry("Offset"), self.string(entry("TypeString"))
        for entry in self.entries("gHotSpotVMTypes", "gHotSpotVMTypeEntry", "TypeName"):
            self.sizes[self.string(entry("TypeName"))] = entry("Size")

    @staticmethod
    def find_symbols(pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            line = next(line for line in maps if line.rstrip().endswith("libjvm.so"))
        where = line.split()[0]
        output = subprocess.run(["nm", "-D", "--defined-only", f"/proc/{pid}/map_files/{where}"],
                                capture_output=True, text=True, check=True).stdout
        base = int(where.split("-")[0], 16)
        words = (line.split() for line in output.splitlines())
        return {w[2].split("@")[0]: base + int(w[0], 16) for w in words if "gHotSpot" in w[2]}

    def read(self, addr, n):
        self.memory.seek(addr)
        return self.memory.read(n)

    def word(self, addr):
        return struct.unpack("<Q", self.read(addr, 8))[0]

    def string(self, addr):
        text = b""
        while addr and b"\0" not in text and len(text) < 400:
            text += self.read(addr + len(text), 16)
        return text.split(b"\0")[0].decode()

    def entries(self, table, entry, last):
        addr = self.word(self.symbols[table])
        stride = self.word(self.symbols[entry + "ArrayStride"])
        while True:
            data = self.read(addr, stride)

            def get(name, data=data):
                off = self.word(self.symbols[f"{entry}{name}Offset"])
                return struct.unpack("<Q", data[off:off + 8].ljust(8, b"\0"))[0]
            if not get(last):
                return
            yield get
            addr += stride

    def off(self, kind, field):
        return self.fields[kind, field][0]

    def heaps(self):
        if ("CodeCache", "_heap") in self.statics:  # 8
            return [self.word(self.statics["CodeCache", "_heap"])]
        array = self.word(self.statics["CodeCache", "_heaps"])
        base = "GrowableArrayBase" if "GrowableArrayBase" in self.sizes else "GenericGrowableArray"
        n = struct.unpack("<i", self.read(array + self.off(base, "_len"), 4))[0]
        data = self.word(array + self.off("GrowableArray<int>", "_data"))
        return [self.word(data + 8 * i) for i in range(n)]

    def member(self, kinds, names):
        """Offset and bytes, by the type's name."""
        widths = {"int": 4, "u2": 2, "int16_t": 2, "CompLevel": 1}
        for kind in kinds:
            for name in names:
                if (kind, name) in self.fields:
                    off, text = self.fields[kind, name]
                    width = widths.get(text, 8)
                    return f"{off} {self.sizes[text] if text == 'CompLevel' else width}"
        return "0 0"

    def layout(self):
        space = "VirtualSpace"
        memory, segmap = self.off("CodeHeap", "_memory"), self.off("CodeHeap", "_segmap")
        for heap in self.heaps():
            low = self.word(heap + memory + self.off(space, "_low"))
            high = self.word(heap + memory + self.off(space, "_high_boundary"))
            segments = self.word(heap + segmap + self.off(space, "_low"))
            shift = self.word(heap + self.off("CodeHeap", "_log2_segment_size")) & 0xffffffff
            yield f"heap {low:x} {high:x} {segments:x} {shift}"
        yield f"block {self.sizes['HeapBlock']} {self.off('HeapBlock::Header', '_used')}"
        for key, names in {"name": ["_name"], "size": ["_size"], "code": ["_code_begin", "_code_offset"],
                           "frame_size": ["_frame_size"],
                           "frame_complete": ["_frame_complete_offset"]}.items():
            yield f"{key} {self.member(['CodeBlob'], names)}"
        yield f"comp_level {self.member(['nmethod', 'CompiledMethod'], ['_comp_level'])}"


def runtimes():
    """(name, root, java inside it)"""
    for home in sorted(glob.glob(f"{ROOTS}/*/usr/lib/jvm/java-*-openjdk-amd64")):
        for java in "bin/java", "jre/bin/java":
            if os.path.isfile(f"{home}/{java}"):
                root = home.split("/usr/lib/jvm/")[0]
                version = os.path.basename(home).split("-")[1]
                yield f"{version}-{os.path.basename(root)}", root, f"{home[len(root):]}/{java}"
                break


def quick(found):
    """The first runtime of each release, and the flags it is started with."""
    first = {}
    for runtime in found:
        first.setdefault(int(runtime[0].split("-")[0]), runtime)
    chosen = [first[release] for release in sorted(first)]
    for i, runtime in enumerate(chosen):
        yield runtime, [""] + (ALONE if i in (0, len(chosen) - 1) else [])


def check(args, name, root, java, flags):
    command = [ENTER, "chroot", root, args.classes, java, *flags, "-cp", args.classes, "Steps",
               str(args.warm)]
    with tempfile.NamedTemporaryFile("w") as layout, \
            subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline().split()
            if line[:1] == ["skip:"]:
                print(*line)
                return SKIP
            if line[:1] != ["READY"]:
                print("it did not start:", *line)
                return 2
            layout.write("\n".join(Tables(process.pid).layout()) + "\n")
            layout.flush()
            step = [args.step, "-p", str(process.pid), "-t", line[1], "-l", layout.name, "-n",
                    str(args.n), "-s", str(args.stretch), "-e", str(args.examples), "-m", str(args.percent)]
            if "-Xint" in flags:
                step.append("-i")
            if args.plugins:
                step += ["-P", args.plugins]
            return subprocess.run(step, check=False).returncode
        finally:
            process.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", required=True)
    parser.add_argument("--plugins")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--flags", action="append", metavar="=FLAGS", default=[])
    parser.add_argument("-n", type=int, default=20000)
    parser.add_argument("--stretch", type=int, default=4000)
    parser.add_argument("--examples", type=int, default=2)
    parser.add_argument("--percent", type=float, default=99.9)
    parser.add_argument("--warm", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as args.classes:
        try:
            javas.compile_java([os.path.join(os.path.dirname(os.path.realpath(__file__)), "Steps.java")],
                               args.classes)
        except javas.Skipped as why:
            print(why)
            return SKIP
        statuses = list(run_all(args))
    if all(status == SKIP for status in statuses):
        return SKIP
    return 1 if any(status not in (0, SKIP) for status in statuses) else 0


def run_all(args):
    chosen = quick(runtimes()) if args.quick else ((r, args.flags or [""]) for r in runtimes())
    for (name, root, java), all_flags in chosen:
        if args.only and name not in args.only and name.split("-")[0] not in args.only:
            continue
        for flags in all_flags:
            label = re.sub(r"\W+", "_", f"step_{name}_{flags}").strip("_")
            print(f"[ RUN      ] {label}", flush=True)
            status = check(args, name, root, java, flags.split())
            outcome = {0: "      OK", SKIP: " SKIPPED"}.get(status, "  FAILED")
            print(f"[ {outcome} ] {label}", flush=True)
            yield status


if __name__ == "__main__":
    sys.exit(main())

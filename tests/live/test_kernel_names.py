#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPF programs come and go while they are sampled, and take each other's place: who is named? Needs root and bpf().

    test_kernel_names.py [NAME...]   EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import collections
import os
import re
import subprocess
import sys

import kernel_programs
import whole  # and with it where the kit is
import stacks

RUNNER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "kernel_programs.py")
NAMES = ["one", "two", "three", "four"]
BEFORE = 12
PROGRAM = re.compile(r"bpf_prog_[0-9a-f]{16}_zk_(\w+)$")
CALLER = re.compile(r"bpf_\w*test_run")


class KernelNames(whole.Case):
    def setUp(self):
        super().setUp()
        try:
            self.before = [kernel_programs.load(f"before{i}") for i in range(BEFORE)]
        except OSError as error:
            self.skipTest(f"this kernel loads no socket filters: {error}")
        self.addCleanup(self.unload)

    def unload(self):
        while self.before:
            os.close(self.before.pop())

    def record(self):
        """Those that were there before the recording go when it has begun. Their pages, {name: address}."""
        profiler = subprocess.Popen([whole.BINARY, "record", "-F", "997", "-o", self.out, "--",
                                     sys.executable, RUNNER, self.dir, *NAMES],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(profiler.kill)  # nothing, when it has ended
        kernel_programs.wait_for(os.path.join(self.dir, "started"))
        addresses = {kernel_programs.code_address(fd) & ~0xfff for fd in self.before}
        self.unload()
        kernel_programs.time.sleep(0.5)  # a grace period
        with open(os.path.join(self.dir, "go"), "w", encoding="ascii"):
            pass
        said, summary = profiler.communicate(timeout=120)
        self.assertEqual(profiler.returncode, 0, summary)
        return addresses, dict(re.findall(r"^(\w+) (0x[0-9a-f]+)$", said, re.MULTILINE))

    def test_no_sample_has_the_name_of_what_was_there_before(self):
        before, places = self.record()
        pages = [int(place, 16) & ~0xfff for place in places.values()]
        if 0 in pages:
            self.skipTest("this kernel compiles no programs, or hides where they are")
        named = collections.defaultdict(collections.Counter)
        for sample in stacks.read_profile(self.out).samples:
            for frame, caller in zip(sample.frames, sample.frames[1:]):
                program = PROGRAM.match(frame.name)
                if program or (frame.file == "[bpf]" and CALLER.match(caller.name)):
                    named[sample.labels["thread_name"]][program[1] if program else frame.name] += sample.count
        print("named:", {thread: dict(names) for thread, names in named.items()}, file=sys.stderr)
        for name in NAMES:
            self.assertEqual(list(named[name]), [name], "the thread's name is its program's")
        if len(set(pages)) == len(pages) and not before & set(pages):
            self.skipTest("no program took another one's place")


if __name__ == "__main__":
    whole.main()

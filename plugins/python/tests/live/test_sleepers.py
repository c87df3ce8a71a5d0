#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""More processes that look like Python than BPF can be told of, and only sleep: those that run have their
functions all the same. Needs root and bpf().

    test_sleepers.py                        EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
    test_sleepers.py burn SLEEPERS OUT      what is recorded: programs that burn, with the sleepers and after them
"""
import json
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "..", "tests", "live"))

SLEEPERS = 4200
# Each uses so many seconds of CPU time, however long that takes on a busy machine, in a function of this name.
# While the first one runs the profiler attaches to the sleepers.
NAMES = {"burn_first": 3, "burn_with_them": 1, "burn_after_them": 1}
BURN = """
import time
def {0}():
    while time.process_time() < {1}: pass
{0}()
"""


def burn(name):
    with subprocess.Popen([sys.executable, "-c", BURN.format(name, NAMES[name])]) as proc:
        proc.wait()
    return proc.pid


def burn_all(sleepers, out):
    pids = {name: burn(name) for name in ("burn_first", "burn_with_them")}
    os.kill(sleepers, signal.SIGTERM)
    pids["burn_after_them"] = burn("burn_after_them")
    with open(out, "w", encoding="ascii") as file:
        json.dump(pids, file)


def main():
    import whole  # and with it where the kit is
    import many
    import stacks

    class Sleepers(whole.Case):
        def start_sleepers(self):
            made = many.build(os.path.join(HERE, "sleepers.c"), self.dir) or self.skipTest("no compiler")
            sleepers = subprocess.Popen([*made, str(SLEEPERS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(sleepers.communicate, timeout=60)
            self.addCleanup(sleepers.kill)
            if sleepers.stdout.readline() != b"ready\n":
                self.skipTest(f"no room for {SLEEPERS} processes")
            return sleepers

        def count(self, pid, name):
            """Samples of a process, and those of them with this function."""
            samples = [s for s in stacks.read_profile(self.out).samples if s.labels["pid"] == pid]
            return (sum(s.count for s in samples),
                    sum(s.count for s in samples if any(frame.name == name for frame in s.frames)))

        def test_processes_that_run_have_their_functions(self):
            pids = os.path.join(self.dir, "pids")
            sleepers = self.start_sleepers()
            run = whole.run("record", "-v", "-a", "-F", "99", "--keep-root", "-o", self.out, "--", sys.executable,
                            os.path.realpath(__file__), "burn", str(sleepers.pid), pids, timeout=200)
            self.assertEqual(run.returncode, 0, run.stderr)
            with open(pids, encoding="ascii") as file:
                burnt = json.load(file)
            print(*(line for line in run.stderr.splitlines() if "BPF forgot" in line or "first sample" in line), sep="\n")
            for name in NAMES:
                samples, named = self.count(burnt[name], name)
                print(f"{name}: {named} of {samples} samples have the function")
                if name != "burn_first":
                    self.assertGreater(samples, 20, name)
                    # The others start, end, and read modules; without a state it is none.
                    self.assertGreater(named, 0.5 * samples, name)

    globals()["Sleepers"] = Sleepers
    whole.main()


if __name__ == "__main__":
    if sys.argv[1:2] == ["burn"]:
        burn_all(int(sys.argv[2]), sys.argv[3])
    else:
        main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process that floods the profiler's tables, and what its neighbour loses: nothing. Needs root and bpf().

    test_neighbours.py PROGRAMS             EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
    test_neighbours.py flood PROGRAMS OUT   what is recorded: the flood, and programs that begin after it
    test_neighbours.py remaps PROGRAMS OUT  the same with a flood of mappings
"""
import json
import os
import subprocess
import sys
import time

FREQ = 499
FRAMES = 900  # of each stack of the flood
SHARE = 1 << 18  # of the frame table, at the memory that record may have


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def flood_all(programs, out):
    """Until the flood has had the CPU time for twice its share of frames, however long that takes."""
    with subprocess.Popen([os.path.join(programs, "returns")]) as flood:
        try:
            end = time.monotonic() + 90
            while cpu_seconds(flood.pid) < 2 * SHARE / FRAMES / FREQ and time.monotonic() < end:
                time.sleep(0.05)
            with subprocess.Popen([os.path.join(programs, "nested"), "1"], stdout=subprocess.DEVNULL) as neighbour:
                neighbour.wait()
        finally:
            flood.kill()
    with open(out, "w", encoding="ascii") as file:
        json.dump({"flood": flood.pid, "neighbour": neighbour.pid}, file)


def remap_all(programs, out):
    """Until the flood and its neighbour have had some CPU time, however long that takes."""
    with subprocess.Popen([os.path.join(programs, "remaps"), "30000", "file"], stdout=subprocess.PIPE) as flood, \
            subprocess.Popen([os.path.join(programs, "nested"), "300"], stdout=subprocess.DEVNULL) as neighbour:
        try:
            flood.stdout.readline()
            begin, end = cpu_seconds(neighbour.pid), time.monotonic() + 90
            while (cpu_seconds(flood.pid) < 4 or cpu_seconds(neighbour.pid) < begin + 2) and time.monotonic() < end:
                time.sleep(0.05)
        finally:
            flood.kill()
            neighbour.kill()
    with open(out, "w", encoding="ascii") as file:
        json.dump({"flood": flood.pid, "neighbour": neighbour.pid}, file)


def main(programs):
    import whole  # and with it where the kit is
    import stacks

    class Neighbours(whole.Case):
        def test_a_flood_of_frames_costs_its_neighbour_nothing(self):
            out = os.path.join(self.dir, "pids")
            run = whole.run("record", "-v", "-a", "-F", str(FREQ), "--keep-root", "-o", self.out, "--", sys.executable,
                            os.path.realpath(__file__), "flood", programs, out, timeout=250)
            self.assertEqual(run.returncode, 0, run.stderr)
            with open(out, encoding="ascii") as file:
                pids = json.load(file)
            print(*(line for line in run.stderr.splitlines() if "share of" in line), sep="\n")
            samples = {name: [s for s in stacks.read_profile(self.out).samples if s.labels["pid"] == pid]
                       for name, pid in pids.items()}
            count = sum(s.count for s in samples["neighbour"])
            whole_ones = sum(s.count for s in samples["neighbour"] if not any(map(stacks.is_error, s.frames)))
            print(f"the neighbour: {whole_ones} of {count} stacks are whole")
            self.assertGreater(count, 50)
            # All but those that found the ring full on a busy machine; without shares it is none.
            self.assertGreater(whole_ones, 0.8 * count)
            cut = sum(s.count for s in samples["flood"]
                      if any(f.name == "[truncated: its process has more frames than one may have]" for f in s.frames))
            count = sum(s.count for s in samples["flood"])
            print(f"the flood: {cut} of {count} stacks are cut")
            self.assertGreater(cut, 0)

        def test_a_flood_of_mappings_costs_its_neighbour_nothing(self):
            out = os.path.join(self.dir, "pids")
            run = whole.run("record", "-v", "-a", "-F", "199", "--keep-root", "-o", self.out, "--", sys.executable,
                            os.path.realpath(__file__), "remaps", programs, out, timeout=250)
            self.assertEqual(run.returncode, 0, run.stderr)
            with open(out, encoding="ascii") as file:
                neighbour = json.load(file)["neighbour"]
            print(*(line for line in run.stderr.splitlines() if "trusted" in line or "be followed" in line), sep="\n")
            samples = [s for s in stacks.read_profile(self.out).samples if s.labels["pid"] == neighbour]
            count = sum(s.count for s in samples)
            whole_ones = sum(s.count for s in samples if not any(map(stacks.is_error, s.frames)))
            print(f"the neighbour: {whole_ones} of {count} stacks are whole")
            self.assertGreater(count, 50)
            self.assertGreater(whole_ones, 0.8 * count)

    globals()["Neighbours"] = Neighbours
    del sys.argv[1]
    whole.main()


if __name__ == "__main__":
    if sys.argv[1:2] == ["flood"]:
        flood_all(sys.argv[2], sys.argv[3])
    elif sys.argv[1:2] == ["remaps"]:
        remap_all(sys.argv[2], sys.argv[3])
    else:
        main(os.path.realpath(sys.argv[1]))

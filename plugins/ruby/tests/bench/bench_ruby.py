#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The short benches of Ruby: see tests/kit/benches.py. EBPF_PROFILER_BENCH_RUBY: releases of `bpf`."""
import os
import shlex

import arrivals
import benches
import beside
import commands
import first
import language
import locations
import names
import rubies
import slopes

RELEASES = [tuple(map(int, text.split(".")))
            for text in os.environ.get("EBPF_PROFILER_BENCH_RUBY", "2.7 3.1 3.4").split()]
DEPTH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs", "depth.rb")
DEPTHS = 50, 450        # below what two runs of the unwinder walk
FRAMES_PER_RUN = 168
KINDS = {
    "one": ("one method", 50), "many": ("16 methods in turn", 70),
    # Of nine frames a level of blocks (bar: 35) is climbed ten times.
    "blocks": ("a method with four blocks, one in the other", 50 + 35 * 10 // 9),
}
WORK = "t = Process.clock_gettime(2); 1000.times { |n| n.to_s } while Process.clock_gettime(2) - t < 0.5; sleep"


def without_yjit(found):
    return [runtime for runtime in rubies.one_of_each(found) if "yjit" not in runtime.flavors]


def bench_agent():
    beside.rows("a busy Ruby", ["ruby", rubies.PLAIN, rubies.BURNER, "1000"], 20, 1.5)


def bench_attach():
    for runtime in without_yjit(rubies.find()):
        arrivals.bench("ruby", f"Ruby {runtime.version}", runtime.argv([rubies.PLAIN, "-e", WORK]), 1.5)


def rows(runtime, directory):
    for kind, (what, bar) in KINDS.items():
        yield f"Ruby {runtime.version}, {what}", bar, [rubies.PLAIN, f"{directory}/depth.rb", kind]


def bench_bpf():
    """A call from Ruby to Ruby makes no native frame, so the slope is Ruby's alone."""
    found = language.first_of_each(without_yjit(rubies.find()), lambda r: r.numbers[:2], RELEASES).values()
    slopes.bench("ruby", list(found), DEPTHS, rows, FRAMES_PER_RUN, program=DEPTH)


def bench_commands():
    """For information."""
    for runtime in without_yjit(rubies.find()):
        for args in ["-e", "1"], ["-rjson", "-rset", "-e", "1"]:
            commands.rows(f"Ruby {runtime.version}, {shlex.join(args)}", runtime.argv(args))


def is_raw(frames):
    return any(frame.name.startswith(locations.INTERPRETER) for frame in frames) and not any(map(locations.is_ruby, frames))


def bench_first():
    for runtime in without_yjit(first.own("Ruby", rubies.find())):
        first.bench(f"Ruby {runtime.version}", rubies.burner(runtime, first.SECONDS, "--only=plain,blocks,flow"), is_raw)


def bench_names():
    names.bench("ruby", "method", 15, 0.2)


if __name__ == "__main__":
    benches.main(globals())

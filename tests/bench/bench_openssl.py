#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Complete stacks where registers and stacks are used in unusual ways.

    bench_openssl.py [--samples N] [--only WORD]

openssl's assembly (`openssl speed`: AES-GCM, SHA, ChaCha20, RSA; what runs depends on the processor),
vfork, whose child runs on its parent's stack, and io_uring, whose worker threads belong to the process
but have no user part. `record` at 499 Hz, runs pooled until there are enough samples.
"""
import argparse
import os
import shutil
import tempfile

import measure  # it knows where the modules of the live tests are
import judge
import passes
import sessions
from judge import Programs

BAR = 99.5
SHORT_BAR = 95  # of programs of a millisecond
FREQ = 499
RUNS = 40
SECONDS = "2"
LIVE = os.path.join(measure.BUILD, "tests", "live")


def speed(*algorithm):
    return ["openssl", "speed", "-seconds", SECONDS, *algorithm]


LOADS = [  # name, command, executables by comm, those with symbols
    ("openssl speed, AES-256-GCM", speed("-evp", "aes-256-gcm"), {}, ()),
    ("openssl speed, RSA 2048", speed("rsa2048"), {}, ()),
    ("openssl speed, SHA-256", speed("-evp", "sha256"), {}, ()),
    ("openssl speed, ChaCha20-Poly1305", speed("-evp", "chacha20-poly1305"), {}, ()),
    ("vfork and exec, vfork and exit", [LIVE + "/vforks", SECONDS, LIVE + "/nothing"],
     {"vforks": {"vforks"}, "nothing": {"nothing"}}, ("vforks",)),
    ("io_uring with worker threads and a polling one", [measure.BUILD + "/tests/bench/uring", SECONDS],
     {"uring": {"uring"}}, ("uring",)),
]


def parts_of(name, files, bar):
    """(name, comm or None for all, bar): a program that lives shorter than a sample has the bar of those."""
    if "nothing" not in files:
        return [(name, None, bar)]
    return [(name, "vforks", bar), ("the program it executes, below 1 ms", "nothing", SHORT_BAR)]


def run(name, command, files, rooted, samples):
    programs, parts = Programs(files), parts_of(name, files, BAR)
    tallies = [judge.Tally(rooted) for _ in parts]
    images = {"frames": judge.collections.Counter(), "name": judge.collections.Counter()}
    with tempfile.TemporaryDirectory(prefix="bench-openssl-") as directory:
        for _ in range(RUNS):
            if min(tally.all for tally in tallies) >= samples:
                break
            profile, _, text = passes.run_record(FREQ, command, directory)
            own = passes.Session(profile.samples, [], None, text).own
            for tally, (_, comm, _) in zip(tallies, parts):
                tally.add(s for s in own if comm in (None, s.labels.get("thread_name")))
            for kind, wrong in programs.wrong_images(own).items():
                images[kind].update(wrong)
    for tally, (part, _, bar) in zip(tallies, parts):
        sessions.print_tally(part, tally, bar, samples)
    if files:
        sessions.print_images(name, images, sum(tally.all for tally in tallies))


def main():
    parser = argparse.ArgumentParser(description="complete stacks in unusual code")
    parser.add_argument("--samples", type=int, default=measure.samples_wanted())
    parser.add_argument("--only", default="", metavar="WORD")
    options = parser.parse_args()
    measure.begin()
    for name, command, files, rooted in LOADS:
        if options.only not in name:
            continue
        if not shutil.which(command[0]):
            measure.skip_row(name, f"no {os.path.basename(command[0])}")
            continue
        try:
            run(name, command, files, rooted, options.samples)
        except passes.Cannot as reason:
            measure.skip(str(reason))
        except passes.Failed as failure:
            if "exit status 77" not in str(failure):
                raise
            measure.skip_row(name, "the kernel has no io_uring for us")


if __name__ == "__main__":
    main()

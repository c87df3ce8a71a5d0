#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What .NET costs: programs/Burner.cs, of each release that is published (live/check_dotnet.py), in one deep stack."""
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import check_dotnet     # and with it where the kit is
import benches  # noqa: E402
import runs  # noqa: E402
import slopes  # noqa: E402

DEPTHS = 50, 500
FRAMES_PER_RUN = 32
FORMS = "8_alone", "9_alone", "10"
# Scenario, bar in ns. Of DynamicMethods nothing is remembered, and their frames have a check more.
SCENARIOS = ("deep", "remembered", 100), ("deep_dynamic", "looked up", 600)


class Release:
    """As a runtime is to slopes.bench."""

    def __init__(self, form, path):
        self.name, self.path = form.partition("_")[0], path

    def argv(self, words, _directory):
        scenario, depth = words
        return [self.path, "100000", depth, scenario]


def find():
    for form in FORMS:
        try:
            yield Release(form, check_dotnet.program(form))
        except runs.Skipped as reason:
            print(f"# .NET {form}: {reason}")


def wait_burning(proc):
    """Until it has told its stack and worked on: its code is the last then, and of on-stack replacement."""
    while not proc.stdout.readline().startswith(b"STACK"):
        if proc.poll() is not None:
            sys.exit(f"{' '.join(proc.args)}: it does not run")
    runs.wait_used(proc, 1)


def rows(release, _directory):
    for scenario, what, bar in SCENARIOS:
        yield f".NET {release.name}, {what}", bar, [scenario], wait_burning


def bench_bpf():
    slopes.bench("dotnet", list(find()), DEPTHS, rows, FRAMES_PER_RUN)


if __name__ == "__main__":
    benches.main(globals())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The short benches of PHP: see tests/kit/benches.py. EBPF_PROFILER_BENCH_PHP: releases of `bpf`."""
import os
import tempfile

import arrivals
import backtraces
import benches
import beside
import commands
import first
import language
import measure
import names
import phps
import slopes

RELEASES = [tuple(map(int, text.split("."))) for text in os.environ.get("EBPF_PROFILER_BENCH_PHP", "7.4 8.2 8.4 8.6").split()]
DEPTH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs", "depth.php")
DEPTHS = 50, 450        # below what two runs of the unwinder walk
FRAMES_PER_RUN = 64
KINDS = {"one": ("one function", 45), "many": ("16 functions in turn", 60), "closures": ("closures, each an object", 80)}
WORK = "function f($n) { return strlen((string) $n); } $t = hrtime(true); while (hrtime(true) - $t < 5e8) f(7); sleep(1000);"
SHORT = "<?php\nfunction sum($n)\n{\n\treturn array_sum(array_map(fn($i) => $i * 2, range(1, $n)));\n}\nsum(20000);\n"


def plain():
    return [runtime for runtime in phps.one_of_each(phps.find()) if not runtime.flavors]


def bench_agent():
    found = plain()
    if not found:
        measure.skip("no PHP was found")
    beside.rows("a busy PHP", phps.burner(found[-1], 1000), 20, 1.5)


def bench_attach():
    for runtime in phps.one_of_each(phps.find()):
        arrivals.bench("php", f"PHP {runtime.version}", runtime.argv(["-n", "-r", WORK]), 1)


def rows(runtime, directory):
    for kind, (what, bar) in KINDS.items():
        yield f"PHP {runtime.version}, {what}", bar, [*phps.PLAIN, f"{directory}/depth.php", kind]


def bench_bpf():
    """A call from PHP to PHP makes no native frame, so the slope is PHP's alone."""
    found = language.first_of_each(plain(), lambda r: r.numbers[:2], RELEASES).values()
    slopes.bench("php", list(found), DEPTHS, rows, FRAMES_PER_RUN, program=DEPTH)


def bench_commands():
    """A command alone, and one that includes a file. For information."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        script = os.path.join(directory, "short.php")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SHORT)
        for runtime in plain():
            for what, words in ("-r", ["-r", "1;"]), ("a script of 2 ms", [script]):
                commands.rows(f"PHP {runtime.version}, {what}", runtime.argv(["-n", *words], directory))


def is_raw(frames):
    return any(frame.name.startswith("execute_ex") for frame in frames) and not any(map(backtraces.is_php, frames))


def bench_first():
    for runtime in phps.one_of_each(first.own("PHP", phps.find())):
        first.bench(f"PHP {runtime.version}", phps.burner(runtime, first.SECONDS, "--only=plain,callbacks"), is_raw)


def bench_names():
    names.bench("php", "function", 12, 0.2)


if __name__ == "__main__":
    benches.main(globals())

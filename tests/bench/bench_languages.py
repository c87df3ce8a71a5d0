#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both kinds of language unwinders, the templates, built outside of the tree: share of true stacks, all
samples counted, also those from before a plugin is attached; and how many names no function has.
"""
import glob
import os
import subprocess
import sys
import tempfile

import measure  # it says where the profiler and the modules of the live tests are
import check_stacks
import outside
import stacks

SECONDS = os.environ.get("EBPF_PROFILER_BENCH_SECONDS", "15")
TEMPLATE = os.path.join(measure.ROOT, "plugins", "template")
TEMPLATE_JIT = os.path.join(measure.ROOT, "plugins", "template-jit")
CASES = [  # what, program, arguments, bar
    ("JIT: two heaps, inlined functions, code that moves and is freed", "jit", ["plain"], 99.9),
    ("JIT: the same in anonymous pages", "jit", ["anywhere"], 99.9),
    ("JIT: run as soon as it is mapped", "jit", ["fresh"], 99),
    ("JIT: 40 turns between C and jitted code", "jit", ["turns", "40"], 99.9),
    ("JIT: 40 turns, C that is not remembered: some of it skipped", "jit", ["apart", "40"], 99.9),
    ("JIT: through C without unwind rules, with a gap", "jit", ["gap"], 99.9),
    ("JIT: 1000 frames, 200 native ones before and behind", "jit", ["deep", "1000", "200"], 99),
    ("interpreter: 40 turns", "toy", ["40"], 99.9),
    ("interpreter: 1000 frames, 200 native ones between", "toy", ["100", "deep"], 99),
]


def build(directory):
    plugins = os.path.join(directory, "plugins")
    os.mkdir(plugins, 0o755)
    built = outside.run(os.path.join(measure.ROOT, "tests", "abi", "build_unwinder"), measure.BUILD, plugins,
                        "toy=" + TEMPLATE, "jit=" + TEMPLATE_JIT)
    if built.returncode:
        sys.exit(built.stdout + built.stderr)
    outside.run("cp", os.path.join(measure.PLUGINS, "pprof.so"), plugins)
    outside.compile_program(os.path.join(directory, "toy"),
                            os.path.join(TEMPLATE, "tests", "programs", "toy.c"))
    outside.compile_program(os.path.join(directory, "jit"), "-pthread",
                            *glob.glob(os.path.join(TEMPLATE_JIT, "tests", "programs", "*.c")))
    return plugins


def profile(directory, plugins, program, arguments):
    """(samples, what the program says of itself)"""
    path = os.path.join(directory, "x.pb.gz")
    run = subprocess.run([measure.BINARY, "record", "-F", "999", "-o", path, "--force", "--",
                          os.path.join(directory, program), SECONDS, *arguments],
                         env=dict(os.environ, EBPF_PROFILER_PLUGINS_DIR=plugins),
                         capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    samples = [s for s in stacks.read_profile(path).samples if not check_stacks.is_starter(s)]
    return samples, run.stdout


def names_of(text):
    """What a truth's tokens name, wild cards and counts taken off."""
    return {word.split("{")[0].strip("?+") for line in text.splitlines() if line.startswith(("STACK", "MAY"))
            for token in line.split()[1:] for word in token.split("|")}


def wrong_names(samples, text):
    """Names of languages' frames, which are in no file, that are not the program's."""
    known = names_of(text)
    found = {frame.name for sample in samples for frame in sample.frames if not frame.file}
    return {name for name in found - known if not name.startswith(("[", "0x"))}


def main():
    measure.begin()
    wrong = set()
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        plugins = build(directory)
        for what, program, arguments, bar in CASES:
            samples, text = profile(directory, plugins, program, arguments)
            counts, _, worst = check_stacks.judge(samples, stacks.parse_truth(text), False)
            for stack, count in worst.most_common(3):
                measure.note(f"{what}: mismatch {count}: {stack}")
            share = check_stacks.percent(counts["matching"] + counts["aside"], counts["all"])
            measure.row(f"{what}: true stacks of {counts['all']}", share, "%", f">= {bar}", bar, True)
            wrong |= wrong_names(samples, text)
    for name in sorted(wrong):
        measure.note(f"wrong name: {name}")
    measure.row("names of language frames that no function of the programs has", len(wrong), "names", "0", 0)


if __name__ == "__main__":
    main()

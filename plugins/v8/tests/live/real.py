#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs of Node, profiled: which share of their stacks is complete, of their JavaScript frames has a line
and a name, and what is wrong with the rest.

    real.py [--only REGEX] [--node MAJOR] [--cache DIRECTORY] [--keep DIRECTORY] [--bars] [--seconds N]

npm itself, TypeScript's compiler, rollup, an HTTP server (node:http, fastify, express) with its client, and two
programs in WebAssembly (esbuild, which is Go, and SQLite, which is C). By hand. The packages come by npm, into the
cache; what cannot be had is a skip. Processes of a program are judged together, from their first sample on. Without
--bars a share may be a point below its bar. Where the profiler is comes from EBPF_PROFILER_BINARY and
EBPF_PROFILER_PLUGINS_DIR. Exit status: 0, 1 below a bar, 77 when nothing could be profiled.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import calls  # noqa: E402
import nodes  # noqa: E402
import runs  # noqa: E402
import stacks  # noqa: E402
from runs import Failed, Skipped  # noqa: E402

BAR = 99.0          # percent of samples
SLACK = 1.0
FEWEST = 1500       # samples
INSTALL_SECONDS = 300
CACHE = "/var/tmp/ebpf-profiler-runtimes/.npm/real"
PACKAGES = ["typescript@5.9.3", "rollup@4.68.7", "fastify@4.29.1", "express@4.22.3", "esbuild-wasm@0.28.2",
            "sql.js@1.16.0", "npm@10.9.9"]
PROGRAMS = os.path.join(calls.PROGRAMS, "real")
# A frame of V8's code whose function could not be read: docs/v8.md.
NO_NAME = re.compile(r"\((function|code|builtin)\)")
WASM_NO_NAME = "wasm (function)"
WASM = re.compile(r"wasm .|\((js-to-wasm|wasm-to-js)\)")


# --- what they need -------------------------------------------------------------------------------

def install(cache):
    """The packages, from npm the first time and when they are others."""
    stamp, wanted = os.path.join(cache, "packages"), "\n".join(PACKAGES) + "\n"
    if os.path.exists(stamp) and open(stamp, encoding="utf-8").read() == wanted:
        return
    if not shutil.which("npm"):
        raise Skipped("skip: no npm on this machine")
    new = cache + ".new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    with open(os.path.join(new, "package.json"), "w", encoding="utf-8") as file:
        file.write('{"private": true}\n')
    command = ["npm", "install", "--prefix", new, "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact",
               *PACKAGES]
    try:
        done = runs.run(command, INSTALL_SECONDS, runs.environment())
    except Failed as reason:
        raise Skipped(f"skip: {reason}") from reason
    if done.returncode:
        raise Skipped(f"skip: npm has not given the packages: {done.stderr.strip()[-300:]}")
    with open(os.path.join(new, "packages"), "w", encoding="utf-8") as file:
        file.write(wanted)
    shutil.rmtree(cache, ignore_errors=True)
    os.rename(new, cache)


def again_and_again(seconds, *commands):
    """Each command in turn, until so many seconds have gone by."""
    lines = "\n".join(runs.shlex.join(command) + " >/dev/null 2>&1 || exit" for command in commands)
    return ["sh", "-c", f"end=$(($(date +%s) + {seconds:.0f}))\nwhile [ $(date +%s) -lt $end ]; do\n{lines}\ndone"]


# --- programs: each gives a command ---------------------------------------------------------------

def program_npm(node, options, _directory):
    npm = [node, "node_modules/npm/bin/npm-cli.js"]
    return again_and_again(options.seconds, [*npm, "ls", "--all"],
                           [*npm, "pack", "--dry-run", "--offline", "./node_modules/typescript"])


def program_tsc(node, _options, directory):
    """It finds errors in what was never checked: exit status 2 is right."""
    command = [node, "node_modules/typescript/bin/tsc", "--allowJs", "--checkJs", "--strict", "--target", "es2022",
               "--module", "esnext", "--moduleResolution", "bundler", "--outDir", directory,
               "node_modules/rollup/dist/es/shared/node-entry.js", "node_modules/rollup/dist/es/shared/watch.js"]
    return ["sh", "-c", '"$@" >/dev/null; [ $? -eq 2 ]', "sh", *command]


def program_rollup(node, _options, directory):
    return [node, "node_modules/rollup/dist/bin/rollup", "-i", "node_modules/typescript/lib/typescript.js", "-f", "es",
            "-o", os.path.join(directory, "out.js"), "--silent"]


def program_server(node, options, _directory):
    return [node, os.path.join(PROGRAMS, "server.js"), str(options.seconds)]


def program_esbuild(node, _options, directory):
    return [node, "node_modules/esbuild-wasm/bin/esbuild", "node_modules/rollup/dist/es/shared/node-entry.js",
            "node_modules/typescript/lib/_tsserver.js", "--minify", "--sourcemap", "--log-level=error",
            "--outdir=" + directory]


def program_sqlite(node, options, _directory):
    return [node, os.path.join(PROGRAMS, "sqlite.js"), str(options.seconds)]


ALL = {name[8:]: fn for name, fn in globals().items() if name.startswith("program_")}


# --- judging --------------------------------------------------------------------------------------

def of_nodes(samples, done):
    """Those of processes that run Node; not the sleeper's, nor what a process did before it was executed."""
    own = [s for s in runs.not_of_sleeper(samples, done) if not runs.is_starter(s)]
    ids = {s.labels.get("pid") for s in own if any(f.file == "node" for f in s.frames)}
    return [s for s in own if s.labels.get("pid") in ids]


class Found:
    """What the samples of a program say."""

    def __init__(self, samples):
        self.samples = sum(s.count for s in samples)
        self.reasons, self.examples = collections.Counter(), {}
        self.frames = collections.Counter()     # of JavaScript and WebAssembly, by kind
        self.odd, self.with_js = collections.Counter(), 0
        for sample in samples:
            self.add(sample)

    def add(self, sample):
        why = stacks.why_incomplete(sample.frames) or calls.why_interpreted(sample.frames)
        if why:
            self.reasons[why] += sample.count
            self.examples.setdefault(why, sample.frames)
        kinds = [kind for kind in map(self.kind_of, sample.frames) if kind]
        self.with_js += sample.count if kinds else 0
        for kind in kinds:
            self.frames[kind] += sample.count

    def kind_of(self, frame):
        """"" for what is neither JavaScript nor WebAssembly."""
        if frame.file:
            return ""
        if NO_NAME.fullmatch(frame.name):
            self.odd[frame.name] += 1
            return "no name"
        if frame.name == WASM_NO_NAME:
            return "wasm no name"
        if WASM.match(frame.name):
            return "wasm"
        if not calls.is_script(frame):
            return ""
        if not frame.line:
            self.odd[f"{frame.name} ({frame.source}): no line"] += 1
            return "no line"
        return "start" if frame.signature.endswith(calls.FALLBACK) else "line"

    def complete(self):
        return 100 * (self.samples - sum(self.reasons.values())) / max(1, self.samples)

    def share(self, kind):
        """Percent of JavaScript's frames, or of WebAssembly's."""
        whole = sum(n for other, n in self.frames.items() if other.startswith("wasm") == kind.startswith("wasm"))
        return 100 * self.frames[kind] / max(1, whole)

    def show(self, name):
        print(f"{name:8} {self.samples:6} samples, {100 * self.with_js / max(1, self.samples):5.1f} % with JavaScript; "
              f"{self.complete():6.2f} % complete; of JavaScript's frames {self.share('line'):6.2f} % with their line, "
              f"{self.share('start'):.2f} % with the function's first, {self.share('no line'):.2f} % without one, "
              f"{self.share('no name'):.2f} % without a name; {self.frames['wasm']} frames of "
              f"WebAssembly, {self.share('wasm no name'):.2f} % of them without a name", flush=True)
        for reason, count in self.reasons.most_common(6):
            print(f"    {100 * count / self.samples:6.2f} %  {reason}\n              "
                  f"{calls.text_of(self.examples[reason], 12)}")
        for text, count in self.odd.most_common(6):
            print(f"    {count:6} frames  {text}")


def measure(name, runtime, options):
    directory = tempfile.mkdtemp(prefix="real-")
    path = os.path.join(options.keep or directory, name + ".pb.gz")
    try:
        idle = runtime.argv([os.path.join(calls.PROGRAMS, "idle.js")])
        command = ["sh", "-c", 'cd "$0" && exec "$@"', options.cache,
                   *ALL[name](runtime.argv([])[0], options, directory)]
        profile, done = nodes.record(command, path, sleeper=idle, timeout=300)
        if done.returncode:
            raise Failed(f"exit status {done.returncode}: {done.stdout[-400:]} {done.stderr[-800:]}")
    finally:
        shutil.rmtree(directory)
    found = Found(of_nodes(profile.samples, done))
    found.show(name)
    if found.samples < FEWEST:
        raise Failed(f"{found.samples} samples say too little")
    return found.complete() >= BAR - (0 if options.bars else SLACK)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--node", type=int, default=22, help="its major number (22)")
    parser.add_argument("--cache", default=CACHE)
    parser.add_argument("--keep", help="directory to leave the profiles in")
    parser.add_argument("--seconds", type=float, default=6, help="of programs that end when they are told to (6)")
    parser.add_argument("--bars", action="store_true", help="no slack below the bar")
    return parser.parse_args()


def main(options):
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        return runs.SKIP
    found = [r for r in nodes.find() if nodes.major(r) == options.node and not r.root]
    try:
        if not found:
            raise Skipped(f"skip: no Node {options.node}: tests/runtimes/install -l v8 full")
        install(options.cache)
    except Skipped as reason:
        print(reason)
        return runs.SKIP
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    return measure_all(found[-1], options)


def measure_all(runtime, options):
    counts = collections.Counter()
    print(runtime.name, flush=True)
    for name in ALL:
        if not re.search(options.only, name):
            continue
        try:
            counts["good" if measure(name, runtime, options) else "bad"] += 1
        except Skipped as reason:
            print(f"{name:8} {reason}")
            counts["skipped"] += 1
        except (Failed, subprocess.SubprocessError) as reason:
            print(f"{name:8} failed: {reason}")
            counts["bad"] += 1
    print(f"{counts['good']} at {BAR} %, {counts['bad']} not, {counts['skipped']} skipped")
    if counts["bad"]:
        return 1
    return 0 if counts["good"] else runs.SKIP


if __name__ == "__main__":
    sys.exit(main(arguments()))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs of Node, profiled: which share of their stacks is complete, of their JavaScript frames has a line
and a name, and what is wrong with the rest.

    real.py [--node MAJOR] [--cache DIRECTORY], and the flags of tests/kit/language.py

npm itself, TypeScript's compiler, rollup, an HTTP server (node:http, fastify, express) with its client, and two
programs in WebAssembly (esbuild, which is Go, and SQLite, which is C). By hand. The packages come by npm, into the
cache; what cannot be had is a skip. Processes of a program are judged together, from their first sample on.
"""
import os
import re
import shutil
import sys

import calls
import nodes
import language
import programs
import runs
from runs import Failed, Skipped

INSTALL_SECONDS = 300
CACHE = "/var/tmp/ebpf-profiler-runtimes/.npm/real"
PACKAGES = ["typescript@5.9.3", "rollup@4.68.7", "fastify@4.29.1", "express@4.22.3", "esbuild-wasm@0.28.2",
            "sql.js@1.16.0", "npm@10.9.9"]
PROGRAMS = os.path.join(calls.PROGRAMS, "real")
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

def program_npm(check, directory):
    npm = [check.node, "node_modules/npm/bin/npm-cli.js"]
    return again_and_again(check.options.seconds, [*npm, "ls", "--all"],
                           [*npm, "pack", "--dry-run", "--offline", "./node_modules/typescript"])


def program_tsc(check, directory):
    """It finds errors in what was never checked: exit status 2 is right."""
    command = [check.node, "node_modules/typescript/bin/tsc", "--allowJs", "--checkJs", "--strict", "--target", "es2022",
               "--module", "esnext", "--moduleResolution", "bundler", "--outDir", directory,
               "node_modules/rollup/dist/es/shared/node-entry.js", "node_modules/rollup/dist/es/shared/watch.js"]
    return ["sh", "-c", '"$@" >/dev/null; [ $? -eq 2 ]', "sh", *command]


def program_rollup(check, directory):
    return [check.node, "node_modules/rollup/dist/bin/rollup", "-i", "node_modules/typescript/lib/typescript.js", "-f", "es",
            "-o", os.path.join(directory, "out.js"), "--silent"]


def program_server(check, directory):
    return [check.node, os.path.join(PROGRAMS, "server.js"), str(check.options.seconds)]


def program_esbuild(check, directory):
    return [check.node, "node_modules/esbuild-wasm/bin/esbuild", "node_modules/rollup/dist/es/shared/node-entry.js",
            "node_modules/typescript/lib/_tsserver.js", "--minify", "--sourcemap", "--log-level=error",
            "--outdir=" + directory]


def program_sqlite(check, directory):
    return [check.node, os.path.join(PROGRAMS, "sqlite.js"), str(check.options.seconds)]


ALL = programs.named(globals())


# --- judging --------------------------------------------------------------------------------------

class Real(programs.Programs):
    language = nodes.LANGUAGE
    programs = {name: lambda check, directory, fn=fn: ["sh", "-c", 'cd "$0" && exec "$@"', check.options.cache,
                                                       *fn(check, directory)] for name, fn in ALL.items()}
    fewest = 1500

    @classmethod
    def add_flags(cls, made):
        made.add_argument("--node", type=int, default=22, help="its major number (22)")
        made.add_argument("--cache", default=CACHE)

    def prepare(self):
        found = [r for r in nodes.find() if nodes.major(r) == self.options.node and not r.root]
        if not found:
            raise Skipped(f"skip: no Node {self.options.node}: tests/runtimes/install -l v8 full")
        install(self.options.cache)
        self.runtime, self.node = found[-1], found[-1].argv([])[0]

    def inside(self, directory):
        return self.runtime.argv([os.path.join(calls.PROGRAMS, "idle.js")])

    def own(self, samples):
        """Not what a process did before it was executed."""
        ids = {s.labels.get("pid") for s in samples if any(f.file == "node" for f in s.frames)}
        return [s for s in samples if s.labels.get("pid") in ids]

    def why_not_whole(self, frames):
        return super().why_not_whole(frames) or calls.why_interpreted(frames)

    def kind_of(self, frame):
        """"" for what is neither JavaScript nor WebAssembly."""
        if frame.file:
            return ""
        if nodes.NO_NAME.fullmatch(frame.name):
            return "no name"
        if frame.name == WASM_NO_NAME:
            return "wasm no name"
        if WASM.match(frame.name):
            return "wasm"
        if not calls.is_script(frame):
            return ""
        if not frame.line:
            return "no line"
        return "start" if frame.signature.endswith(calls.FALLBACK) else "line"

    def figures(self, found):
        own = "line", "start", "no line", "no name"
        return (f"{found.with_kind():5.1f} % with JavaScript; of JavaScript's frames {found.share('line', *own):6.2f} % with "
                f"their line, {found.share('start', *own):.2f} % with the function's first, "
                f"{found.share('no line', *own):.2f} % without one, {found.share('no name', *own):.2f} % without a name; "
                f"{found.frames['wasm']} frames of WebAssembly, {found.share('wasm no name', 'wasm'):.2f} % of them without "
                "a name")

    def text_of(self, frames):
        return calls.text_of(frames, 12)


if __name__ == "__main__":
    sys.exit(language.main(Real))

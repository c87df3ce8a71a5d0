#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs that are written in Go, and says what share of their stacks is whole, and of their frames has a
name and a line.

caddy (files, compressed, and templates) and prometheus (which watches itself), asked over the loopback; gopls, as it
checks its own language's packages; hugo, which calls C; and `go build` with nothing built before: some hundred
processes of compiler, assembler and linker. They are Debian's, with its Go (tests/runtimes/install -l golang
golang1.24 golang-programs). Flags, output and exit status: tests/kit/language.py; --seconds are of CPU time.
"""
import os
import re
import sys

import goes
import judge_go
import language
import programs
import programs_go
import stacks

LINES_BAR = 99.5        # percent of Go's frames that have a name and a line
FILES = {"go", "compile", "asm", "link", "cgo", "vet", "buildid", "pack", "promtool", *programs_go.ALL}


class Programs(programs.Programs):
    language, programs = goes.LANGUAGE, programs_go.ALL
    groups = (("golang1.24", "golang-programs"),) * 2
    threshold, fewest = 99.5, 500

    def prepare(self):
        self.wall = 120 + programs.WALL * self.options.seconds
        if not os.path.exists(programs_go.ROOT + "/usr/bin/hugo") or \
                not os.path.exists(programs_go.ROOT + programs_go.GOROOT + "/bin/go"):
            raise language.Skipped("skip: no programs: tests/runtimes/install -l golang " + " ".join(self.groups[0]))

    def inside(self, directory):
        return programs_go.inside(directory, "/usr/bin/caddy", "respond", "--listen", f"127.0.0.1:{programs_go.PORT + 1}")

    def own(self, samples):
        ids = {s.labels.get("pid") for s in samples if any(frame.file in FILES for frame in s.frames)}
        return [s for s in samples if s.labels.get("pid") in ids]

    def why_not_whole(self, frames):
        why = stacks.why_incomplete([*frames, stacks.LineFrame("_start", "")])
        if not why and frames and not (judge_go.ROOTS.match(frames[-1].name) or stacks.is_root(frames[-1]) or
                                       stacks.is_kernel(frames[-1]) or frames[-1].name == "runtime.clone"):
            return stacks.NO_ROOT + ": " + frames[-1].name
        return why

    def kind_of(self, frame):
        """C of the same file has names, and no lines: its functions' names have no dots."""
        if frame.file not in FILES:
            return ""
        is_named = not re.match("0x|.*[+]0x", frame.name)
        return "line" if is_named and frame.line else \
            "C" if is_named and not re.search(r"[./]", frame.name) else "no line"

    def figures(self, found):
        return f"{found.share('line', 'no line'):6.2f} % of Go's frames have a name and a line"

    def lacking_in(self, found):
        if found.share("line", "no line") < LINES_BAR:
            yield f"{found.share('line', 'no line'):.2f} % of the frames have a name and a line"

    def text_of(self, frames):
        return judge_go.Judge.text_of(frames)


if __name__ == "__main__":
    sys.exit(language.main(Programs))

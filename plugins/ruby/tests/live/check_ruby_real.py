#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs of Debian that are written in Ruby, and says what share of their stacks is whole, and what share has
frames of Ruby.

They come from tests/runtimes/install (group ruby-programs). Flags, output and exit status: tests/kit/language.py.
"""
import os
import sys

import locations
import rubies
import programs_ruby
import language
import programs
import stacks

WITH_RUBY, TO_START, GONE, GONE_OF_REQUESTS = 97.0, 90.0, 3.0, 20.0    # percent of the samples; TO_START: of programs that are over at once
START = "<main>", "<internal:gem_prelude>"      # the second is before it, and much of a short program
INTERPRETER = ("rb_vm_exec", "vm_exec_core")


class Programs(programs.Programs):
    language, programs = rubies.LANGUAGE, programs_ruby.ALL
    groups = ((programs_ruby.GROUP,),) * 2
    seconds = 8, 8

    def prepare(self):
        if not os.path.exists(programs_ruby.ROOT + "/usr/bin/jekyll"):
            raise language.Skipped("skip: no programs: tests/runtimes/install " + programs_ruby.GROUP)

    def inside(self, directory):
        return programs_ruby.inside(directory, programs_ruby.RUBY, "-e", "sleep 300")

    def own(self, samples):
        return [s for s in samples if any(locations.LIBRARY.match(frame.file) for frame in s.frames)]

    def kind_of(self, frame):
        if frame.name.startswith(locations.GONE):
            return "gone"
        if frame.name.startswith(locations.COLLECTOR):
            return "collector"
        return ("start" if frame.name in START else "Ruby") if locations.is_ruby(frame) else ""

    def why_not_whole(self, frames):
        """
        The start of a fiber is a root, too. Where Ruby runs, there are its frames. One without a name is counted apart:
        eval'ed code lives for one request (ERB#result).
        """
        named = [frame for frame in frames if self.kind_of(frame) != "gone"]
        why, own = super().why_not_whole(named), any(map(locations.is_ruby, frames))
        if why == stacks.NO_ROOT and own and locations.LIBRARY.match(frames[-1].file):
            return None
        if not why and not own and any(frame.name in INTERPRETER for frame in frames):
            return "a loop of the interpreter, and no Ruby frame"
        return why

    def check(self, run):
        self.is_short = run.case.name == programs_ruby.SHORT
        self.is_server = run.case.name in programs_ruby.SERVERS
        self.threshold = 98.0 if self.is_short else 99.0
        super().check(run)

    def figures(self, found):
        return (f"{found.with_kind('Ruby'):6.2f} % with named Ruby frames, {found.with_kind('start'):.2f} % down to <main>, "
                f"{found.with_kind('collector'):.2f} % in the collector, {found.with_kind('gone'):.2f} % with code that was "
                "gone before it was named")

    def lacking_in(self, found):
        share, least = (found.with_kind("start"), TO_START) if self.is_short else (found.with_kind("Ruby"), WITH_RUBY)
        most = GONE_OF_REQUESTS if self.is_server else GONE
        if found.with_kind("gone") > most:
            yield f"{found.with_kind('gone'):.2f} % have a frame without a name, not {most:.0f} at most"
        if found.misses(share, least):
            yield f"{share:.2f} % have {' or '.join(START) if self.is_short else 'Ruby frames'}, not {least:.0f}"

    def text_of(self, frames):
        return locations.Judge.text_of(frames)


if __name__ == "__main__":
    sys.exit(language.main(Programs))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs of Debian that are written in Perl, and says what share of their stacks is whole: down to the
program's native root, and their Perl frames down to the main program.

They come from tests/runtimes/install (group perl-programs). Flags, output and exit status: tests/kit/language.py.
"""
import os
import re
import sys

import callers
import perls
import programs_perl
import language
import programs

PERL = re.compile(r"^(perl(5[\d.]*)?(-[\w-]+)?|libperl\.so.*)$")


class Programs(programs.Programs):
    language, programs = perls.LANGUAGE, programs_perl.ALL
    groups = ((programs_perl.GROUP,),) * 2
    seconds = 8, 8
    ends_well = False

    def prepare(self):
        if not os.path.exists(programs_perl.ROOT + "/usr/bin/exiftool"):
            raise language.Skipped("skip: no programs: tests/runtimes/install " + programs_perl.GROUP)

    def inside(self, directory):
        return programs_perl.inside(directory, 300, "/usr/bin/perl", "-e", "sleep 300")

    def own(self, samples):
        return [s for s in samples if any(PERL.match(frame.file) for frame in s.frames)]

    def kind_of(self, frame):
        if frame.name == callers.FREED:
            return "freed"
        return "Perl" if callers.is_perl(frame) or callers.is_placeless(frame) or callers.is_of_c(frame) else ""

    def why_not_whole(self, frames):
        """Where Perl runs, its frames go down to the main program, or to what is run before and after it."""
        why = super().why_not_whole(frames)
        own = [i for i, frame in enumerate(frames) if self.kind_of(frame)]
        if not why and not own and any(frame.name.startswith("Perl_runops") for frame in frames):
            return "a run loop, and no Perl frame"
        if not why and own and not callers.KINDS["main"].fullmatch(frames[own[-1]].name):
            if not any(frame.name == "Perl_call_list" for frame in frames[own[-1]:]):
                return "the last Perl frame is " + frames[own[-1]].name
        return why

    def figures(self, found):
        return (f"{found.with_kind():6.2f} % with Perl frames, {found.with_kind('freed'):.2f} % with a sub that was freed "
                "before it was named")

    def text_of(self, frames):
        return callers.text_of(frames)


if __name__ == "__main__":
    sys.exit(language.main(Programs))

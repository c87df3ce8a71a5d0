#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs that are written in PHP, and says what share of their stacks is whole, and what share has frames of
PHP.

They come from tests/runtimes/install (group php-programs; php-cs-fixer). Flags, output and exit status:
tests/kit/language.py.
"""
import os
import re
import sys

import backtraces
import phps
import programs_php
import language
import programs

WITH_PHP, TO_START = 97.0, 90.0     # percent of the samples; TO_START: of programs that are over at once
NAMED = 95.0    # percent of stacks of short requests: no function of theirs was freed before it was named
INTERPRETER = "execute_ex"
OF_PHP = re.compile(r"(lib)?php[\d.]*(-\w+)?(\.so)?$|php-fpm")
OF_SCRIPT = re.compile(r"(?:Script|work|each|script)(\d+)\b")


class Programs(programs.Programs):
    language, programs = phps.LANGUAGE, programs_php.ALL
    groups = ((programs_php.GROUP, "php-cs-fixer"),) * 2
    seconds = 8, 8

    @classmethod
    def add_flags(cls, made):
        made.add_argument("--script-size", type=int, default=40000, help="of the texts that the twenty scripts work on")

    def prepare(self):
        if not os.path.exists(programs_php.ROOT + "/usr/bin/phpunit"):
            raise language.Skipped("skip: no programs: tests/runtimes/install " + programs_php.GROUP)

    def inside(self, directory):
        return programs_php.inside(directory, programs_php.PHP, "-n", "-r", "sleep(300);")

    def own(self, samples):
        return [s for s in samples if any(OF_PHP.match(frame.file) for frame in s.frames)]

    def kind_of(self, frame):
        if backtraces.UNNAMED.match(frame.name) and not frame.file:
            return "freed"
        return ("start" if frame.name == backtraces.MAIN else "PHP") if backtraces.is_php(frame) else ""

    def why_not_whole(self, frames):
        """What was freed before it was named is counted apart. Where PHP runs, there are its frames."""
        own = [frame for frame in frames if backtraces.is_php(frame)]
        why = backtraces.why_incomplete([frame for frame in frames if frame.name != backtraces.FREED])
        if not why and not own and any(frame.name == INTERPRETER for frame in frames):
            return "a loop of the interpreter, and no PHP frame"
        return why or self.why_not_one_script(own)

    def why_not_one_script(self, own):
        """A name of another script is a wrong one, and so is one that does not go with the function in C that works."""
        numbers = {int(n) for frame in own for n in OF_SCRIPT.findall(f"{frame.name} {os.path.basename(frame.source)}")}
        numbers |= {programs_php.WORKERS.index(frame.name) for frame in own[:1]
                    if self.is_scripts and frame.name in programs_php.WORKERS}
        return f"wrong name: of scripts {sorted(numbers)}" if self.is_scripts and len(numbers) > 1 else None

    def check(self, run):
        name = run.case.name
        self.is_short, self.is_scripts = name == programs_php.SHORT, name == programs_php.SCRIPTS
        self.is_static = name == programs_php.STATIC
        self.threshold = 98.0 if self.is_short else 0.0 if self.is_static else 99.0
        super().check(run)

    def figures(self, found):
        return (f"{found.with_kind('PHP'):6.2f} % with PHP frames, {found.with_kind('start'):.2f} % down to {backtraces.MAIN}, "
                f"{found.with_kind('freed'):.2f} % with code that was freed before it was named")

    def lacking_in(self, found):
        if self.is_static:
            return      # it is shown
        wrong = sum(count for reason, count in found.reasons.items() if reason.startswith("wrong name"))
        if wrong:
            yield f"{wrong} samples with the name of another script"
        share, least = (found.with_kind("start"), TO_START) if self.is_short else (found.with_kind("PHP"), WITH_PHP)
        if found.with_kind("freed") > 100 - (NAMED if self.is_scripts else 97):
            yield f"{found.with_kind('freed'):.2f} % have a frame without a name"
        if found.misses(share, least):
            yield f"{share:.2f} % have {backtraces.MAIN if self.is_short else 'PHP frames'}, not {least:.0f}"

    def text_of(self, frames):
        return backtraces.Judge.text_of(frames)


if __name__ == "__main__":
    sys.exit(language.main(Programs))

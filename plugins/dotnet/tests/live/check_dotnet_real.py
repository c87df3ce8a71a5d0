#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs of .NET, and says what share of their stacks is whole, and of their frames has a line.

`dotnet build` (MSBuild and the compiler), Bicep (a single file), csharpier (C#), fantomas (F#), garnet-server, asked
over the loopback, and a server of ASP.NET (programs/Web.cs). They come from NuGet, as programs_dotnet.py says, or are
published by the SDK. Flags, output and exit status: tests/kit/language.py; --seconds are of CPU time.
"""
import sys

import programs_dotnet
import counting
import language
import programs
import stacks

SERVERS = "garnet", "web"   # they are named before they end
NAMED_BAR = 99.0            # percent of their samples
LINES_BAR = 99.5            # percent of the frames of programs/Web.cs
WEB = "Web."
# What a compiler puts before the first statement has no line, for StackTrace either: in this one, which is small and
# runs often, a third of the time.
DISPATCHES = "Web.Pages.Later"
# As long as the profiler waited for a CPU (tests/kit/language.py): managed code is walked as native code until then.
LATE = ("[truncated: sampled before its language was attached]", "[truncated: no unwind rule and no frame pointer]",
        stacks.UNKNOWN_REASON + "code")
NO_NAME = "no name"


class Programs(programs.Programs):
    language, programs = language.Language("dotnet", "DOTNET_", "CORECLR_", **programs_dotnet.SETTINGS), programs_dotnet.ALL
    fewest, seconds = 500, (6, 6)

    def prepare(self):
        self.wall = 120 + programs.WALL * self.options.seconds
        programs_dotnet.dotnet()

    def inside(self, directory):
        return [programs_dotnet.web(), str(programs_dotnet.PORT + 2)]

    def own(self, samples):
        """Of processes that have the runtime; without what was sampled before it was known that they have it."""
        ids = {s.labels.get("pid") for s in samples if any(frame.file in programs_dotnet.FILES for frame in s.frames)}
        own = [s for s in samples if s.labels.get("pid") in ids]
        late = [s for s in own if self.why_not_whole(s.frames) in LATE]
        for sample in late:
            if sample.count <= self.left:
                self.left -= sample.count
                own.remove(sample)
        return own

    def why_not_whole(self, frames):
        """
        An executable is stripped: what the C library calls its start has no name. Names are judged apart: a process
        may take those of its last functions with it.
        """
        why = super().why_not_whole([frame for frame in frames if self.kind_of(frame) != NO_NAME])
        return None if why == stacks.NO_ROOT and frames[-1].file in programs_dotnet.FILES else why

    def kind_of(self, frame):
        if frame.file or stacks.is_error(frame) or stacks.is_gap(frame) or frame.name.startswith("0x"):
            return ""
        if stacks.is_unknown(frame):
            return NO_NAME
        if frame.line:
            return "line"
        return "own" if frame.name.startswith(WEB) and frame.name != DISPATCHES else "name"

    def figures(self, found):
        return (f"{found.with_kind():6.2f} % with managed frames, {found.with_kind(NO_NAME):.2f} % with one that has no name; "
                f"{found.share('line', 'own', 'name'):.2f} % of those with names have a line")

    def lacking_in(self, found):
        if self.running in SERVERS and found.misses(100 - found.with_kind(NO_NAME), NAMED_BAR):
            yield f"{found.with_kind(NO_NAME):.2f} % of the stacks have a frame without a name"
        if counting.is_missed(found.frames["own"], found.frames["own"] + found.frames["line"], LINES_BAR):
            yield f"{found.frames['own']} frames of the program's own have no line"

    def text_of(self, frames):
        return stacks.text_of([frame.name for frame in frames], 40)

    def check(self, run):
        self.running = run.case.name
        self.left = allowed = int(self.frequency * min(language.LATE_MOST, run.done.effort.waited))
        try:
            super().check(run)
        finally:
            print(f"    {allowed - self.left} of {allowed} samples more were of a start")


if __name__ == "__main__":
    sys.exit(language.main(Programs))

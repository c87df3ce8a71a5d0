#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of Perl stacks must itself be right: over made-up stacks, and over those that Perls of this machine
show of the burner, as they are and changed in each way that a profiler could be wrong."""
import os
import re
import unittest

import callers
import language
import perls
from verdicts import TRUE

Frame = callers.Frame
ROOT = Frame("__libc_start_call_main", "libc.so.6")
C = Frame("Perl_call_sv", "perl")
MOST = 400      # stacks of each Perl


def perl(name, line, source="/p/a.pl"):
    return Frame(name, "", source, line)


class Made(unittest.TestCase):
    """A program of one file, written here."""
    SAID = """STACK	one	main::leaf|/p/a.pl|3|sub|1	main::FETCH|/p/a.pl|12|sub|1	main::turn|/p/a.pl|21|sub|1	\
main::main|/p/a.pl|31|sub|1	main|/p/a.pl|40|main|1
STACK	one	main::leaf|/p/a.pl|3|sub|1	(eval)|/p/a.pl|24|try|1	main::turn|/p/a.pl|23|sub|1	main::main|/p/a.pl|31|sub|1	\
main|/p/a.pl|40|main|1
STACK	two	main::leaf|/p/a.pl|3|sub|1	main::down|/p/a.pl|16|sub|2	main::main|/p/a.pl|32|sub|1	main|/p/a.pl|40|main|1
STACK	two	main::leaf|/p/a.pl|3|sub|1	(eval)|(eval 7)|1|text|1	main::main|/p/a.pl|33|sub|1	main|/p/a.pl|40|main|1
STACK	two	main::leaf|/p/a.pl|3|sub|1	main::__ANON__|/p/a.pl|35|sub|1	main::main|/p/a.pl|34|sub|1	main|/p/a.pl|40|main|1
STACK	two	main::leaf|/p/a.pl|3|sub|1	hidden|/p/a.pl|36|sub|1	main::main|/p/a.pl|37|sub|1	main|/p/a.pl|40|main|1
STACK	two	main::leaf|/p/a.pl|3|sub|1	main::on_timer|/p/a.pl|50|sub|1	(eval)|/p/a.pl|2|try|1	main::leaf|/p/a.pl|2|sub|1	\
main::main|/p/a.pl|38|sub|1	main|/p/a.pl|40|main|1
STACK	two	main::leaf|/p/a.pl|3|sub|1	(eval)|line.pl|501|text|1	main::main|/p/a.pl|39|sub|1	main|/p/a.pl|40|main|1
STACK	two	main::leaf|/p/a.pl|3|sub|1	main::BEGIN|/p/a.pl|8|sub|1	main::main|/p/a.pl|29|sub|1	main|/p/a.pl|40|main|1
LINES	main::leaf	/p/a.pl	2	3
LINES	main::FETCH	/p/a.pl	11	12
LINES	main::down	/p/a.pl	15
LINES	main::turn	/p/a.pl	20	21	23	24
LINES	main::main	/p/a.pl	30	31	32	33	34	37
LINES	main	/p/a.pl	40
NEARER	main::down	/p/a.pl	16	15
ANYWHERE	main::on_timer
SUB	Burn::never	Perl
SUB	List::Util::first	C
SUB	main::leaf	Perl
STARTED	0.1
CPU	2
"""
    MARKS = {("a.pl", 21): {"FETCH": ("!", "")}, ("a.pl", 34): {"__ANON__": ("!", "List::Util::first")}}
    # FRAME < FRAME.. = what is said of them, "ok": they are true. Leaf first, each frame is NAME [@FILE] [LINE]: a
    # NAME without a package is of main, "C" is a function of perl. What all begin with is left out.
    ROWS = """
leaf 2 < FETCH 12 < C < turn 21 < main 31 = ok
FETCH 11 < turn 21 < main 31 = turn:21 calls FETCH, but not by C
FETCH 11 < C < turn 21 < main 31 = ok
leaf 2 < C < FETCH 12 < C < turn 21 < main 31 \
= FETCH:12 calls leaf, but with these between: Perl_call_sv
FETCH 13 < C < turn 21 < main 31 = no line of main::FETCH: 13
leaf 2 < FETCH 11 < C < turn 21 < main 31 = wrong line: FETCH:11 of a call of leaf
leaf 3 < down 16 < down 15 < main 32 = ok
FETCH 12 < C < turn 0 < main 31 = no place: main::turn
FETCH 0 < C < turn 21 < main 31 = ok
leaf 3 < (eval) < main 33 = no place: (eval)
leaf 3 < BEGIN < C < main 29 = no place: BEGIN
leaf 3 < main::turn < main 31 = no place: main::turn
leaf 3 < down 16 < down 16 < main 32 = ok
leaf 3 < down 16 < down 16 < down 16 < main 32 = main::down:16 does not call main::down
leaf 3 < down 16 < main 32 = main::down:16 does not call main::leaf
leaf 3 < (eval) 24 < turn 23 < main 31 = ok
leaf 3 < turn 24 < main 31 = ok
leaf 3 < turn 23 < main 31 = wrong line: turn:23 of a call of leaf
FETCH 11 < C < (sort block) 21 < C < turn 23 < main 31 = ok
FETCH 11 < C < (sort block) 23 < C < turn 23 < main 31 = wrong line: turn:23 of a call of FETCH
leaf 2 < (sort block) 24 < C < turn 23 < main 31 \
= turn:24 calls leaf, but with these between: Perl_call_sv
FETCH 11 < (sort block) 21 < turn 23 < main 31 = turn:21 calls FETCH, but not by C
leaf 3 < (eval) @(eval 9) 1 < main 33 = ok
leaf 3 < (eval 9) @(eval 9) 1 < main 33 = ok
leaf 3 < main 33 = main::main:33 does not call main::leaf
(eval 9) @(eval 9) 1 < main 39 = ok
leaf 2 < S_docatch < Perl_pp_entertry < FETCH 12 < C < turn 21 < main 31 = ok
leaf 2 < S_docatch < Perl_pp_entertry < C < FETCH 12 < C < turn 21 < main 31 \
= FETCH:12 calls leaf, but with these between: S_docatch
leaf 2 < S_docatch < Perl_pp_entertry < turn 24 < main 31 \
= turn:24 calls leaf, but with these between: S_docatch
Burn::never 3 < main 31 = never runs: Burn::never
leaff 3 < main 31 = no such function: main::leaff (a.pl)
leaf 3 < hidden 36 < main 37 = ok
leaf 3 < main::hidden 36 < main 37 = ok
leaf 3 < __ANON__ 35 < C < main 34 = ok
leaf 3 < __ANON__ (a.pl:35) 35 < C < main 34 = ok
leaf 3 < __ANON__[/p/a.pl:35] 35 < C < main 34 = ok
leaf 3 < __ANON__[/p/a.pl:39] 35 < C < main 34 = made behind its line: main::__ANON__[/p/a.pl:39]:35
leaf 3 < __ANON__ 35 < C < List::Util::first < main 34 = ok
leaf 3 < __ANON__ 35 < C < List::Util::any < main 34 = no such function of C: List::Util::any
leaf 3 < on_timer 50 < C < leaf 2 < turn 24 < main 31 = ok
leaf 3 < on_timer 50 < (eval) 2 < C < leaf 2 < turn 24 < main 31 = ok
leaf 3 < on_timer 50 < C < leaf 9 < turn 24 < main 31 = no line of main::leaf: 9
[perl: unknown function] < main 31 = unknown: [perl: unknown function]
leaf @/usr/share/perl/5.36/strict.pm 7 < main 30 = ok
leaf 3 < leaf @/usr/share/perl/5.36/strict.pm 7 < main 30 \
= a sub of the burner's is called by one that is not
"""
    BEFORE = [perl("main", 40), C, ROOT]

    def setUp(self):
        known = callers.Said(self.SAID, "/p")
        self.judge = callers.Judge(known, marks=self.MARKS)
        self.exact = callers.Judge(known.without_nearer(), marks=self.MARKS)

    def frames(self, text):
        found = []
        for word in text.split(" < "):
            name, source, line = re.fullmatch(r"(.+?)(?: @(.+?))?(?: (\d+))?", word).groups()
            name = "main::" + name if line and re.match(r"(?!hidden)\w+(?!.*::)", name) else name
            native = {"C": C}.get(name) or Frame(name, "perl" if name.startswith(("S_", "Perl_")) else "")
            found.append(perl(name, int(line), source or "/p/a.pl") if line else native)
        return found + self.BEFORE

    def test_rows(self):
        for row in self.ROWS.strip().splitlines():
            text, _, reason = row.partition(" = ")
            with self.subTest(row):
                self.assertEqual(self.judge.judge(self.frames(text)), TRUE if reason == "ok" else reason)

    def check(self, reason, *frames):
        self.assertEqual(self.judge.judge(frames), reason)

    def test_lines(self):
        self.assertNotEqual(self.exact.judge(self.frames("leaf 3 < down 16 < down 15 < main 32")), TRUE)
        self.assertTrue(self.judge.has_no_line([perl("main::FETCH", 0), C]))

    def test_functions_of_c(self):
        frames = self.frames("leaf 3 < __ANON__ 35 < C < List::Util::first < main 34")
        self.assertEqual(list(self.judge.of_c(frames)), [("List::Util::first", "List::Util::first")])
        aliases = Frame("List::Util::any|first", "Util.so")
        self.assertEqual(callers.names_of_c(aliases), ["List::Util::any", "List::Util::first"])

    def test_completeness(self):
        self.check("native root missing", perl("main::main", 30), perl("main", 40), C)
        self.check("root missing: main::main is called by others", perl("main::main", 30), C, ROOT)
        self.check(callers.NONE_OF_ITS, perl("main", 40), C, ROOT)
        self.check(TRUE, Frame("do_exit", "[kernel]"), Frame("[exit]", ""))
        self.check(TRUE, perl("main::main", 30), perl("main", 40), C, ROOT)


class Observed(unittest.TestCase):
    """What each Perl says is true of itself, and is not when changed."""

    @classmethod
    def setUpClass(cls):
        found = language.looked_at(perls.one_of_each(perls.find()))
        if not found:
            raise unittest.SkipTest("no Perl here")
        cls.known = [(runtime, options, perls.ask(runtime, *words, options=options)) for runtime in found
                     for options, words in (([], []), (perls.DEBUGGED, []))]

    @staticmethod
    def is_burners(stack):
        """And no signal's while it said what its stack is."""
        names = {frame.name for frame in stack}
        return bool(names & callers.STARTS) and "Burn::seen" not in names and \
            all(frame.line and not frame.file.startswith("Devel/") for frame in stack)

    def frames_of(self, judge, stack):
        """As a right profile has it."""
        frames = [C, ROOT]
        for at, frame in enumerate(stack):
            if at:
                caller = stack[at - 1]
                mark, by = judge.mark_of(caller, caller.line, frame)
                if mark == "!" or frame.name in judge.known.anywhere and stack[at - 1].kind != "try":
                    frames[:0] = [C, Frame(by, "")] if by else [C]
            source = frame.file if frame.file.startswith("(eval") else os.path.join(callers.PROGRAMS, frame.file)
            frames.insert(0, perl(frame.name, frame.line, source))
        return frames

    def test_each_is_true(self):
        for runtime, options, known in self.known:
            judge = callers.Judge(known)
            for blocks in (False, True):
                for _, stack in known.stacks[:MOST]:
                    stack = stack if blocks else callers.without_blocks(stack)
                    if not self.is_burners(stack):
                        continue
                    frames = self.frames_of(judge, stack)
                    self.assertEqual(judge.judge(frames), TRUE,
                                     f"{runtime.name} {options}: {callers.text_of(frames)}")

    def test_each_is_not_true_when_changed(self):
        runtime, _, known = self.known[0]
        judge = callers.Judge(known)
        for _, stack in known.stacks[:MOST]:
            if not self.is_burners(stack) or len(stack) > 60:
                continue
            frames = self.frames_of(judge, stack)
            own = [i for i, f in enumerate(frames) if callers.is_perl(f)]
            for i in own[1:-2]:
                self.refuses(judge, [*frames[:i], frames[i]._replace(line=frames[i].line + 2000), *frames[i + 1:]])
                self.refuses(judge, [*frames[:i], frames[i]._replace(name="Burn::never"), *frames[i + 1:]])
                self.refuses(judge, [*frames[:i], frames[i]._replace(name="Burn::nowhere"), *frames[i + 1:]])
                self.refuses(judge, [*frames[:i], frames[i], perl("main::used", 57), *frames[i + 1:]])

    def refuses(self, judge, frames):
        self.assertNotEqual(judge.judge(frames), TRUE, callers.text_of(frames))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of Perl stacks must itself be right: over made-up stacks, and over those that Perls of this machine
show of the burner, as they are and changed in each way that a profiler could be wrong."""
import os
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
    BASE = [perl("main::main", 31), perl("main", 40), C, ROOT]

    def setUp(self):
        known = callers.Said(self.SAID, "/p")
        self.judge = callers.Judge(known, marks=self.MARKS)
        self.exact = callers.Judge(known.without_nearer(), marks=self.MARKS)

    def main_at(self, line):
        return [perl("main::main", line), *self.BASE[1:]]

    def check(self, reason, *frames, judge=None):
        self.assertEqual((judge or self.judge).judge(frames), reason)

    def test_through_c(self):
        tail = [perl("main::turn", 21), *self.BASE]
        self.check(TRUE, perl("main::leaf", 2), perl("main::FETCH", 12), C, *tail)
        self.check(TRUE, perl("main::FETCH", 11), C, *tail)
        self.check("turn:21 calls FETCH, but not by C", perl("main::FETCH", 11), *tail)
        self.check("FETCH:12 calls leaf, but with these between: Perl_call_sv",
                   perl("main::leaf", 2), C, perl("main::FETCH", 12), C, *tail)

    def test_lines(self):
        tail = [perl("main::turn", 21), *self.BASE]
        self.check("no line of main::FETCH: 13", perl("main::FETCH", 13), C, *tail)
        self.check("wrong line: FETCH:11 of a call of leaf", perl("main::leaf", 2), perl("main::FETCH", 11), C, *tail)
        down = [perl("main::down", 15), *self.main_at(32)]
        self.check(TRUE, perl("main::leaf", 3), perl("main::down", 16), *down)
        self.assertNotEqual(self.exact.judge([perl("main::leaf", 3), perl("main::down", 16), *down]), TRUE)

    def test_without_lines(self):
        tail = [perl("main::turn", 0), *self.BASE]
        self.check("no place: main::turn", perl("main::FETCH", 12), C, *tail)
        self.check(TRUE, perl("main::FETCH", 0), C, perl("main::turn", 21), *self.BASE)
        self.check("no place: (eval)", perl("main::leaf", 3), Frame("(eval)", ""), *self.main_at(33))
        self.check("no place: BEGIN", perl("main::leaf", 3), Frame("BEGIN", ""), C, *self.main_at(29))
        self.assertTrue(self.judge.has_no_line([perl("main::FETCH", 0), C]))

    def test_depth(self):
        down = perl("main::down", 16)
        self.check(TRUE, perl("main::leaf", 3), down, down, *self.main_at(32))
        self.check("main::down:16 does not call main::down", perl("main::leaf", 3), down, down, down,
                   *self.main_at(32))
        self.check("main::down:16 does not call main::leaf", perl("main::leaf", 3), down, *self.main_at(32))

    def test_eval_blocks_or_none(self):
        self.check(TRUE, perl("main::leaf", 3), perl("(eval)", 24), perl("main::turn", 23), *self.BASE)
        self.check(TRUE, perl("main::leaf", 3), perl("main::turn", 24), *self.BASE)
        self.check("wrong line: turn:23 of a call of leaf", perl("main::leaf", 3), perl("main::turn", 23), *self.BASE)

    def test_what_caller_does_not_show(self):
        tail = [C, perl("main::turn", 23), *self.BASE]
        self.check(TRUE, perl("main::FETCH", 11), C, perl("(sort block)", 21), *tail)
        self.check("wrong line: turn:23 of a call of FETCH", perl("main::FETCH", 11), C, perl("(sort block)", 23),
                   *tail)
        self.check("turn:24 calls leaf, but with these between: Perl_call_sv", perl("main::leaf", 2),
                   perl("(sort block)", 24), *tail)
        self.check("turn:21 calls FETCH, but not by C", perl("main::FETCH", 11), perl("(sort block)", 21), *tail[1:])

    def test_text(self):
        tail = self.main_at(33)
        for name in ("(eval)", "(eval 9)"):
            self.check(TRUE, perl("main::leaf", 3), perl(name, 1, "(eval 9)"), *tail)
        self.check("main::main:33 does not call main::leaf", perl("main::leaf", 3), *tail)
        self.check(TRUE, perl("(eval 9)", 1, "(eval 9)"), *self.main_at(39))

    def test_docatch_goes_on(self):
        docatch = [Frame("S_docatch", "perl"), Frame("Perl_pp_entertry", "perl")]
        inside = [perl("main::FETCH", 12), C, perl("main::turn", 21), *self.BASE]
        self.check(TRUE, perl("main::leaf", 2), *docatch, *inside)
        self.check("FETCH:12 calls leaf, but with these between: S_docatch", perl("main::leaf", 2), *docatch, C,
                   *inside)
        self.check("turn:24 calls leaf, but with these between: S_docatch", perl("main::leaf", 2), *docatch,
                   perl("main::turn", 24), *self.BASE)

    def test_names(self):
        self.check("never runs: Burn::never", perl("Burn::never", 3), *self.BASE)
        self.check("no such function: main::leaff (a.pl)", perl("main::leaff", 3), *self.BASE)
        for name in ("hidden", "main::hidden"):
            self.check(TRUE, perl("main::leaf", 3), perl(name, 36), *self.main_at(37))

    def test_without_a_name(self):
        tail = [C, *self.main_at(34)]
        for name in ("main::__ANON__", "main::__ANON__ (a.pl:35)", "main::__ANON__[/p/a.pl:35]"):
            self.check(TRUE, perl("main::leaf", 3), perl(name, 35), *tail)
        self.check("made behind its line: main::__ANON__[/p/a.pl:39]:35", perl("main::leaf", 3),
                   perl("main::__ANON__[/p/a.pl:39]", 35), *tail)

    def test_functions_of_c(self):
        anonymous = [perl("main::leaf", 3), perl("main::__ANON__", 35)]
        named, other = Frame("List::Util::first", ""), Frame("List::Util::any", "")
        self.check(TRUE, *anonymous, C, named, *self.main_at(34))
        self.check("no such function of C: List::Util::any", *anonymous, C, other, *self.main_at(34))
        frames = [*anonymous, C, named, *self.main_at(34)]
        self.assertEqual(list(self.judge.of_c(frames)), [("List::Util::first", "List::Util::first")])
        aliases = Frame("List::Util::any|first", "Util.so")
        self.assertEqual(callers.names_of_c(aliases), ["List::Util::any", "List::Util::first"])

    def test_signals_come_anywhere(self):
        handler = [perl("main::leaf", 3), perl("main::on_timer", 50), C]
        self.check(TRUE, *handler, perl("main::leaf", 2), perl("main::turn", 24), *self.BASE)
        self.check(TRUE, *handler[:2], perl("(eval)", 2), C, perl("main::leaf", 2), perl("main::turn", 24),
                   *self.BASE)
        self.check("no line of main::leaf: 9", *handler, perl("main::leaf", 9), perl("main::turn", 24), *self.BASE)

    def test_completeness(self):
        self.check("native root missing", perl("main::main", 30), perl("main", 40), C)
        self.check("unknown: [perl: unknown function]", Frame("[perl: unknown function]", ""), *self.BASE)
        self.check("root missing: main::main is called by others", perl("main::main", 30), C, ROOT)
        self.check(callers.NONE_OF_ITS, perl("main", 40), C, ROOT)
        self.check(TRUE, Frame("do_exit", "[kernel]"), Frame("[exit]", ""))
        self.check("no place: main::turn", perl("main::leaf", 3), Frame("main::turn", ""), *self.BASE)
        self.check(TRUE, perl("main::main", 30), perl("main", 40), C, ROOT)

    def test_others(self):
        other = perl("main::leaf", 7, "/usr/share/perl/5.36/strict.pm")
        self.check(TRUE, other, *self.main_at(30))
        self.check("a sub of the burner's is called by one that is not", perl("main::leaf", 3), other,
                   *self.main_at(30))


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

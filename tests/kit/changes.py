# SPDX-License-Identifier: Apache-2.0
"""What tests a judge of stacks: true ones, changed in each way that a profiler could be wrong. Is it seen?"""
import random

TIMES = 5       # each stack is changed
FEWEST = 50     # changed ones
MOST = 0.75     # of a recursion's frames each is like the other: nobody can tell that a call is missing: 0.82 of
                # a single release's were seen


class Changed:
    """
    Tests for a unittest.TestCase that has `never`, names of which no true stack has one, and true_stacks():
    (frames, leaf first; where the program's own are; what says whether others in their place are true).
    """
    def changed(self, change, first=1):
        """Share of changed stacks that are not true. first: 1: not the leaf, whose caller may itself be the leaf."""
        pick, wrong, all_of = random.Random(5), 0, 0
        for frames, own, is_true in self.true_stacks():
            for at in pick.choices(own[first:], k=TIMES):
                other = change(list(frames), at)
                if other != frames:
                    all_of += 1
                    wrong += not is_true(other)
        self.assertGreater(all_of, FEWEST)
        return wrong / all_of

    def test_a_frame_is_missing(self):
        self.assertGreater(self.changed(lambda frames, at: frames[:at] + frames[at + 1:]), MOST)

    def test_a_frame_is_twice(self):
        self.assertGreater(self.changed(lambda frames, at: frames[:at + 1] + frames[at:]), MOST)

    def test_two_are_exchanged(self):
        def exchange(frames, at):
            frames[at - 1], frames[at] = frames[at], frames[at - 1]
            return frames
        self.assertGreater(self.changed(exchange), MOST)

    def test_a_line_is_the_next(self):
        def other_line(frames, at):
            frames[at] = frames[at]._replace(line=frames[at].line and frames[at].line + 1)
            return frames
        self.assertGreater(self.changed(other_line), MOST)

    def test_a_name_never_ran(self):
        for name in self.never:
            def rename(frames, at, name=name):
                frames[at] = frames[at]._replace(name=name)
                return frames
            self.assertEqual(self.changed(rename, first=0), 1)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of check_clrmd.py sees what is wrong."""
import os
import sys
import unittest

sys.dont_write_bytecode = True  # this is a source tree
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import check_clrmd  # noqa: E402


class Compare(unittest.TestCase):
    def test_what_is_missing_added_or_another_differs(self):
        shown = ["A", "B", "C"]
        self.assertEqual(check_clrmd.compare(shown, shown), "equal")
        for own in (["A", "B"], ["A", "C"], ["B", "C"], ["A", "B", "B", "C"], ["A", "B", "C", "D"],
                    ["A", "X", "C"], ["A", "C", "B"], []):
            self.assertEqual(check_clrmd.compare(shown, own), "differs", own)

    def test_dead_frames_end_with_the_handlers_method(self):
        shown = ["Spin", "M", "Throw", "Small", "M", "Main"]
        self.assertEqual(check_clrmd.compare(shown, ["Spin", "M", "Main"]), "dead frames")
        for own in (["Spin", "M", "Other"], ["Spin", "Main"], ["Spin", "M", "M", "Main"],
                    ["Spin", "M", "Small", "M", "Main"]):
            self.assertEqual(check_clrmd.compare(shown, own), "differs", own)

    def test_a_handler_in_a_handler(self):
        shown = ["Spin", "M", "R", "Throw", "R", "M", "Throw", "M", "Main"]
        self.assertEqual(check_clrmd.compare(shown, ["Spin", "M", "Main"]), "dead frames")

    def test_clrmd_may_not_see_the_innermost_frames(self):
        self.assertEqual(check_clrmd.compare([], ["A"]), "not shown")
        self.assertEqual(check_clrmd.compare(["B", "C"], ["A", "B", "C"]), "further out")
        self.assertEqual(check_clrmd.compare(["B", "C"], ["A", "C"]), "differs")

    def test_names_are_compared_without_arguments(self):
        self.assertEqual(check_clrmd.bare("Box`1[[System.__Canon, X]].Put(System.__Canon)"), "Box`1.Put")
        self.assertEqual(check_clrmd.bare("Box`1[System.__Canon].Put[int](!0)"), "Box`1.Put")
        self.assertEqual(check_clrmd.bare("[IL stub]"), "[IL stub]")

    def test_threads_of_both(self):
        self.assertEqual(check_clrmd.read_clrmd("THREAD\t7\nFRAME\t1f\t0\tA.B(Int32)\nFRAME\t0\t0\tFrame\n"), {7: ["A.B"]})
        self.assertEqual(check_clrmd.read_clrmd("THREAD\t7\nFRAME\t1f\t8\t\nFRAME\t2f\t9\tA.B()\nTHREAD\t8\n"),
                         {7: ["A.B"], 8: []})
        self.assertEqual(check_clrmd.read_own("thread 7 x\ndotnet  B  ?  A.B(int)\nnative  libc  f\n"), {7: ["A.B"]})


if __name__ == "__main__":
    unittest.main()

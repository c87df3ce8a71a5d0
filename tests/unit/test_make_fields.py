#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exporters/shared/proto/make_fields.py: numbers of fields, and what it does not understand."""
import os
import subprocess
import sys
import tempfile
import unittest

DIRECTORY = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../exporters/shared/proto")


def make(text):
    """(exit status, header or message)"""
    with tempfile.TemporaryDirectory() as directory:
        source, header = os.path.join(directory, "x.proto"), os.path.join(directory, "x_fields.h")
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        run = subprocess.run([sys.executable, os.path.join(DIRECTORY, "make_fields.py"), source, header],
                             stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode:
            return run.returncode, run.stderr.replace(directory + "/", "")
        with open(header, encoding="ascii") as file:
            return 0, file.read()


class Fields(unittest.TestCase):
    def test_names_are_those_of_messages_and_fields(self):
        status, header = make('syntax = "proto3";\npackage p;\n// of a thing\nmessage TwoWords {\n\trepeated Other a_field = 7; // why\n'
                              "\toneof value {\n\t\tstring text = 9;\n\t}\n}\nmessage Other {\n}\n")
        self.assertEqual(status, 0, header)
        self.assertIn("enum {\n\tTWO_WORDS_A_FIELD = 7,\n\tTWO_WORDS_TEXT = 9,\n};\n", header)

    def test_what_is_not_understood_is_an_error(self):
        for text, said in (("message A {\n\tmap<string, int64> b = 1;\n}\n", "x.proto:2: not understood: map<string, int64> b = 1;"),
                           ("message A {\n\tstring b = 1;\n\tstring c = 1;\n}\n", "A has a number twice"),
                           ("message A {\n\tB b = 1;\n}\n", "A.b is a B, which is no message"),
                           ("}\n", "x.proto:1: not understood: }")):
            status, message = make(text)
            self.assertEqual(status, 1)
            self.assertIn(said, message)

    def test_ours_are_read(self):
        for name in ("otlp", "pprof"):
            with open(os.path.join(DIRECTORY, name + ".proto"), encoding="ascii") as file:
                status, header = make(file.read())
            self.assertEqual(status, 0, header)
            self.assertIn("PROFILE_SAMPLE_TYPE = 1,", header)


if __name__ == "__main__":
    unittest.main()

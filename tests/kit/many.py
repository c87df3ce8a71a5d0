# SPDX-License-Identifier: Apache-2.0
"""Builds programs of many processes that only sleep (many.h)."""
import os
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))


def build(source, directory):
    """Its command, without how many: the program, and the library that it loads. None: no compiler."""
    name = os.path.basename(source).removesuffix(".c")
    made = os.path.join(directory, name), os.path.join(directory, f"lib{name}.so")
    for path, flags in zip(made, (["-ldl"], ["-DLIBRARY", "-shared", "-fPIC"])):
        try:
            subprocess.run([os.environ.get("CC", "cc"), "-O1", "-I", ROOT, source, "-o", path, *flags],
                           check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
    return made

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent costs beside a busy JVM at 20 Hz."""
import os
import shutil
import subprocess
import tempfile

import beside
import measure

HERE = os.path.dirname(os.path.realpath(__file__))


def main():
    measure.begin()
    if not shutil.which("javac"):
        measure.skip("no javac (package default-jdk-headless)")
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["javac", "-d", directory, os.path.join(HERE, "programs", "Units.java")], check=True)
        beside.rows("a busy JVM", ["java", "-cp", directory, "Units"], 20, 1.5)


if __name__ == "__main__":
    main()

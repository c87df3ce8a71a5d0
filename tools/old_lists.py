#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Usage: old_lists.py BUILD. Prints NAME=WORD,.. for each list of meson_options.txt (outputs, languages) that is another one
in this build directory though nobody chose it: the directory keeps the list of the day it was made.
"""
import json
import os
import re
import sys

OPTIONS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "meson_options.txt")


def read(build, path, default):
    try:
        with open(os.path.join(build, path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return default


def main(build):
    ours = dict(line.split("=", 1) for line in read(build, "lists.txt", "").splitlines())  # scripts/build chose these
    chosen = dict(re.findall(r"^(\w+) = (.*)$", read(build, "meson-private/cmd_line.txt", ""), re.M))
    options = json.loads(read(build, "meson-info/intro-buildoptions.json", "[]"))
    has = {option["name"]: option["value"] for option in options}
    for name, words in re.findall(r"option\('(\w+)', type: 'array', value: \[(.*?)\]", read("", OPTIONS, "")):
        words = re.findall(r"'(.*?)'", words)
        if has.get(name, words) != words and (name not in chosen or chosen[name] == ours.get(name)):
            print(f"{name}={','.join(words)}")


if __name__ == "__main__":
    main(sys.argv[1])

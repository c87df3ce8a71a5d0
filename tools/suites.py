#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which tests scripts/test runs: words for it, by name or by what was changed.

    suites.py words WORD...             "SUITE... LANGUAGE...", or exit status 2 with a sentence
    suites.py changed <PATHS            the same, of what these paths (a line each) may break
    suites.py tests BUILD SUITE LANGUAGE...     names of the tests of these languages in a suite of a configured build

A test is of a language when something of its command is in that language's directory of tests.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
SUITES = "unit", "replay", "fuzz", "abi", "live"
LIBRARIES = "shared", "together"    # of plugins/: what several languages link, and where all are built

# The first that a path begins with. What is below a language's directory is that language's.
SUITES_OF = (
    ("docs/", "unit"),
    ("README", "unit"), ("HACKING", "unit"), ("NEWS", "unit"), ("LICENSE", "unit"), (".", "unit"),
    ("scripts/", "unit"),
    ("tools/", "unit abi"),
    ("tests/unit/", "unit"),
    ("tests/fuzz/", "fuzz"),
    ("tests/abi/", "abi live"),
    ("tests/replay/", "unit replay fuzz"),
    ("tests/kit/", "unit fuzz live"),
    ("tests/live/", "unit live"),
    ("tests/otlp/", "unit live"),
    ("tests/bench/", "unit"),
    ("tests/kernels/", "unit"),
    ("tests/cli/", "unit"), ("tests/page/", "unit live"),
    ("tests/runtimes/", "unit live"),
    ("exporters/", "unit fuzz abi live"),
    ("readers/", "unit fuzz live"),
    ("include/", " ".join(SUITES)),
    ("bpf/", " ".join(SUITES)),
    ("plugins/", " ".join(SUITES)),     # all languages
    ("core/cli/", "unit fuzz live"),
    ("core/config/", "unit fuzz live"),
    ("core/agent/", "unit live"),
    ("core/replay/", "unit replay fuzz"),
    ("core/", " ".join(SUITES)),
    ("meson", " ".join(SUITES)),
    ("profiler.toml", "unit live"),
    ("service/", "unit live"),
)


def languages():
    top = os.path.join(ROOT, "plugins")
    return sorted(name for name in os.listdir(top)
                  if name not in LIBRARIES and os.path.isdir(os.path.join(top, name, "tests")))


def words_of(path):
    """Suites and languages that a changed path is tested by; none: nobody has said."""
    parts = path.split("/")
    if parts[0] == "plugins" and len(parts) > 2 and parts[1] in languages():
        return {parts[1]}
    return set(next((suites.split() for prefix, suites in SUITES_OF if path.startswith(prefix)), ()))


def in_order(words):
    return [word for word in (*SUITES, *languages()) if word in words]


def changed(paths):
    found = set()
    for path in paths:
        found |= words_of(path) or set(SUITES)
    return in_order(found)


def tests_of(build, suite, names):
    listed = json.loads(subprocess.run(["meson", "introspect", "--tests", build], stdout=subprocess.PIPE, check=True).stdout)
    own = tuple(f"/plugins/{name}/tests/" for name in names)
    found = []
    for test in listed:
        suites = [full.rpartition(":")[2] for full in test["suite"]]
        is_left_out = build.endswith("-sanitize") and "once" in suites     # as scripts/test does
        if suite in suites and not is_left_out and any(part in word for word in test["cmd"] for part in own):
            found.append(test["name"])
    return found


def main(arguments):
    if arguments[:1] == ["words"]:
        for word in arguments[1:]:
            if word not in (*SUITES, *languages()):
                print(f"unknown word {word}: say suites ({', '.join(SUITES)}), languages ({', '.join(languages())}), "
                      "--full or --changed [BASE]")
                return 2
        print(*in_order(arguments[1:]))
    elif arguments == ["changed"]:
        print(*changed(line.strip() for line in sys.stdin if line.strip()))
    elif arguments[:1] == ["tests"]:
        print(*tests_of(arguments[1], arguments[2], arguments[3:]), sep="\n")
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

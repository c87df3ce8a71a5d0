#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which tests scripts/test runs, by words or by what was changed.

    suites.py plan ARGUMENT...      what these arguments of scripts/test ask for, a line of words, as Plan.words();
                                    exit status 2 with a sentence

A test is of a language when something of its command is in that language's directory of tests. A test in the suite
`full` is left out by default, and so is one in `once` in the sanitized build: it is Python alone.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
SUITES = "unit", "replay", "fuzz", "abi", "live"
SANITIZED = "unit", "replay", "fuzz"    # suites that run in the sanitized build; of `unit` not what is in `once`
ONCE, FULL = "once", "full"
LIBRARIES = "shared", "together"    # of plugins/: what several languages link, and where all are built

# The first that a path begins with. What is below a language's directory is that language's.
SUITES_OF = (
    ("docs/", "unit"),
    ("README", "unit"), ("HACKING", "unit"), ("NEWS", "unit"), ("LICENSE", "unit"), (".", "unit"),
    ("scripts/", "unit"),
    ("tools/", "unit abi"),
    ("tests/unit/", "unit"),
    ("tests/mutate/", "unit"),
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
    ("reports/", "unit fuzz live"),
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


class Usage(Exception):
    """One sentence."""


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


# --- what was changed -----------------------------------------------------------------------------

def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)
    return done.stdout.split("\n") if done.returncode == 0 else []


def is_commit(word):
    return bool(git("rev-parse", "-q", "--verify", word + "^{commit}"))


def words_of_changes(base):
    base = base or ("origin/main" if is_commit("origin/main") else "main")
    fork = git("merge-base", base, "HEAD")
    if not fork:
        raise Usage(f"there is no commit {base}: say which, as in test --changed HEAD~1")
    paths = git("diff", "--name-only", fork[0]) + git("ls-files", "-o", "--exclude-standard", ROOT)
    words = changed(path for path in paths if path)
    print(f"test: changed since {base}: {' '.join(words) or 'nothing'}", file=sys.stderr)
    return words


# --- the plan -------------------------------------------------------------------------------------

class Plan:
    """
    full: everything. whole: suites that are run with the tests of all languages. partly: suites of which the tests of
    `languages` are run, with all their runtimes.
    """

    def __init__(self, full=False, whole=(), partly=(), names=()):
        self.full, self.whole, self.partly, self.names = full, list(whole), list(partly), list(names)

    @property
    def needs_root(self):
        return self.full or "live" in self.whole + self.partly

    def words(self):
        """As text, which of_words() reads."""
        return " ".join(["root" if self.needs_root else "user", FULL if self.full else "default", "whole", *self.whole,
                         "partly", *self.partly, "languages", *self.names])

    @classmethod
    def of_words(cls, words):
        whole, partly, names = (words.index(word) for word in ("whole", "partly", "languages"))
        return cls(words[1] == FULL, words[whole + 1:partly], words[partly + 1:names], words[names + 1:])


def plan_of(arguments):
    by_change, full = "--changed" in arguments, "--full" in arguments
    words = [word for word in arguments if word not in ("--changed", "--full")]
    base = next((word for word in words if word not in (*SUITES, *languages()) and by_change and is_commit(word)), None)
    words = [word for word in words if word != base]
    for word in words:
        if word not in (*SUITES, *languages()):
            raise Usage(f"unknown word {word}: say suites ({', '.join(SUITES)}), languages ({', '.join(languages())}), "
                        "--full or --changed [BASE]")
    if by_change:
        words += words_of_changes(base)
        if not words:
            return Plan(full)
    suites, names = ([word for word in in_order(words) if (word in SUITES) == is_suite] for is_suite in (True, False))
    if names and not by_change:
        return Plan(full, (), suites or SUITES, names)
    return Plan(full, suites if names else suites or SUITES, SUITES if names else (), names)


# --- tests of a configured build ------------------------------------------------------------------

class Build:
    """A configured build directory: its tests, and the files that these need."""

    def __init__(self, directory, is_sanitized):
        self.directory, self.is_sanitized = directory, is_sanitized
        self.tests, targets = self.introspect("tests"), self.introspect("targets")
        self.files = {target["id"]: target["filename"] for target in targets}
        # What a user has, and its plugins in one directory, as live tests want them.
        self.product = [path for target in targets for path in target["filename"]
                        if target["installed"] or os.path.dirname(path).endswith("plugins/together")]

    def introspect(self, what):
        return json.loads(subprocess.run(["meson", "introspect", "--" + what, self.directory], stdout=subprocess.PIPE,
                                         check=True).stdout)

    def tests_in(self, suite, full, names=None):
        """Of this suite, what this build is to run; names: tests of these languages alone."""
        own = names and tuple(f"/plugins/{name}/tests/" for name in names)
        found = []
        for test in self.tests:
            suites = [one.rpartition(":")[2] for one in test["suite"]]
            if suite not in suites or (FULL in suites and not full) or self.is_sanitized != self.wants_sanitized(suites):
                continue
            if own is None or any(part in word for word in test["cmd"] for part in own):
                found.append(test)
        return found

    @staticmethod
    def wants_sanitized(suites):
        return ONCE not in suites and any(suite in SANITIZED for suite in suites)

    def files_of(self, tests):
        """What ninja is to make for these tests, from its directory."""
        paths = {path for test in tests for target in test["depends"] for path in self.files.get(target, ())}
        if tests and not self.is_sanitized:
            paths |= {*self.product}
        return sorted(os.path.relpath(path, self.directory) for path in paths)


def main(arguments):
    if arguments[:1] != ["plan"]:
        print(__doc__)
        return 2
    try:
        print(plan_of(arguments[1:]).words())
    except Usage as error:
        print(error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

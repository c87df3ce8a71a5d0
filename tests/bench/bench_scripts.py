#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names in programs that are made of short programs: a suite of 200 Python tests, a configure script that autoconf
makes first (in Perl), and git commits with hooks in Perl. A row's share is of the samples with a frame of a language."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "kit"))
import commands  # noqa: E402
import measure  # noqa: E402
import stacks  # noqa: E402

MODULES = ("json re subprocess argparse collections csv dataclasses datetime decimal difflib enum fnmatch fractions "
           "functools gzip hashlib heapq html inspect ipaddress itertools logging os pathlib pickle pprint queue random "
           "shlex shutil socket sqlite3 statistics string tempfile textwrap threading tokenize typing uuid").split()
TEST = """import unittest
import %s, %s
class Test%d(unittest.TestCase):
    def test_names(self):
        self.assertTrue(sorted(dir(%s)))
    def test_text(self):
        self.assertEqual(len(repr(list(range(200)))), 890)
unittest.main()
"""
CONFIGURE = ["AC_INIT([measured], [1])", "AC_PROG_CC", *(f"AC_CHECK_HEADERS([{name}.h])" for name in (
    "stdint unistd sys/mman sys/epoll netdb poll zlib pthread dlfcn locale wchar sys/un termios glob").split()),
    *(f"AC_CHECK_FUNCS([{name}])" for name in "mmap epoll_wait getaddrinfo strlcpy memfd_create pipe2 getrandom".split()),
    "AC_OUTPUT", ""]
HOOK = """#!/usr/bin/perl
use strict; use warnings; use POSIX; use File::Basename; use Data::Dumper;
sub words { my %n; $n{$_}++ for split /\\W+/, shift; return \\%n }
open my $log, '-|', 'git', 'log', '-1', '--format=%B'; local $/; my $text = <$log> // '';
my $words = words($text . Dumper({map { $_ => basename($_) } glob '*'}));
exit 0;
"""


def run(name, script):
    """Records a script that a shell runs."""
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out.pb.gz")
        measure.record(["-F", "499", "-o", out], ["sh", "-ec", script])
        samples = [s for s in stacks.read_profile(out).samples
                   if any(f.file == "" and not f.name.startswith("[") for f in s.frames) or commands.lacks_name(s)]
    n = sum(s.count for s in samples)
    good = sum(s.count for s in samples if not commands.lacks_name(s))
    measure.row(f"{name}: samples with all names, of {n}", 100 * good / max(n, 1), "%", ">= 97", 97, at_least=True)


def python_tests(directory):
    for i in range(200):
        names = MODULES[i % len(MODULES)], MODULES[(7 * i + 3) % len(MODULES)]
        with open(os.path.join(directory, f"test_{i}.py"), "w", encoding="utf-8") as file:
            file.write(TEST % (*names, i, names[0]))
    return f"cd {directory}; for t in test_*.py; do {sys.executable} $t 2>/dev/null; done"


def configure(directory):
    with open(os.path.join(directory, "configure.ac"), "w", encoding="utf-8") as file:
        file.write("\n".join(CONFIGURE))
    return f"cd {directory}; for i in 1 2 3; do for j in 1 2 3 4 5 6 7 8; do autoconf -f; done; ./configure >/dev/null; done"


def git_hooks(directory):
    for hook in "pre-commit", "commit-msg", "post-commit":
        path = os.path.join(directory, hook)
        with open(path, "w", encoding="utf-8") as file:
            file.write(HOOK)
        os.chmod(path, 0o755)
    return (f"cd {directory}; git init -q .; git config user.name a; git config user.email a@example.com;"
            " mv pre-commit commit-msg post-commit .git/hooks;"
            " for i in $(seq 60); do echo $i > $i.txt; git add $i.txt; git commit -qm \"number $i\"; done")


def main():
    measure.begin()
    for name, make, tool in (("200 Python tests", python_tests, "sh"), ("autoconf and configure", configure, "autoconf"),
                             ("git commits with Perl hooks", git_hooks, "git")):
        if not shutil.which(tool):
            measure.skip_row(f"{name}: samples with all names", f"no {tool} here")
            continue
        with tempfile.TemporaryDirectory() as directory:
            run(name, make(directory))


if __name__ == "__main__":
    main()

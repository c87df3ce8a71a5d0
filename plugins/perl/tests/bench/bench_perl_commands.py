#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of Perls that are gone when names are read: a command alone, autoconf, and hooks of git."""
import os
import shutil
import tempfile

import commands
import measure

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
    commands.bench("perl with two modules", ["perl", "-MPOSIX", "-MData::Dumper", "-e", "1"], 99)
    commands.alone("perl with two modules", ["perl", "-MPOSIX", "-MData::Dumper", "-e", "1"], 99)
    for name, make, tool in ("autoconf and configure", configure, "autoconf"), ("git commits with hooks", git_hooks, "git"):
        if not shutil.which(tool):
            measure.skip_row(f"{name}: samples with all names", f"no {tool} here")
            continue
        with tempfile.TemporaryDirectory() as directory:
            commands.script_row(name, make(directory), 97)


if __name__ == "__main__":
    main()

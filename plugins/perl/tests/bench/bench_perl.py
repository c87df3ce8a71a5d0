#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The short benches of Perl: see tests/kit/benches.py. EBPF_PROFILER_BENCH_PERL: minor releases of `bpf`."""
import os
import shutil
import tempfile

import benches
import beside
import commands
import language
import measure
import names
import perls
import slopes

HERE = os.path.dirname(os.path.realpath(__file__))
MINORS = [int(n) for n in os.environ.get("EBPF_PROFILER_BENCH_PERL", "32 36 44").split()]
DEPTHS = 50, 450
CONTEXTS_PER_RUN = 144
BAR = 100       # ns
KINDS = {
    "one": "one sub", "many": "16 subs in turn", "closures": "closures", "loops": "a sub in a loop in a block",
}
MODULES = ["perl", "-MPOSIX", "-MData::Dumper", "-e", "1"]
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


def bench_agent():
    """Beside exiftool, too, which reads all of /usr, at 99 Hz."""
    beside.rows("a busy Perl", ["perl", os.path.join(HERE, "..", "programs", "burner.pl"), "1000"], 20, 1.5)
    if shutil.which("exiftool"):
        beside.rows("exiftool -r", ["exiftool", "-r", "/usr"], 99, 6, 80, loop=True, statuses=(0, 1))
    else:
        measure.skip_row("agent beside exiftool -r, 99 Hz", "no exiftool (package libimage-exiftool-perl)")


def rows(runtime, directory):
    for kind, what in KINDS.items():
        yield f"Perl 5.{perls.minor(runtime)}, {what}", BAR, [f"{directory}/depth.pl", kind]


def bench_bpf():
    """A call from Perl to Perl makes no native frame, so the slope is Perl's alone. Static ones, where there are."""
    found = sorted(perls.one_of_each(perls.find()), key=lambda r: "static" not in r.flavors)
    slopes.bench("perl", list(language.first_of_each(found, perls.minor, MINORS).values()), DEPTHS, rows, CONTEXTS_PER_RUN,
                 "contexts", program=os.path.join(HERE, "programs", "depth.pl"))


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


def bench_commands():
    """A command alone, autoconf, and hooks of git."""
    commands.rows("perl with two modules", MODULES, 99)
    commands.alone("perl with two modules", MODULES, 99)
    for name, make, tool in ("autoconf and configure", configure, "autoconf"), ("git commits with hooks", git_hooks, "git"):
        if not shutil.which(tool):
            measure.skip_row(f"{name}: samples with all names", f"no {tool} here")
            continue
        with tempfile.TemporaryDirectory() as directory:
            commands.script_row(name, make(directory), 97)


def bench_names():
    names.bench("perl", "sub", 20, 1)


if __name__ == "__main__":
    benches.main(globals())

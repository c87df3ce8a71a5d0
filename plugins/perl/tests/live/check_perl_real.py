#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs of Debian that are written in Perl, and says what share of their stacks is whole: down to the
program's native root, and their Perl frames down to the main program.

    check_perl_real.py [--only REGEX] [--seconds N] [--keep DIRECTORY] [--no-install] [--tries N]

They come from tests/runtimes/install (group perl-programs). Exit status: 0, 1 when one is below its bar, 77 when
there is none or this machine cannot profile.
"""
import collections
import dataclasses
import http.client
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import callers  # noqa: E402
import perls  # noqa: E402
import runs  # noqa: E402
import runtimes  # noqa: E402
import stacks  # noqa: E402
from runs import Failed, Skipped  # noqa: E402

THRESHOLD = 99.0        # percent
FREQUENCY = 499
FEWEST = 200
GROUP = "perl-programs"
ROOT = os.path.join(runtimes.CACHE, GROUP)
PORT = 18199
REQUESTS = 20000        # at most
PERL = re.compile(r"^(perl(5[\d.]*)?(-[\w-]+)?|libperl\.so.*)$")
PACKAGE = {
    "control": """Source: burned
Maintainer: Nobody <nobody@example.org>
Section: misc
Priority: optional
Standards-Version: 4.6.2
Rules-Requires-Root: no
Build-Depends: debhelper-compat (= 13)

Package: burned
Architecture: all
Depends: ${misc:Depends}, ${perl:Depends}
Description: files to be packed
 So many that it takes some time.
""",
    "changelog": """burned (1.0) unstable; urgency=medium

  * First.

 -- Nobody <nobody@example.org>  Mon, 01 Jan 2024 00:00:00 +0000
""",
    "copyright": "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n",
    "install": "data/* usr/share/burned/\n",
    "burned.manpages": "data/burned0.1\n",
}


@dataclasses.dataclass
class Case:
    name: str


# --- programs: each gives a command, which ends by itself or after so many seconds -----------------

def inside(directory, seconds, *words):
    """The command that runs these words in the root file system."""
    return ["timeout", "-s", "TERM", str(seconds), sys.executable, runtimes.ENTER, "chroot", ROOT, directory, *words]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_package(directory):
    for name, text in PACKAGE.items():
        write(f"{directory}/burned/debian/{name}", text)
    for n in range(300):
        write(f"{directory}/burned/data/burned{n}.1", f'.TH BURNED{n} 1\n.SH NAME\nburned{n} \\- it\n' * 20)
    write(f"{directory}/burned/debian/rules", "#!/bin/sh\nexec dh $1\n")
    os.chmod(f"{directory}/burned/debian/rules", 0o755)


def build_package(directory, seconds):
    """A shell's command that builds it again and again."""
    write_package(directory)
    return inside(directory, seconds, "/bin/sh", "-c",
                  f"cd {directory}/burned && while :; do dh clean && dh binary || exit 1; done")


def program_exiftool(directory, seconds):
    return inside(directory, seconds, "/usr/bin/perl", "/usr/bin/exiftool", "-r", "-q", "-json", "/usr/share",
                  "/usr/lib")


def program_debhelper(directory, seconds):
    return build_package(directory, seconds)


def program_lintian(directory, seconds):
    build_package(directory, seconds)
    vendor = ROOT + "/etc/dpkg/origins/default"     # of base-files' script, which was not run
    if not os.path.lexists(vendor):
        os.symlink("debian", vendor)
    made = subprocess.run(inside(directory, 60, "/bin/sh", "-c", f"cd {directory}/burned && dh binary"),
                          capture_output=True, text=True, check=False)
    packages = [name for name in os.listdir(directory) if name.endswith(".deb")]
    if not packages:
        raise Skipped(f"skip: debhelper has made no package: {made.stderr[-300:]}")
    return inside(directory, seconds, "/bin/sh", "-c",
                  f"while :; do lintian --allow-root {directory}/{packages[0]} >{directory}/said 2>&1; done")


def program_mojolicious(directory, seconds):
    shutil.copy(os.path.join(callers.PROGRAMS, "server.pl"), directory)
    return served(seconds, inside(directory, seconds + 20, "/usr/bin/perl", directory + "/server.pl", "daemon", "-l",
                                  f"http://127.0.0.1:{PORT}"))


def program_starman(directory, seconds):
    shutil.copy(os.path.join(callers.PROGRAMS, "server.psgi"), directory)
    return served(seconds, inside(directory, seconds + 20, "/usr/bin/perl", "/usr/bin/starman", "--workers", "2",
                                  "--listen", f"127.0.0.1:{PORT}", directory + "/server.psgi"))


PROGRAMS = {name[8:]: fn for name, fn in globals().items() if name.startswith("program_")}


# --- a server's client ----------------------------------------------------------------------------

def served(seconds, command):
    """The command that starts a server and is its client for so long."""
    return [sys.executable, os.path.realpath(__file__), "--serve", str(seconds), *command]


def serve(seconds, command):
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
        end, answered = time.monotonic() + seconds, 0
        while time.monotonic() < end and answered < REQUESTS:
            try:
                answered += request(answered)
            except OSError:
                time.sleep(0.1)         # not there yet
        server.terminate()
    print(f"{answered} answers")
    return 0 if answered else 1


def request(number):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
    connection.request("GET", ("/", "/list/60", "/json/90")[number % 3])
    good = connection.getresponse().read()
    connection.close()
    return bool(good)


# --- judging --------------------------------------------------------------------------------------

def is_of_perl(sample):
    return any(PERL.match(frame.file) for frame in sample.frames) and not runs.is_starter(sample)


def is_named(frame):
    return callers.is_perl(frame) or callers.is_placeless(frame) or callers.is_of_c(frame)


def why_not_whole(frames):
    """Where Perl runs, its frames go down to the main program, or to what is run before and after it."""
    why = stacks.why_incomplete(frames)
    own = [i for i, frame in enumerate(frames) if is_named(frame)]
    if not why and not own and any(frame.name.startswith("Perl_runops") for frame in frames):
        return "a run loop, and no Perl frame"
    if not why and own and not callers.KINDS["main"].fullmatch(frames[own[-1]].name):
        if not any(frame.name == "Perl_call_list" for frame in frames[own[-1]:]):
            return "the last Perl frame is " + frames[own[-1]].name
    return why


def measure(name, options, directory):
    path = os.path.join(options.keep or directory, name + ".pb.gz")
    work = os.path.join(directory, name)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    command = PROGRAMS[name](work, options.seconds)
    profile, done = perls.record(command, path, timeout=120 + options.seconds,
                                 sleeps=inside(work, 300, "/usr/bin/perl", "-e", "sleep 300"))
    samples = [s for s in runs.not_of_sleeper(profile.samples, done) if is_of_perl(s)]
    whole, reasons = sum(s.count for s in samples), collections.Counter()
    examples, named, freed = {}, 0, 0
    for sample in samples:
        why = why_not_whole(sample.frames)
        named += sample.count * any(map(is_named, sample.frames))
        freed += sample.count * any(frame.name == callers.FREED for frame in sample.frames)
        if why:
            reasons[why] += sample.count
            examples.setdefault(why, sample.frames)
    if whole < FEWEST:
        raise Failed(f"{whole} samples are too few to tell: {done.stdout[-300:]} {done.stderr[-500:]}")
    share = 100 * (whole - sum(reasons.values())) / whole
    print(f"  {name:12} {whole:6} samples, {100 * named / whole:6.2f} % with Perl frames, {share:6.2f} % whole, "
          f"{100 * freed / whole:.2f} % with a sub that was freed before it was named")
    for reason, count in reasons.most_common(6):
        print(f"    {100 * count / whole:6.2f} %  {reason}\n              {callers.text_of(examples[reason])}")
    if share < THRESHOLD:
        raise Failed(f"{share:.2f} % of {name}'s stacks are whole")


def prepare(options, directory):
    if not options.no_install:
        subprocess.run([runs.INSTALL, "-l", "perl", GROUP], check=False)
    if not os.path.exists(ROOT + "/usr/bin/exiftool"):
        raise Skipped("skip: no programs: tests/runtimes/install " + GROUP)

    return [Case(name) for name in PROGRAMS], lambda case: measure(case.name, options, directory)


def main(arguments):
    if arguments[:1] == ["--serve"]:
        return serve(float(arguments[1]), arguments[2:])
    options = runs.parser().parse_args(arguments)
    options.seconds = options.seconds or 8
    return runs.main(options, "perl", lambda directory: prepare(options, directory))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

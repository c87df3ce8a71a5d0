# SPDX-License-Identifier: Apache-2.0
"""Debian's programs that are written in Perl, and what they do for check_perl_real.py: each gives its command."""
import os
import shutil
import subprocess
import sys

import callers  # and with it where the kit is
import runtimes
from programs import driven, named, write
from runs import Skipped

GROUP = "perl-programs"
ROOT = os.path.join(runtimes.CACHE, GROUP)
PORT = 18199
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


def inside(directory, seconds, *words):
    """The command that runs these words in the root file system."""
    return ["timeout", "-s", "TERM", str(seconds), sys.executable, runtimes.ENTER, "chroot", ROOT, directory, *words]


def served(check, directory, *words):
    """The command that starts a server and is its client for so long."""
    seconds = check.options.seconds
    return driven(inside(directory, seconds + 20, "/usr/bin/perl", *words), seconds, False, PORT,
                  ("/", "/list/60", "/json/90"))


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


def program_exiftool(check, directory):
    return inside(directory, check.options.seconds, "/usr/bin/perl", "/usr/bin/exiftool", "-r", "-q", "-json", "/usr/share",
                  "/usr/lib")


def program_debhelper(check, directory):
    return build_package(directory, check.options.seconds)


def program_lintian(check, directory):
    write_package(directory)
    vendor = ROOT + "/etc/dpkg/origins/default"     # of base-files' script, which was not run
    if not os.path.lexists(vendor):
        os.symlink("debian", vendor)
    made = subprocess.run(inside(directory, 60, "/bin/sh", "-c", f"cd {directory}/burned && dh binary"),
                          capture_output=True, text=True, check=False)
    packages = [name for name in os.listdir(directory) if name.endswith(".deb")]
    if not packages:
        raise Skipped(f"skip: debhelper has made no package: {made.stderr[-300:]}")
    return inside(directory, check.options.seconds, "/bin/sh", "-c",
                  f"while :; do lintian --allow-root {directory}/{packages[0]} >{directory}/said 2>&1; done")


def program_mojolicious(check, directory):
    shutil.copy(os.path.join(callers.PROGRAMS, "server.pl"), directory)
    return served(check, directory, directory + "/server.pl", "daemon", "-l", f"http://127.0.0.1:{PORT}")


def program_starman(check, directory):
    shutil.copy(os.path.join(callers.PROGRAMS, "server.psgi"), directory)
    return served(check, directory, "/usr/bin/starman", "--workers", "2", "--listen", f"127.0.0.1:{PORT}",
                  directory + "/server.psgi")


ALL = named(globals())

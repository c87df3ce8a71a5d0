# SPDX-License-Identifier: Apache-2.0
"""How tests/replay/record starts the Perls of the fixtures: those of tests/runtimes/install, and the machine's."""
import functools
import os
import shutil
import subprocess
import time

import runtimes

HERE = os.path.dirname(os.path.realpath(__file__))
VERSIONS = ["5.28", "5.30", "5.32", "5.34", "5.36", "5.38", "5.40", "5.42", "5.44"]
NAMES = [f"perl-{version}{form}" for version in VERSIONS for form in ("", "-libperl")]


@functools.cache
def all_runtimes():
    return [r for r in runtimes.find("perl") if "debug" not in r.flavors]


def command_of(runtime, work):
    """With the same paths on every machine: its root, or the machine's own Perl where that is Debian's."""
    script = work + "/stand.pl"
    return runtime.argv([script], directory=work, way="container" if runtime.root else None)


def start(name, work):
    version, _, form = name.removeprefix("perl-").partition("-")
    wanted = [r for r in all_runtimes() if r.version.startswith(version + ".") and (form or "static") in r.flavors]
    wanted.sort(key=lambda r: (not r.root, r.source))
    if not wanted:
        return None, f"no Perl {version} {form}"
    shutil.copy(HERE + "/programs/stand.pl", work)
    run = subprocess.Popen(command_of(wanted[0], work), env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
                           stdout=subprocess.DEVNULL)
    time.sleep(3)
    return run, [r"(?m)^perl  main::stand  ", r"(?m)^perl  Tied::FETCH  ", r"(?m)^perl  main  "]

# SPDX-License-Identifier: Apache-2.0
"""How tests/replay/record starts the Rubies of the fixtures: those of tests/runtimes/install."""
import functools
import os
import shutil
import subprocess
import time

import runtimes

HERE = os.path.dirname(os.path.realpath(__file__))
VERSIONS = ["2.7", "3.1", "3.3", "3.4", "3.1-yjit", "3.1-collect", "3.1-fiber", "3.4-fiber"]
NAMES = ["ruby-" + version for version in VERSIONS]
SHRINK = True
FOUND = {
    "collect": [r"(?m)^ruby  \(garbage collection: marking\)", r"(?m)^ruby  GC\.start"],
    "fiber": [r"(?m)^ruby  Object#spin  ", r"(?m)^ruby  Enumerator::Generator#each  "],
}


@functools.cache
def all_runtimes():
    return [r for r in runtimes.find("ruby") if r.root and "yjit" not in r.flavors]


def start(name, work):
    version, _, form = name.removeprefix("ruby-").partition("-")
    wanted = sorted((r for r in all_runtimes() if r.version.startswith(version + ".")), key=lambda r: r.source)
    if not wanted:
        return None, f"no Ruby {version}"
    shutil.copy(HERE + "/programs/stand.rb", work)
    jit = ["--yjit", "--yjit-call-threshold=2"] if form == "yjit" else []
    command = wanted[0].argv(["--disable=gems", *jit, work + "/stand.rb", *([form] if form in FOUND else [])],
                             directory=work, way="container")
    run = subprocess.Popen(command, env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, stdout=subprocess.DEVNULL)
    time.sleep(3)
    return run, FOUND.get(form, [r"(?m)^ruby  Object#spin  ", r"(?m)^ruby  Down#down  ", r"(?m)^ruby  <main>  "])

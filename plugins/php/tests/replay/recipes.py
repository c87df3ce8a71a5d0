# SPDX-License-Identifier: Apache-2.0
"""How tests/replay/record starts the PHPs of the fixtures: those of tests/runtimes/install."""
import functools
import os
import shutil
import subprocess
import time

import runtimes

HERE = os.path.dirname(os.path.realpath(__file__))
VERSIONS = ["7.4", "8.2", "8.3", "8.4", "8.5", "8.6", "8.2-fiber", "8.6-fiber", "8.2-function", "8.4-tracing", "8.6-tracing",
            "8.4-zts"]
NAMES = ["php-" + version for version in VERSIONS]
SHRINK = True
OPCACHE = {(8, 2): ["-d", "zend_extension=opcache"], (8, 4): ["-d", "zend_extension=opcache"]}


@functools.cache
def all_runtimes():
    return list(runtimes.find("php"))


def options_of(form, numbers):
    if form not in ("function", "tracing"):
        return []
    return [*OPCACHE.get(numbers[:2], []), "-d", "opcache.enable_cli=1", "-d", "opcache.file_update_protection=0", "-d",
            "opcache.jit_buffer_size=16M", "-d", "opcache.jit=" + form]


def start(name, work):
    version, _, form = name.removeprefix("php-").partition("-")
    flavors = ("zts",) if form == "zts" else ()
    wanted = sorted((r for r in all_runtimes() if r.version.startswith(version + ".") and r.flavors == flavors),
                    key=lambda r: (r.source.endswith("programs"), r.source))
    if not wanted:
        return None, f"no PHP {version}"
    shutil.copy(HERE + "/programs/stand.php", work)
    command = wanted[0].argv(["-n", *options_of(form, wanted[0].numbers), work + "/stand.php",
                              *(["fiber"] if form == "fiber" else [])], directory=work, way="container")
    run = subprocess.Popen(command, env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, stdout=subprocess.DEVNULL)
    time.sleep(3)
    return run, [r"(?m)^php  spin  ", r"(?m)^php  Box::down  ", r"(?m)^php  \{main\}  "]

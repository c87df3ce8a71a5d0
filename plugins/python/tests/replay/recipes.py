# SPDX-License-Identifier: Apache-2.0
"""How tests/replay/record starts the CPythons of the fixtures: pyenv's, and those of tests/runtimes/install."""
import functools
import os
import shutil
import subprocess
import time

import runtimes

HERE = os.path.dirname(os.path.realpath(__file__))
VERSIONS = ["3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15",
            "3.14-jit", "3.15-jit", "3.13-freethreaded", "3.11-debug"]
NAMES = ["python-" + version for version in VERSIONS]


@functools.cache
def all_runtimes():
    return list(runtimes.find("python"))


def command_of(runtime, work):
    """With the same paths on every machine: its root, or /opt, in a mount namespace of its own."""
    script = work + "/stand.py"
    if runtime.root:
        return runtime.argv([script], directory=work, way="container")
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(runtime.program)))
    name = os.path.basename(os.path.realpath(runtime.program))
    inside = "/opt/" + name
    return ["unshare", "-m", "sh", "-c",
            f"mount -t tmpfs tmpfs /opt && mkdir {inside} && mount --bind {prefix} {inside} && "
            f"exec env -i HOME=/ PYTHONPYCACHEPREFIX=/opt/none PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH={inside}/lib "
            f"{inside}/bin/{name} {script}"]


def start(name, work):
    version, _, flavor = name.removeprefix("python-").partition("-")
    wanted = [r for r in all_runtimes() if r.version.startswith(version + ".") and
              {"debug", "freethreaded", "jit"} & set(r.flavors) == ({flavor} if flavor else set())]
    wanted.sort(key=lambda r: (r.source != "pyenv", r.source, r.version))
    if not wanted:
        return None, f"no Python {version} {flavor}"
    shutil.copy(HERE + "/programs/stand.py", work)
    run = subprocess.Popen(command_of(wanted[0], work), env={"PATH": os.environ["PATH"]}, stdout=subprocess.DEVNULL)
    time.sleep(3)
    return run, r"\A(native.*\n)*python  stand "

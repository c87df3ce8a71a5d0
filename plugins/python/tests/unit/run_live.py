# SPDX-License-Identifier: Apache-2.0
"""Runs live.py in CPythons of this machine, and TEST_PYTHON_LIVE beside each: see test_live.c.

    run_live.py TEST_PYTHON_LIVE

Of each shape of line tables one minor, and the newest: fixtures have the layouts of the others,
which are compared with EBPF_PROFILER_TEST_FULL in the environment. What is not there is a skip, and
named.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "..", "tests", "runtimes"))
import runtimes  # noqa: E402

SHAPES = (3, 6), (3, 10), (3, 11)
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}


def wanted(found):
    """One release of each minor and flavour."""
    full = "EBPF_PROFILER_TEST_FULL" in os.environ
    minors = {r.numbers[:2] for r in found}
    compared = minors if full else {*SHAPES, max(minors, default=None)}
    for minor in sorted(set(SHAPES) - minors):
        print("SKIPPED: no CPython %d.%d here" % minor)
    seen = set()
    for runtime in found:
        key = runtime.numbers[:2], *({"debug", "freethreaded"} & set(runtime.flavors))
        is_new = key not in seen and not runtime.environment
        if full or (runtime.numbers[:2] in compared and is_new):
            seen.add(key)
            yield runtime


def compare(program, runtime):
    command = runtime.argv([os.path.join(HERE, "live.py")], HERE)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**os.environ, **ENVIRONMENT}) as script:
        print(runtime.name, flush=True)
        done = subprocess.run([program], stdin=script.stdout, check=False)
        script.kill()
    return done.returncode


def main(program):
    results = [compare(program, runtime) for runtime in wanted(list(runtimes.find("python")))]
    if not set(results) - {77}:
        return 77
    return 1 if set(results) - {0, 77} else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

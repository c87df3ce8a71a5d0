#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first JVM: what of it is in code that nobody knows. How is in tests/kit/first.py."""
import os
import sys
import tempfile

import measure
import javas
import first

RELEASE = int(os.environ.get("EBPF_PROFILER_BENCH_JAVA", "17").split()[0])


def main():
    measure.begin()
    runtime = next((r for r in sorted(javas.find(), key=lambda r: r.root) if javas.major(r) == RELEASE), None)
    if not runtime:
        return measure.skip(f"no JVM {RELEASE}")
    with tempfile.TemporaryDirectory() as directory:
        javas.build(directory)
        first.bench(f"JVM {RELEASE}", javas.command(runtime, directory, str(first.SECONDS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

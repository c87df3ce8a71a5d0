# SPDX-License-Identifier: Apache-2.0
"""System calls that the profiler made and that are not on its list (core/base/system_calls.def): no test has one."""
import re

SAID = re.compile(r"system call (\S+ \(\d+\)) is not on the list")


def said_in(log):
    return sorted(set(SAID.findall(log or "")))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of Rubies that are gone when names are read: a command alone, and one with two libraries. For information."""
import shlex

import rubies
import commands
import measure

if __name__ == "__main__":
    measure.begin()
    for runtime in rubies.one_of_each(rubies.find()):
        if "yjit" not in runtime.flavors:
            for args in ["-e", "1"], ["-rjson", "-rset", "-e", "1"]:
                commands.rows(f"Ruby {runtime.version}, {shlex.join(args)}", runtime.argv(args))

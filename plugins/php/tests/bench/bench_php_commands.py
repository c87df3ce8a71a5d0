#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of PHPs that are gone when names are read: a command alone, and one that includes a file. For information."""
import os
import tempfile

import phps
import commands
import measure

if __name__ == "__main__":
    measure.begin()
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        script = os.path.join(directory, "short.php")
        with open(script, "w", encoding="utf-8") as file:
            file.write("<?php\nfunction sum($n)\n{\n\treturn array_sum(array_map(fn($i) => $i * 2, range(1, $n)));\n}\nsum(20000);\n")
        for runtime in phps.one_of_each(phps.find()):
            if not runtime.flavors:
                for what, words in ("-r", ["-r", "1;"]), ("a script of 2 ms", [script]):
                    commands.rows(f"PHP {runtime.version}, {what}", runtime.argv(["-n", *words], directory))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the plugin calls functions in C must be what each PHP of this machine calls them (Reflection), and, where one has symbols, what
these say, address by address."""
import os
import re
import subprocess
import unittest

import phps
import language

PRINT = os.environ.get("PRINT_NATIVES", "")
LEAST = 97.0    # percent of what PHP says: methods that are a function as well, such as DateTime::format, have that one's name
# Of the program, and what is in no table of a class: methods of all enums, of closures. Functions of another SAPI.
OTHERS = re.compile(r"zim_(cases|from|tryFrom)|zif_(apache_\w+|getallheaders)")
TO_7_4 = re.compile(r"zi[fm]_[a-zA-Z_]+$")     # one table for Exception and Error: no class
ASK = r"""
foreach (get_defined_functions()['internal'] as $name) echo "zif_$name\n";
foreach (array_merge(get_declared_classes(), get_declared_interfaces()) as $class)
	foreach ((new ReflectionClass($class))->getMethods() as $method)
		if ($method->class == $class && $method->isInternal() && !$method->isAbstract())
			echo "zim_{$class}_$method->name\n";
"""


def names_of_plugin(path):
    """{address: its names}"""
    done = subprocess.run([PRINT, path], capture_output=True, text=True, check=True, timeout=60)
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return {int(first, 16): expanded(second) for first, second in lines if first != "FILE"}


def expanded(names):
    """Plain aliases have no prefix."""
    prefix = names[:4] if names.startswith("zif_") else ""
    return [name if name.startswith(prefix) else prefix + name for name in names.split("|") if name != "..."]


def symbols_of(path):
    done = subprocess.run(["nm", path], capture_output=True, text=True, check=False)
    found = {}
    for address, _, name in (line.split() for line in done.stdout.splitlines() if line.count(" ") == 2):
        if re.match(r"(zif|zim|zflf)_\w+$", name):
            found.setdefault(int(address, 16), []).append(name.lower())
    return found


class Tables(unittest.TestCase):
    def check_names(self, runtime, said):
        done = phps.run(runtime.argv(["-n", "-r", ASK]))
        real = {line.replace("\\", "_").lower() for line in done.stdout.split()}
        names = [name for names in said.values() for name in names if not name.startswith("zflf_")]
        wrong = [name for name in names if name.lower() not in real and not OTHERS.fullmatch(name) and
                 not (runtime.numbers < (8,) and TO_7_4.match(name))]
        found = len(real & {name.lower() for name in names})
        print(f"  {runtime.name}: {len(said)} functions; {found} of {len(real)} names")
        self.assertEqual(wrong, [])
        # What was loaded from objects of its own is not asked for: -n.
        self.assertGreaterEqual(100 * found / len(real), LEAST if runtime.numbers >= (8,) else 90)

    def check_symbols(self, runtime, said, symbols):
        cut = [names for names in said.values() if len("|".join(names)) > 200]
        wrong = [(symbols[va], names) for va, names in said.items()
                 if va in symbols and names not in cut and not set(symbols[va]) & {name.lower() for name in names}]
        missing = [names for va, names in symbols.items() if va not in said]
        print(f"  {runtime.name}: {len(symbols)} symbols, {len(missing)} of them without a name: {missing[:5]}")
        self.assertEqual(wrong, [])
        self.assertLessEqual(len(missing), len(symbols) // 100)

    def test_each_php(self):
        found = language.looked_at([r for r in phps.one_of_each(phps.find()) if "static" not in r.flavors])
        if not PRINT or not found:
            self.skipTest("no PHP, or nothing built")
        for runtime in found:
            path = runtime.root + runtime.program
            said, symbols = names_of_plugin(path), symbols_of(path)
            with self.subTest(runtime.name):
                self.check_names(runtime, said)
            if symbols:
                with self.subTest(runtime.name + " symbols"):
                    self.check_symbols(runtime, said, symbols)


if __name__ == "__main__":
    unittest.main()

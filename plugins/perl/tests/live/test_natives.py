#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the plugin reads from objects of XS functions must be what each Perl of this machine calls them (B)."""
import collections
import os
import subprocess
import unittest

import perls
import language

PRINT = os.environ.get("PRINT_NATIVES", "")
LEAST = 99.0    # percent of the functions that have their names
MODULES = "B POSIX List::Util Data::Dumper Storable Encode Socket Time::HiRes Digest::MD5 Fcntl IO File::Glob".split()
# Lines of address in the process, full name; then the mappings.
ASK = r"""
eval "require $_" for qw(%s);
my (%%seen, @left);
push @left, 'main::';
while (@left) {
	my $package = shift @left;
	next if $seen{$package}++;
	no strict 'refs';
	for my $name (keys %%$package) {
		my $full = $package eq 'main::' ? $name : $package . $name;
		push @left, $full if $name =~ /::\z/ && $name ne 'main::';
		next if $name =~ /::\z|^bootstrap\z/ || !defined &$full;
		my $address = B::svref_2object(\&$full)->XSUB;
		printf "SUB\t%%x\t%%s\n", $address, $full if $address;
	}
}
open my $maps, '<', '/proc/self/maps';
print "MAP\t$_" for grep m{/auto/}, <$maps>;
""" % " ".join(MODULES)


def names_of_perl(runtime):
    """{path on the host: {address in the file: names}}"""
    done = subprocess.run(runtime.argv(["-e", ASK]), capture_output=True, text=True, check=True, timeout=60)
    subs, starts = [], {}
    for line in done.stdout.splitlines():
        words = line.split("\t")
        if words[0] == "SUB":
            subs.append((int(words[1], 16), words[2]))
        elif words[0] == "MAP":
            bounds, _, offset, _, _, path = words[1].split(None, 5)
            low, high = (int(n, 16) for n in bounds.split("-"))
            start, end = starts.get(path, (low - int(offset, 16), high))
            starts[path] = min(start, low - int(offset, 16)), max(end, high)
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for address, name in subs:
        for path, (start, end) in starts.items():
            if start <= address < end:
                path = path if not runtime.root or path.startswith(runtime.root) else runtime.root + path
                found[path][address - start].add(name)
    return found


def names_of_plugin(paths):
    done = subprocess.run([PRINT, *paths], capture_output=True, text=True, check=True, timeout=60)
    found, path = collections.defaultdict(dict), None
    for line in done.stdout.splitlines():
        first, second = line.split("\t")
        if first == "FILE":
            path = second
        else:
            found[path][int(first, 16)] = second
    return found


def expanded(names):
    package = names.partition("|")[0].rpartition("::")[0]
    return {name if "::" in name else f"{package}::{name}" for name in names.split("|") if name != "..."}


class Objects(unittest.TestCase):
    def check(self, runtime):
        real = names_of_perl(runtime)
        said = names_of_plugin(sorted(real))
        missing, wrong, n = [], [], 0
        for path, functions in real.items():
            for address, names in functions.items():
                n += 1
                read = said[path].get(address)
                if not read:
                    missing.append((path, names))
                # What was imported has another name as well; what another module takes away has none.
                elif not expanded(read) & names:
                    wrong.append((path, names, read))
        self.assertEqual(wrong, [])
        print(f"  {runtime.name}: {n} functions, {len(missing)} without a name: {missing[:5]}")
        self.assertGreater(n, 100)
        self.assertGreaterEqual(100 * (n - len(missing)) / n, LEAST)

    def test_each_perl(self):
        found = language.looked_at(perls.one_of_each(perls.find()))
        if not PRINT or not found:
            self.skipTest("no Perl, or nothing built")
        for runtime in found:
            with self.subTest(runtime.name):
                self.check(runtime)


if __name__ == "__main__":
    unittest.main()

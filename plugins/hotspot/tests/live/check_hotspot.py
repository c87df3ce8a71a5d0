#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs/Burner.java in every Java of this machine and judges each stack (chains.py).

Flags, output and exit status: tests/kit/language.py. By default the newest; --full: all, and flags of
theirs.
"""
import glob
import os
import sys
import zipfile

import javas
import language

# What a JVM of these may lack without a word.
NEWER = {"virtual": 21, "foreign": 22}
ARCHIVE = "archive"     # classes come from a file that an earlier run wrote


class Javas(javas.Javas):
    # A JVM without this collector, this flag or this much memory.
    not_started = r"Unrecognized VM option.*|.*not supported.*|Conflicting collector.*|Could not reserve.*|.*only supported.*"

    def path_of_archive(self, runtime):
        """An AOT cache, with code of its own from 26 on; before 25 a dynamic archive of class data."""
        return os.path.join(self.directory, f"classes-{runtime.name}.{'aot' if javas.major(runtime) >= 25 else 'jsa'}")

    def command(self, case, seconds, writes=False):
        """writes: the run before that one, for its archive."""
        options, path = case.options, ""
        if case.label == ARCHIVE:
            path = os.path.join(self.directory, "burner.jar")   # classes in a directory are not archived
            flags = ("AOTCache", "AOTCacheOutput") if javas.major(case.runtime) >= 25 else \
                ("SharedArchiveFile", "ArchiveClassesAtExit")
            options = f"-XX:{flags[writes]}={self.path_of_archive(case.runtime)}",
        return javas.command(case.runtime, self.directory, str(seconds), *case.words, options=options, way=case.way,
                             path=path)

    def before(self, case):
        if case.label != ARCHIVE:
            return
        with zipfile.ZipFile(os.path.join(self.directory, "burner.jar"), "w") as jar:
            for name in glob.glob(os.path.join(self.directory, "*.class")):
                jar.write(name, os.path.basename(name))
        done = javas.run(self.command(case, 1, writes=True))
        if not os.path.exists(self.path_of_archive(case.runtime)):
            raise language.Skipped(f"skip: no archive: {(done.stdout + done.stderr)[-300:]}")

    def may_lack(self, case, scenario, _why):
        return scenario == "foreign" or javas.major(case.runtime) < NEWER.get(scenario, 0)

    def find(self):
        return javas.find(language.skip_runtime)

    def cases(self):
        found = self.find()
        one_of_each = javas.one_of_each(found)
        for number in sorted({*javas.RELEASES} - {*map(javas.major, one_of_each)}):
            language.skip(f"hotspot_{number}", "no such runtime here")
        for runtime in found:
            yield language.Case(runtime)
            yield self.started(runtime)
            for label, options in javas.FLAGS.items():
                yield language.Case(runtime, label, tuple(options),
                                    seconds=javas.SLOW_SECONDS if label in javas.SLOW else 0)
            if javas.major(runtime) >= 17:
                yield language.Case(runtime, ARCHIVE)
        for runtime in one_of_each:
            yield self.attached(runtime)
            if runtime.root:
                yield self.contained(runtime, ("many", "turns", "deep500"))


if __name__ == "__main__":
    sys.exit(language.main(Javas))

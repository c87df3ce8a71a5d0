#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The scripts that judge the rest, check-layers, check-words, count_tests.py and run_tests.py, must be able to say no; `profile`
and `test` find their way to root.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.dont_write_bytecode = True  # this is a source tree
sys.path.insert(0, os.path.join(ROOT, "tools"))
import suites  # noqa: E402


def run(script, *arguments):
    done = subprocess.run([sys.executable, os.path.join(ROOT, script), *arguments],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def write(top, name, text="", mode=0o644):
    """A file, with the directories above it."""
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)


class CheckLayers(unittest.TestCase):
    """Each table is one tree; what is not allowed in it is what check-layers complains of."""

    def check(self, *files, bad):
        """files: (path, text)"""
        with tempfile.TemporaryDirectory() as tree:
            for path, text in files:
                write(tree, path, text)
            status, output = run("scripts/check-layers", tree)
        self.assertEqual(sorted({line.split(":")[0] for line in output.splitlines()}), sorted(bad))
        self.assertEqual(status, 1 if bad else 0)

    CASES = [  # file, what it includes, allowed
        ("core/elf/a.c", "core/base/vec.h", True),
        ("core/elf/a.c", "core/proc/maps.h", True),
        ("core/elf/a.c", "core/unwind/x.h", False),
        ("core/base/a.c", "core/elf/file.h", False),
        ("core/trace/a.c", "core/agent/agent.h", False),
        ("core/agent/a.c", "core/config/config.h", True),
        ("core/plugin/a.c", "core/config/config.h", False),
        ("core/proc/a.c", "bpf/shared.h", True),
        ("core/proc/a.c", "bpf/maps.bpf.h", False),
        ("core/walk/a.c", "bpf/native.bpf.h", True),
        ("core/walk/a.c", "bpf/maps.bpf.h", False),
        ("core/unwind/a.c", "bpf/native.bpf.h", False),
        ("core/proc/a.c", "ebpf-profiler/abi.h", True),
        ("exporters/pprof/a.c", "ebpf-profiler/abi.h", True),
        ("exporters/pprof/a.c", "core/base/vec.h", True),
        ("exporters/pprof/a.c", "core/trace/x.h", False),
        ("exporters/pprof/a.c", "exporters/otlp/x.h", False),
        ("exporters/pprof/a.c", "bpf/shared.h", False),
        ("exporters/pprof/a.c", "own.h", True),
        ("include/ebpf-profiler/a.h", "core/base/vec.h", False),
        ("include/ebpf-profiler/a.h", "ebpf-profiler/abi.h", True),
        ("bpf/a.bpf.c", "core/base/vec.h", False),
        ("core/new/a.c", "core/base/vec.h", False),
        ("core/cli/a.c", "reports/view/x.h", False),
        ("core/plugin/a.c", "reports/view/x.h", False),
        ("core/cli/a.c", "reports/read/reader.h", False),
        ("exporters/pprof/a.c", "reports/read/reader.h", False),
        ("plugins/a/a.c", "reports/view/x.h", False),
        ("reports/view/a.c", "core/symbol/x.h", True),
        ("reports/view/a.c", "core/config/config.h", False),
        ("reports/view/a.c", "bpf/shared.h", False),
        ("reports/view/a.c", "reports/read/reader.h", False),
        ("reports/commands/a.c", "core/cli/x.h", True),
        ("reports/commands/a.c", "reports/view/x.h", True),
        ("reports/commands/a.c", "reports/read/reader.h", True),
        ("reports/commands/a.c", "reports/read/pprof/x.h", False),
        ("reports/read/pprof/a.c", "reports/read/reader.h", True),
        ("reports/read/pprof/a.c", "reports/read/shared/x.h", True),
        ("reports/read/pprof/a.c", "core/profile/x.h", True),
        ("reports/read/pprof/a.c", "core/elf/file.h", False),
        ("reports/read/pprof/a.c", "reports/read/otlp/x.h", False),
        ("reports/read/pprof/a.c", "reports/view/x.h", False),
        ("plugins/a/a.c", "core/agent/x.h", False),
        ("plugins/a/tests/unit/a.c", "core/agent/x.h", True),
        ("plugins/a/tests/unit/a.c", "plugins/a/a.h", True),
        ("plugins/a/a.c", "plugins/a/tests/unit/a.h", False),
        ("core/agent/a.c", "plugins/a/tests/unit/a.h", False),
        ("core/proc/a.c", "ebpf-profiler/bpf/internal/rows.h", True),
        ("plugins/a/a.h", "ebpf-profiler/bpf/internal/rows.h", False),
        ("plugins/a/tests/bpf/a.c", "ebpf-profiler/bpf/internal/rows.h", True),
        ("plugins/shared/bpf/a.h", "ebpf-profiler/bpf/internal/rows.h", True),
    ]

    def test_each_rule(self):
        included = {name if not name.startswith("ebpf-profiler/") else "include/" + name for _, name, _ in self.CASES}
        numbered = [(path.replace("/a.", f"/a{i}."), name, allowed) for i, (path, name, allowed) in enumerate(self.CASES)]
        self.check(*((name, "") for name in included - {"own.h"}), ("exporters/pprof/own.h", ""),
                   *((path, f'#include "{name}"\n') for path, name, _ in numbered),
                   bad=[path for path, _, allowed in numbered if not allowed])

    def test_languages_leave_the_walk_of_the_core_alone(self):
        lines = [("plugins/a/bpf/a.bpf.h", "rec->walk.core.hash = 0;", False),
                 ("plugins/a/bpf/b.bpf.h", "walk->core.hash = 0;", False),
                 ("plugins/a/bpf/c.bpf.h", "rec->walk.pc = 0;", True),
                 ("plugins/a/tests/bpf/a.c", "rec->walk.core.hash = 0;", True),
                 ("plugins/shared/bpf/a.h", "rec->walk.core.hash = 0;", True),
                 ("include/ebpf-profiler/bpf/a.h", "rec->walk.core.hash = 0;", True)]
        self.check(*((path, text + "\n") for path, text, _ in lines),
                   bad=[path for path, _, allowed in lines if not allowed])

    NAMES = [  # file, a line of it, allowed; there is a language snake
        ("core/elf/a.c", "/* as Snake does */", False),
        ("core/elf/a.c", "static int snake_find(void);", False),
        ("core/elf/a.c", "#define SNAKE 1", False),
        ("core/elf/a.c", "/* snakes, cobrasnake, snake3 */", True),
        ("core/elf/a.c", '"/usr/bin/snake"', True),
        ("core/elf/a.c", "plugins/snake/tests", False),
        ("core/elf/a.c", "/* the template, put together */", True),
        ("bpf/a.bpf.c", "/* snake */", False),
        ("exporters/otlp/a.c", "/* snake */", False),
        ("exporters/shared/otlp/frame_type.c", '"snake"', True),
        ("scripts/a", "# snake", False),
        ("tests/unit/a.py", "# snake", False),
        ("tests/unit/test_snake.c", "", False),
        ("tests/live/snake/a.c", "", False),
        ("tests/replay/fixtures/snake-3.bin", b"\xff", False),
        ("tests/replay/fixtures/any.bin", b"snake\xff", True),
        ("include/ebpf-profiler/a.h", '/* "snake" */', True),
        ("plugins/snake/tests/unit/test_snake.c", "/* snake */", True),
        ("plugins/other/a.c", "/* snake */", True),
        ("docs/a.md", "snake", True),
    ]

    def test_no_language_is_named_outside_its_directory(self):
        numbered = [(path.replace("/a.", f"/a{i}."), text, allowed) for i, (path, text, allowed) in enumerate(self.NAMES)]
        self.check(("plugins/snake/snake.c", ""), ("plugins/template/a.c", ""), ("plugins/together/a.c", ""),
                   *((path, text) for path, text, _ in numbered), bad=[path for path, _, allowed in numbered if not allowed])

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as tree:
            self.assertEqual(run("scripts/check-layers", tree)[0], 1)


class CheckWords(unittest.TestCase):
    """What a file says, and whether check-words complains of it."""

    CASES = [  # file, text, allowed
        ("core/elf/a.c", "/* It is paid from a budget. */", False),
        ("core/elf/a.c", "/* It is charged to a budget. */", True),
        ("core/elf/a.c", "// young\n", False),
        ("core/elf/a.c", 'puts("it pays"); /* a message stays */', True),
        ("core/elf/a.c", "/* see `doubt`, core/process/doubt.c and ops.keeper */", True),
        ("core/elf/a.c", "/* a late\n * walk */", False),
        ("core/elf/a.c", "/* a sealed file */", True),
        ("core/elf/a.c", "/* a sealed interval */", False),
        ("core/elf/a.c", "int behind;", True),
        ("core/config/a.c", "int purse_left;", False),
        ("core/elf/a.c", "/* what was told */", False),
        ("docs/a.md", "A Keeper sends them.", False),
        ("docs/a.md", "`keeper` and [x](keeper.md)\n```\na keeper\n```\n", True),
        ("docs/measurements/a.md", "A keeper, as we called it then.", True),
    ]

    def test_cases(self):
        for path, text, allowed in self.CASES:
            with self.subTest(text=text), tempfile.TemporaryDirectory() as tree:
                write(tree, path, text)
                status, output = run("scripts/check-words", tree)
                self.assertEqual(status, 0 if allowed else 1, output)
                self.assertEqual(output == "", allowed)

    def test_a_ceiling_is_no_more_than_a_ceiling(self):
        with tempfile.TemporaryDirectory() as tree:
            write(tree, "include/a.h", "/* gone */\n" * 2)
            self.assertEqual(run("scripts/check-words", tree)[0], 0)
            write(tree, "include/a.h", "/* gone */\n" * 200)
            status, output = run("scripts/check-words", tree)
        self.assertEqual(status, 1)
        self.assertIn('include: "gone" 200 times', output)


class CountTests(unittest.TestCase):
    def count(self, *records):
        with tempfile.TemporaryDirectory() as directory:
            write(directory, "unit.json", "".join(json.dumps(record) + "\n" for record in records))
            status, output = run("tools/count_tests.py", os.path.join(directory, "unit.json"))
            return status, output.splitlines()

    def test_outcomes_are_summed(self):
        cmocka = "[       OK ] x\n[  SKIPPED ] y\n[  FAILED  ] z\n[  FAILED  ] z\n"
        for what, records, status, counts in (
                ("programs", [{"name": "p / a", "result": "OK"}, {"name": "p / b", "result": "SKIP"}], 0, (1, 0, 1)),
                ("functions of cmocka", [{"name": "a", "result": "FAIL", "stdout": cmocka}], 1, (1, 1, 1)),
                ("skips of unittest", [{"name": "a", "result": "OK", "stderr": "OK (skipped=2)\n"},
                                       {"name": "b", "result": "OK", "stderr": "OK\n"}], 0, (1, 0, 1)),
                ("a crash", [{"name": "a", "result": "FAIL", "stdout": "[       OK ] x\n"}], 1, (1, 1, 0)),
                ("no test", [], 1, (0, 1, 0)),
                ("skips alone", [{"name": "a", "result": "SKIP"}], 1, (0, 0, 1))):
            with self.subTest(what):
                found, lines = self.count(*records)
                self.assertEqual((found, lines[-1]), (status, "%d passed, %d failed, %d skipped" % counts))

    def test_a_skip_says_why(self):
        self.assertIn("skip: not root", "\n".join(self.count({"name": "b", "result": "SKIP", "stdout": "skip: not root\n"})[1]))

    def test_a_failure_is_shown_with_what_it_printed_last(self):
        lots = "".join(f"line {i}\n" for i in range(200))
        text = ("[ RUN      ] x\nof x\n[       OK ] x\n"
                f"[ RUN      ] y\n{lots}why y failed\n[   FAILED ] y\n"
                "[ RUN      ] z\nof z\n[       OK ] z\n[  FAILED  ] y\n")
        _, lines = self.count({"name": "a", "result": "FAIL", "stdout": text},
                              {"name": "b", "result": "TIMEOUT", "stdout": "x" * 5000})
        lines = [line for line in lines if not line.startswith("slowest: ")]
        self.assertEqual(lines[:2], ["failed: unit: a.y", "    line 102"])
        self.assertEqual(lines[99:], ["    why y failed", "    [   FAILED ] y", "failed: unit: b: TIMEOUT",
                                       "    " + "x" * 300, "2 passed, 2 failed, 0 skipped"])

    def test_the_slowest_are_named(self):
        _, lines = self.count(*({"name": f"p / t{i}", "result": "OK", "duration": i} for i in range(12)))
        self.assertEqual(lines[0], "slowest: " + ", ".join(f"unit: t{i} {i} s" for i in range(11, 1, -1)))


class Build(unittest.TestCase):
    """Which meson options scripts/build passes on, with fakes of meson and ninja."""

    def call(self, *arguments, tests=None, **files):
        """
        What meson was called with; `tests` is what the build directory has, or None for no directory. `files`: others
        that it has, by path.
        """
        with tempfile.TemporaryDirectory() as top:
            bin_dir, build = os.path.join(top, "bin"), os.path.join(top, "build")
            for tool in ("meson", "ninja"):
                write(bin_dir, tool, f'#!/bin/sh\necho "{tool} $*" >&2\n', 0o755)
            if tests is not None:
                for name, text in (("build.ninja", ""), ("meson-info/intro-tests.json", tests), *files.items()):
                    write(build, name, text)
            done = subprocess.run(["sh", os.path.join(ROOT, "scripts/build"), *arguments],
                                  env={"PATH": bin_dir + ":" + os.environ["PATH"], "EBPF_PROFILER_BUILD": build},
                                  capture_output=True, text=True, check=True)
            return [line.split()[1:-2] for line in done.stderr.splitlines() if line.startswith("meson setup")] + \
                [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("meson configure")]

    def test_a_new_directory_has_tests_unless_it_is_for_the_product(self):
        self.assertEqual(self.call(), [["setup", "-Dtests=enabled"]])
        self.assertEqual(self.call("--product", "-Dx=y"), [["setup", "-Dtests=disabled", "-Dx=y"]])

    def test_tests_are_added_once_and_never_taken_away(self):
        self.assertIn("-Dtests=enabled", self.call(tests="[]")[0])
        self.assertEqual(self.call(tests='[{"name": "a"}]'), [])
        self.assertEqual(self.call("--product", tests="[]"), [])
        self.assertEqual(self.call("--product", tests='[{"name": "a"}]'), [])

    def test_meson_alone_leaves_the_tests_out_where_cmocka_is_missing(self):
        with tempfile.TemporaryDirectory() as top:
            pkg_config, build = os.path.join(top, "pkg-config"), os.path.join(top, "build")
            write(top, "pkg-config", f'#!/bin/sh\ncase "$*" in *cmocka*) exit 1 ;; esac\n'
                  f'exec {shutil.which("pkg-config")} "$@"\n', 0o755)
            done = subprocess.run(["meson", "setup", build, ROOT], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PKG_CONFIG": pkg_config, "CMAKE": "/bin/false"})
            self.assertEqual(done.returncode, 0, done.stdout[-1000:])
            with open(os.path.join(build, "meson-info/intro-tests.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file), [])

    def test_lists_that_nobody_chose_are_those_of_the_source(self):
        def configured(value, chosen="", ours=""):
            return self.call(tests='[{"name": "a"}]', **{
                "meson-info/intro-buildoptions.json": json.dumps([{"name": "exporters", "value": value}]),
                "meson-private/cmd_line.txt": "[options]\nbuildtype = debug\n" + chosen, "lists.txt": ours})

        with open(os.path.join(ROOT, "meson_options.txt"), encoding="utf-8") as file:
            now = re.findall(r"'(\w+)'", re.search(r"'exporters'.*value: \[(.*)\]", file.read())[1])
        again = f"-Dexporters={','.join(now)}"
        self.assertEqual(configured(now), [])
        self.assertIn(again, configured(["pprof"])[0])
        self.assertEqual(configured(["pprof"], chosen="exporters = pprof\n"), [])
        self.assertIn(again, configured(["pprof"], chosen="exporters = pprof\n", ours="exporters=pprof\n")[0])
        self.assertEqual(configured(["pprof"], chosen="exporters = pprof\n", ours="exporters=pprof,otlp\n"), [])


class Suites(unittest.TestCase):
    """What tools/suites.py says is to be run."""

    def test_each_path_of_the_tree_has_some(self):
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True,
                                check=False)
        if listed.returncode:
            self.skipTest("no git repository")
        self.assertGreater(len(listed.stdout.splitlines()), 500)
        for path in listed.stdout.splitlines():
            self.assertTrue(suites.words_of(path), f"{path}: no suite; add a row to SUITES_OF in tools/suites.py")

    def test_paths(self):
        every = ["unit", "replay", "fuzz", "abi", "live"]
        for paths, wanted in ((["docs/testing.md"], ["unit"]), (["plugins/template/template.c"], ["template"]),
                              (["plugins/shared/x86/x86.c"], every), (["plugins/meson.build"], every),
                              (["bpf/core.bpf.c"], every), (["core/walk/walk.c"], every), (["never/seen"], every),
                              (["tests/fuzz/driver.c", "plugins/template/tests/meson.build"], ["fuzz", "template"])):
            with self.subTest(paths=paths):
                self.assertEqual(suites.changed(paths), wanted)

    def test_words(self):
        every = "unit replay fuzz abi live"
        for arguments, wanted in ((("--full",), f"root full whole {every} partly languages"),
                                  ((), f"root default whole {every} partly languages"),
                                  (("fuzz", "unit"), "user default whole unit fuzz partly languages"),
                                  (("template",), f"root default whole partly {every} languages template"),
                                  (("unit", "template"), "user default whole partly unit languages template")):
            with self.subTest(arguments=arguments):
                plan = suites.plan_of(arguments)
                self.assertEqual(plan.words(), wanted)
                self.assertEqual(suites.Plan.of_words(wanted.split()).words(), wanted)

    def test_tests_of_a_build(self):
        tests = [{"name": name, "suite": ["p:" + suite for suite in of.split()], "cmd": ["python3", path], "depends": []}
                 for name, of, path in (
                     ("of_snake", "unit", "/x/plugins/snake/tests/a"), ("of_all", "unit", "/x/tests/a"),
                     ("alone", "unit once", "/x/tests/a"), ("long", "unit full", "/x/plugins/snake/tests/a"),
                     ("live_snake", "live", "/x/plugins/snake/tests/live/a"), ("live_long", "live full", "/x/tests/live/a"))]

        def names(suite, is_sanitized, full=False, languages=None):
            build = suites.Build.__new__(suites.Build)
            build.tests, build.is_sanitized = tests, is_sanitized
            return [test["name"] for test in build.tests_in(suite, full, languages)]
        self.assertEqual(names("unit", True), ["of_snake", "of_all"])
        self.assertEqual(names("unit", False), ["alone"])
        self.assertEqual(names("live", True), [])
        self.assertEqual(names("live", False), ["live_snake"])
        self.assertEqual(names("live", False, True), ["live_snake", "live_long"])
        self.assertEqual(names("unit", True, True, ["snake"]), ["of_snake", "long"])


class RunTests(unittest.TestCase):
    """What tools/run_tests.py makes of what meson and ninja print; the builds are fakes."""

    MESON = """#!/bin/sh
[ "$1" = introspect ] && { [ "$2" != --tests ] && echo '[{"id": "x", "filename": ["/x"], "installed": false}]' || cat "$FAKE_TESTS"; exit; }
[ "$1" = setup ] && exit 0
directory=$3
mkdir -p "$directory/meson-logs"
echo "1/2 p:unit / good OK 0.10s"
echo "2/2 p:unit / bad $FAKE_RESULT 0.20s"
printf '%s\n' '{"name": "p / good", "result": "OK", "duration": 0.1}' \
	"{\\"name\\": \\"p / bad\\", \\"result\\": \\"$FAKE_RESULT\\", \\"duration\\": 0.2, \\"stdout\\": \\"why\\"}" \
	>"$directory/meson-logs/testlog.json"
"""

    def call(self, result="OK", ninja="exit 0", tests=1):
        """ninja: what it does when it compiles; tests: as many of one name."""
        with tempfile.TemporaryDirectory() as top:
            build = os.path.join(top, "build")
            for name, text in ("bin/meson", self.MESON), ("bin/ninja", f"#!/bin/sh\n[ $3 != build.ninja ] || exit 0\necho '[1/1] CC x'\n{ninja}\n"), \
                    ("tests", json.dumps([{"name": "good", "suite": ["p:unit"], "cmd": ["a"], "depends": ["x"]}] * tests)), \
                    ("build/build.ninja", ""), ("build-sanitize/build.ninja", ""), \
                    ("build/meson-info/intro-tests.json", "[1]"), ("build/lists.txt", ""):
                write(top, name, text, 0o755)
            build_py = os.path.join(ROOT, "tools/run_tests.py")
            done = subprocess.run([sys.executable, build_py, build, *suites.plan_of(["unit"]).words().split()],
                                  env=dict(os.environ, PATH=os.path.join(top, "bin") + ":" + os.environ["PATH"],
                                           FAKE_TESTS=os.path.join(top, "tests"), FAKE_RESULT=result),
                                  capture_output=True, text=True, check=False)
            with open(os.path.join(build, "test.log"), encoding="utf-8") as file:
                return done.returncode, done.stdout.splitlines(), done.stderr, file.read()

    def test_a_run(self):
        status, lines, errors, log = self.call()
        self.assertEqual((status, lines[-1]), (0, "2 passed, 0 failed, 0 skipped"), errors)
        self.assertRegex(errors, r"test: unit: 1 tests in \d+ s\n")
        self.assertIn("unit: 2/2 p:unit / bad OK", log)
        self.assertRegex(lines[-2], r"^all that was printed: .*/test\.log$")

    def test_one_failure_is_red_at_once(self):
        status, lines, errors, _ = self.call("FAIL")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertIn("failed: unit: bad: FAIL", lines)
        self.assertIn("    why", lines)
        self.assertIn("1 failed", errors)

    def test_what_does_not_compile_is_red(self):
        status, lines, _, log = self.call(ninja="echo broken; exit 1")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertIn("broken", log)

    def test_two_tests_of_one_name_are_red(self):
        status, lines, _, _ = self.call(tests=2)
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertIn("several tests are called good", "\n".join(lines))


class Door(unittest.TestCase):
    """profile and test in a tree of their own, with fakes of what would install, build and profile."""

    FAKES = {
        "tree/scripts/deps": "echo deps",
        "tree/scripts/build": "echo build",
        "tree/build/core/cli/ebpf-profiler":
            'while [ "$1" != -o ]; do shift; done; echo profiled >"$2"; echo "options $*"',
        "bin/id": "echo $FAKE_UID",
        "bin/sudo": 'echo "sudo $*"; FAKE_UID=0 SUDO_UID=1234 SUDO_GID=5678 exec "$@"',
        "bin/chown": 'echo "chown $*"',
        "bin/hostname": "echo example",
        "bin/git": "exit 1",
        "tree/plugins/snake/tests/live/check": "",
    }
    TOOLS = ("sh", "dirname", "date", "env", "mktemp", "rm", "cp", "seq", "tr", "nproc")

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = directory.name
        for name, text in self.FAKES.items():
            self.write(name, text)
        for name in "scripts/common.sh", "scripts/profile", "scripts/test", "tools/suites.py":
            os.makedirs(os.path.dirname(self.path("tree", name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), self.path("tree", name))
        for tool in self.TOOLS:
            os.symlink(shutil.which(tool), self.path("bin", tool))
        self.write("bin/python3", f'case $1 in */run_tests.py) echo "$*" ;; *) exec {sys.executable} "$@" ;; esac')
        os.mkdir(self.path("work"))

    def path(self, *parts):
        return os.path.join(self.top, *parts)

    def write(self, name, text):
        write(self.top, name, f"#!/bin/sh\n{text}\n", 0o755)

    def call(self, script, *arguments, uid=1000, **environment):
        done = subprocess.run([self.path("tree/scripts", script), *arguments], cwd=self.path("work"),
                              env={"PATH": self.path("bin"), "FAKE_UID": str(uid), **environment},
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    def test_root_needs_no_sudo(self):
        os.remove(self.path("bin/sudo"))
        status, output, errors = self.call("profile", "-F", "49", uid=0)
        self.assertEqual((status, output[:2]), (0, ["deps", "build"]), errors)
        self.assertRegex(output[2], r"^options -o profile-example-[-0-9]+\.html -F 49$")
        self.assertEqual(len(output), 3)
        self.assertEqual(len(os.listdir(self.path("work"))), 1)

    def test_a_user_calls_sudo_and_owns_the_profile(self):
        status, output, errors = self.call("profile", "-d", "1 s")
        script = self.path("tree/scripts/profile")
        self.assertEqual(status, 0, errors)
        self.assertEqual(output[:3], [f"sudo env {script} -d 1 s", "deps", "build"])
        self.assertRegex(output[3], r" -d 1 s$")
        self.assertRegex(output[4], r"^chown -h 1234:5678 profile-example-[-0-9]+\.html$")
        self.assertEqual(errors[0],
                         "profile: profiling the whole machine needs root: calling sudo")
        self.assertEqual(sum("sudo" in line for line in errors), 1)

    def test_sudo_keeps_the_build_directory(self):
        os.rename(self.path("tree/build"), self.path("else where"))
        status, output, errors = self.call("profile", EBPF_PROFILER_BUILD=self.path("else where"))
        self.assertEqual(status, 0, errors)
        self.assertIn("EBPF_PROFILER_BUILD=" + self.path("else where"), output[0])

    def test_without_sudo_it_is_one_sentence(self):
        os.remove(self.path("bin/sudo"))
        for script in ("profile", "test"):
            status, output, errors = self.call(script)
            self.assertEqual((status, output, len(errors)), (1, [], 1), errors)
            self.assertIn("run it as root, for example by su -c", errors[0])

    def test_only_live_tests_need_root(self):
        self.assertIn("sudo env", self.call("test")[1][0])
        self.assertIn("sudo env", self.call("test", "abi", "live")[1][0])
        self.assertIn("sudo env", self.call("test", "--full", "fuzz")[1][0])
        for words in ("abi", "fuzz"), ("abi", "snake"):
            output = self.call("test", *words)[1]
            self.assertEqual(output[0], "deps")
            self.assertIn(" ".join(words[:1]), output[1])

    def test_unknown_words_are_one_sentence(self):
        status, output, errors = self.call("test", "unit", "nonsense")
        self.assertEqual((status, output, len(errors)), (2, [], 1))
        self.assertEqual(errors[0], "test: unknown word nonsense: say suites (unit, replay, fuzz, abi, live), languages "
                                    "(snake), --full or --changed [BASE]")

    def test_root_builds_apart_in_a_users_tree(self):
        if os.geteuid() != 0:
            self.skipTest("a tree of another user can only be made by root")
        os.chown(self.path("tree"), 1234, 5678)
        os.rename(self.path("tree/build"), self.path("tree/build-root"))
        self.assertEqual(self.call("profile", uid=0)[0], 0)


if __name__ == "__main__":
    unittest.main()

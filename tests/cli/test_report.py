#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`report` and `convert` over profiles that are made up here. Needs no privileges.

    test_report.py [NAME...]    EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import contextlib
import fcntl
import http.server
import json
import os
import pty
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

import made

BINARY = os.environ.get("EBPF_PROFILER_BINARY", "build/core/cli/ebpf-profiler")
HOSTILE = ["<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "a\r\nb", "\u202eevil", "\x9b1m", "x" * (1 << 20), "' \" \\"]


PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "ebpf-profiler.1")


def options_of_page(text):
    """{"-F", "--freq"} of lines of mdoc: what stands after Fl, up to the next macro."""
    found, is_option = set(), False
    for line in text.splitlines():
        for word in line.lstrip(".").split() if line.startswith(".") else ():
            if re.match(r"[A-Z][a-z]$", word):
                is_option = word == "Fl"
            elif is_option and re.match(r"-?\w", word):
                found.add("-" + word)
        is_option = False
    return found


def run(*arguments, **options):
    return subprocess.run([BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                          check=False, **{"text": True, "errors": "surrogateescape", **options})


def simple():
    """work: 60 samples (a.c:10 40, a.c:20 20), idle: 40 of thread 8; all below main."""
    profile = made.Pprof()
    root = profile.location("main", "main.c", 3)
    for line, count in ((10, 40), (20, 20)):
        profile.sample([profile.location("work", "a.c", line), root], count)
    profile.sample([profile.location("idle", "b.c", 7), root], 40)
    return profile


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="test-report-")
        os.chmod(self.directory, 0o755)     # root gives itself up
        self.addCleanup(shutil.rmtree, self.directory)
        self.path = simple().write(self.at("x.pb.gz"))

    def at(self, name):
        return os.path.join(self.directory, name)

    def json(self, *arguments):
        result = run("report", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def rows(self, *arguments):
        """{name: (self samples, total samples)}"""
        return {row["name"]: (row["self_samples"], row["total_samples"]) for row in self.json(*arguments)["rows"]}

    def shares(self, *arguments):
        """{name: (self, total)} in per cent: what is equal in formats that count other things."""
        said = self.json(*arguments)
        return {row["name"]: tuple(round(100 * row[key] / said["weight"]) for key in ("self", "total"))
                for row in said["rows"] if row["name"] in Report.WANTED}

    def fails(self, status, *arguments):
        """One sentence on standard error, and nothing else."""
        result = run(*arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertRegex(result.stderr, r"\Aebpf-profiler: [^\n]+\n\Z")
        self.assertEqual(result.stdout, "")
        return result.stderr


class Report(Case):
    WANTED = {"work": (60, 60), "idle": (40, 40), "main": (0, 100)}

    def test_functions(self):
        self.assertEqual(self.rows(self.path), self.WANTED)
        text = run("report", self.path).stdout
        self.assertRegex(text, r"(?m)^   60\.00 %   60\.00 %   600\.0 ms  work  a\.c")
        self.assertRegex(text, r"\A.*x\.pb\.gz: 100 samples.*1\.00 s of CPU time\nstacks: 100\.00 % complete")

    def test_lines(self):
        rows = self.json(self.path, "--by", "line")["rows"]
        self.assertEqual({(row["name"], row["file"], row["line"]): row["self_samples"] for row in rows},
                         {("work", "a.c", 10): 40, ("work", "a.c", 20): 20, ("idle", "b.c", 7): 40, ("main", "main.c", 3): 0})

    def test_tree_and_callers(self):
        tree = self.json(self.path, "--tree")["tree"]
        self.assertEqual([node["name"] for node in tree], ["main"])
        self.assertEqual([(node["name"], node["total_samples"]) for node in tree[0]["children"]], [("work", 60), ("idle", 40)])
        callers = self.json(self.path, "--callers", "idle")["callers"]
        self.assertEqual((callers[0]["name"], callers[0]["children"][0]["name"]), ("idle", "main"))

    def test_source(self):
        with open(self.at("a.c"), "w", encoding="utf-8") as file:
            file.write("".join(f"line {i}\n" for i in range(1, 31)))
        functions = self.json(self.path, "--list", "work", "--source-dir", self.directory)["functions"]
        self.assertEqual([(line["line"], line["text"], line["self_samples"]) for line in functions[0]["lines"]],
                         [(10, "line 10", 40), (20, "line 20", 20)])
        text = run("report", self.path, "--list", "work", "--source", "a.c=" + self.at("a.c")).stdout
        self.assertRegex(text, r"(?m)^   400\.0 ms   400\.0 ms      10  line 10$")
        self.fails(1, "report", self.path, "--list", "nobody")

    @unittest.skipUnless(os.geteuid() == 0 and not os.environ.get("SUDO_UID"), "who is not root reads as himself")
    def test_source_that_nobody_may_read(self):
        with open(self.at("a.c"), "w", encoding="utf-8") as file:
            file.write("int x;\n")
        os.chmod(self.at("a.c"), 0o600)
        text = run("report", self.path, "--list", "work", "--source-dir", self.directory).stdout
        self.assertIn("\n  the file may not be read by nobody: run report as its owner, not as root, who reads source as "
                      "nobody\n", text)
        self.assertIn("\n  the file is not here: --source", run("report", self.path, "--list", "idle").stdout)

    def test_formats_are_read(self):
        with open(self.at("x.folded"), "w", encoding="utf-8") as file:
            file.write("main;work 60\nmain;idle 40\n")
        self.assertEqual(self.rows(self.at("x.folded")), self.WANTED)
        self.assertEqual(self.rows(simple().write(self.at("raw.pprof"), packed=False)), self.WANTED)
        with open(self.path, "rb") as file:
            result = run("report", "--json", "-", stdin=file)
        self.assertEqual(json.loads(result.stdout)["samples"], 100)

    def test_files_are_merged(self):
        other = simple().write(self.at("y.pb.gz"))
        self.assertEqual(self.rows(self.path, other), {name: (2 * a, 2 * b) for name, (a, b) in self.WANTED.items()})

    def test_the_newest_here(self):
        result = run("report", cwd=self.directory)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("x.pb.gz: 100 samples", result.stdout)
        newer = made.Pprof()
        newer.sample([newer.location("newest", "n.c", 1)], 1)
        newer.write(self.at("profile-new.pb.gz"))
        later = time.time() + 10
        os.utime(self.at("profile-new.pb.gz"), (later, later))
        self.assertIn("profile-new.pb.gz: 1 sample", run("report", cwd=self.directory).stdout)
        empty = tempfile.mkdtemp(dir=self.directory)
        result = run("report", cwd=empty)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("no profile is here: name a FILE", result.stderr)

    def test_the_agents_directory(self):
        directory = tempfile.mkdtemp(dir=self.directory)
        for minute in range(5):
            profile = made.Pprof()
            profile.sample([profile.location(f"minute{minute}", "m.c", 1)], 1)
            profile.write(os.path.join(directory, f"profile-a-20240101-20260101-12{minute:02}00.pb.gz"))
        with open(os.path.join(directory, "notes.txt"), "w", encoding="utf-8") as file:
            file.write("not a profile")
        self.assertEqual(set(self.rows(directory)), {"minute4"})
        environment = {**os.environ, "TZ": "UTC"}

        def names(*arguments):
            result = run("report", "--json", "-q", directory, *arguments, env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, "")
            return {row["name"] for row in json.loads(result.stdout)["rows"]}
        self.assertEqual(names("--from", "-2m"), {"minute3", "minute4"})
        self.assertEqual(names("--from", "12:01:30", "--to", "12:02:30"), {"minute1", "minute2"})
        self.assertEqual(names("--to", "30s"), {"minute0"})
        self.assertEqual(names("--from", "2026-01-01T12:03:30Z"), {"minute3", "minute4"})
        self.assertIn("no file is of that time", self.fails(5, "report", directory, "--from", "2026-01-01T10:00:00Z",
                                                            "--to", "2026-01-01T11:00:00Z"))
        self.assertIn("no profile of the agent is in it", self.fails(1, "report", tempfile.mkdtemp(dir=self.directory)))

    def test_a_file_of_the_agent_reaches_into_the_second_of_the_next(self):
        directory = tempfile.mkdtemp(dir=self.directory)
        for minute in range(3):     # names are cut to the second
            with open(os.path.join(directory, f"profile-a-20260101-12{minute:02}00.otlp.gz"), "w", encoding="utf-8"):
                pass
        for start, first in (("00.9", "120000"), ("01.1", "120100")):
            said = self.fails(1, "report", directory, "--from", f"2026-01-01T12:01:{start}Z")
            self.assertIn(first, said, start)

    def test_what_is_wrong_is_said(self):
        self.assertIn("no-such-file", self.fails(1, "report", self.at("no-such-file")))
        self.assertIn("--by takes", self.fails(2, "report", "--by", "colour"))
        self.assertIn("unknown command", self.fails(2, "frobnicate"))
        self.assertIn("-F takes", self.fails(2, "record", "-F", "0"))
        self.assertIn("no sample passes these filters", self.fails(5, "report", self.path, "-I", "nobody"))
        self.assertIn("--from and --to need the time of each sample", self.fails(1, "report", self.path, "--from", "1s"))
        with open(self.at("text"), "w", encoding="utf-8") as file:
            file.write("this is no profile\n")
        self.fails(1, "report", self.at("text"))
        with open(self.at("empty"), "w", encoding="utf-8"):
            pass
        self.fails(1, "report", self.at("empty"))

    def test_filters(self):
        self.assertEqual(self.rows(self.path, "-I", "^wo"), {"work": (60, 60), "main": (0, 60)})
        self.assertEqual(self.rows(self.path, "-X", "^wo"), {"idle": (40, 40), "main": (0, 40)})

    def test_help(self):
        for command in ("report", "convert", "diff", "record", "top", "doctor", "plugins", "capture"):
            result = run(command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("usage: ebpf-profiler " + command, result.stdout)
            self.assertLessEqual(max(len(line) for line in result.stdout.splitlines()), 80, command)
            self.assertEqual(run("help", command).stdout, result.stdout)

    def test_the_man_page_has_the_options_of_the_help(self):
        """Of each command: an option of --help stands in its part of the page, and one of the page in --help."""
        with open(PAGE, encoding="utf-8") as file:
            parts = re.split(r"^\.It (?:Cm )(?=record|report|convert|diff|top|doctor|plugins|dump|capture)", file.read(), flags=re.M)
        page = {part.split()[0]: ".It " + part.split("\n.Sh ")[0] for part in parts[1:]}
        shared = {"-h", "--help", "-q", "--quiet", "-v", "--verbose"}
        filters = options_of_page(page["report"].split("Filters are the same")[1])
        for command in ("record", "report", "convert", "diff", "doctor", "plugins", "dump", "capture"):
            text = run(command, "--help").stdout
            known = options_of_page(page[command]) | shared | (filters if command in ("convert", "diff") else set())
            known |= options_of_page(page["dump"]) if command == "capture" else set()
            rows = re.findall(r"^  (?:(-\w)(?:, (--[\w-]+))?|    (--[\w-]+))", text, re.M)
            self.assertGreater(len(rows), 2, command)
            self.assertEqual([row for row in rows if not known & set(row)], [], command)
            said = {option for line in re.findall(r"^\.It .*Fl.*$", page[command], re.M) for option in options_of_page(line)}
            self.assertEqual(said - set(re.findall(r"--?\w[\w-]*", text)), set(), command)

    @unittest.skipUnless(shutil.which("groff") and shutil.which("col"), "no groff")
    def test_the_man_page_fits_into_80_columns(self):
        text = subprocess.run(f"groff -mdoc -Tascii -rLL=80n '{PAGE}' | col -b", shell=True, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout
        self.assertGreater(len(text), 10000)
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])

    def test_a_terminal_of_80_columns(self):
        """Hostile and long names: nothing wider than the terminal, and nothing that drives it."""
        profile = made.Pprof()
        root = profile.location("r" * 300, "/very/long/" + "d" * 200 + "/main.c", 3)
        for count, name in enumerate(HOSTILE, 1):
            profile.sample([profile.location(name, name + ".c", 1, profile.mapping("/lib/" + name[:1000])), root], count)
        path = profile.write(self.at("hostile.pb.gz"))
        for arguments in ([], ["--by", "line"], ["--by", "module"], ["--tree"], ["--list", "alert"], ["--by", "process"],
                          ["--by", "thread"], ["--callers", "r"]):
            text = self.on_terminal(80, "report", path, *arguments)
            lines = text.replace("\x1b[1m", "").replace("\x1b[0m", "").split("\r\n")
            title = [line for line in lines if "hostile.pb.gz" in line]
            self.assertEqual(max(len(line) for line in lines if line not in title and "alert" not in line[:1]) <= 80
                             or "--list" in arguments, True, (arguments, lines))
            for line in lines:
                self.assertTrue(all(char.isprintable() for char in line), (arguments, line))
        result = json.loads(run("report", "--json", path).stdout)
        self.assertEqual({row["name"] for row in result["rows"]} >=
                         {HOSTILE[0], "?[31mred?[0m", HOSTILE[3]}, True)

    def on_terminal(self, columns, *arguments):
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        chunks = []

        def read():
            try:
                while chunk := os.read(leader, 65536):
                    chunks.append(chunk)
            except OSError:
                pass
        reader = threading.Thread(target=read)
        reader.start()
        with subprocess.Popen([BINARY, *arguments], stdout=follower, stderr=subprocess.PIPE) as process:
            os.close(follower)
            said = process.stderr.read()
            self.assertEqual(process.wait(), 0, said)
        reader.join()
        os.close(leader)
        return b"".join(chunks).decode("utf-8")


FORMATS = ["x.pb.gz", "x.pprof", "x.otlp.gz", "x.html", "x.folded", "x.perf.txt", "x.json.gz"]
PLUGINS = {"x.folded": "folded", "x.otlp.gz": "otlp_file", "x.html": "html", "x.perf.txt": "perf", "x.json.gz": "firefox", "x.svg": "svg"}


def has_plugin(name):
    plugin = PLUGINS.get(name, "pprof")
    return os.path.exists(os.path.join(os.environ.get("EBPF_PROFILER_PLUGINS_DIR", "."), plugin + ".so"))


class Configuration(Case):
    """`--check` needs no privileges and finds all that is wrong in one go."""

    @unittest.skipUnless(all(has_plugin(name) for name in ("x.otlp.gz", "x.pb.gz")), "a plugin is not built")
    def test_all_mistakes_at_once(self):
        path = self.at("profiler.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write('[sampling]\nfreq = 0\n[plugins]\nenable = ["otlp_fil", "pprof"]\nlanguages = ["all", "qqq"]\n'
                       f'[[exporter]]\ntype = "pprof"\nintervall = 3\ndirectory = "{self.directory}/nowhere"\n')
        directory = os.environ.get("EBPF_PROFILER_PLUGINS_DIR")
        result = run("--config", path, "--check")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr.splitlines(), [
            f"{path}:2:8: freq must be a number from 1 to 10000, not '0'",
            f"{path}:4:10: no plugin 'otlp_fil' is in {directory} (did you mean 'otlp_file'?)",
            f"{path}:5:13: no language 'qqq' is in {directory}: see ebpf-profiler plugins",
            f"{path}:8:1: `intervall`: no such option of pprof; did you mean `interval`?",
            f"{path}:9:13: directory '{self.directory}/nowhere' is not there: create it first"])
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[[exporter]]\ntype = "otlp_file"\ndirectory = "{self.directory}"\n')
        self.assertEqual(run("--config", path, "--check").stderr, f"{path}: ok\n")


class SharedNames(Case):
    """Functions are told apart by name, file and first line."""

    def setUp(self):
        super().setUp()
        profile = made.Pprof()
        root = profile.location("main", "/srv/app/main.py", 40, start=30)
        for name, file, start, count in (("search", "/srv/app/a.py", 12, 30), ("search", "/srv/app/b.py", 3, 20),
                                         ("(anonymous)", "/srv/web/x.js", 7, 15), ("(anonymous)", "/srv/web/x.js", 90, 10),
                                         ("init", "/one/mod.py", 1, 8), ("init", "/two/mod.py", 1, 7), ("research", "/srv/app/a.py", 50, 6),
                                         ("search", "", 0, 4)):
            for line in (start + 1, start + 2):     # several lines of one function
                profile.sample([profile.location(name, file, line, start=start), root], count)
        self.path = profile.write(self.at("shared.pb.gz"))

    def test_rows(self):
        text = run("report", self.path).stdout
        for row in ("   600.0 ms  search  a.py:12", "   400.0 ms  search  b.py:3", "   300.0 ms  (anonymous)  x.js:7",
                    "   200.0 ms  (anonymous)  x.js:90", "   160.0 ms  init  /one/mod.py:1", "   140.0 ms  init  /two/mod.py:1",
                    "    80.0 ms  search", "   120.0 ms  research  a.py:50"):
            self.assertRegex(text, "(?m)" + row.strip().replace("(", r"\(").replace(")", r"\)") + "$")
        rows = [(row["name"], row.get("file"), row.get("line"), row["self_samples"]) for row in self.json(self.path)["rows"]]
        self.assertIn(("search", "/srv/app/b.py", 3, 40), rows)
        self.assertIn(("search", None, None, 8), rows)
        self.assertEqual(len(rows), 9)

    @unittest.skipUnless(has_plugin("x.folded"), "the plugin folded is not built")
    def test_convert_with_labels(self):
        """For formats without files: flamegraph.pl shows two functions as two, and `report` has their files back."""
        def leaves(*words):
            out = self.at("out.folded")
            result = run("convert", self.path, "-o", out, "--force", *words)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(out, encoding="utf-8") as file:
                return {line.rsplit(" ", 1)[0].split(";")[-1].removesuffix("_[j]") for line in file}
        self.assertEqual(leaves(), {"search", "(anonymous)", "init", "research"})
        self.assertEqual(leaves("--labels"), {
            "search", "search (a.py:12)", "search (b.py:3)", "(anonymous) (x.js:7)", "(anonymous) (x.js:90)",
            "init (/one/mod.py:1)", "init (/two/mod.py:1)", "research"})
        text = run("report", self.at("out.folded")).stdout
        self.assertRegex(text, r"(?m)^ .*  search  a\.py$")

    def test_trees(self):
        names = {node["name"] for node in self.json(self.path, "--tree", "--min", "0")["tree"][0]["children"]}
        self.assertEqual(names, {"search (a.py:12)", "search (b.py:3)", "(anonymous) (x.js:7)", "(anonymous) (x.js:90)",
                                 "init (/one/mod.py:1)", "init (/two/mod.py:1)", "research", "search"})
        callers = self.json(self.path, "--callers", "search", "--min", "0")["callers"]
        self.assertEqual({(node["name"], node["total_samples"]) for node in callers},
                         {("search (a.py:12)", 60), ("search (b.py:3)", 40), ("search", 8)})

    def test_source_is_of_a_name_and_file(self):
        """Both functions of a file stand in one listing, each line once."""
        functions = self.json(self.path, "--list", "(anonymous)")["functions"]
        self.assertEqual([(one["file"], one["self_samples"] if "self_samples" in one else one["self"] // 10**7,
                           [line["line"] for line in one["lines"]]) for one in functions],
                         [("/srv/web/x.js", 50, [8, 9, 91, 92])])

    def compare(self, *profiles):
        paths = []
        for number, functions in enumerate(profiles):
            profile = made.Pprof()
            for name, file, start, count in functions:
                profile.sample([profile.location(name, file, start + 1, start=start)], count)
            paths.append(profile.write(self.at(f"side{number}.pb.gz")))
        result = run("diff", "--json", *paths)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {mover["function"]: (mover["fate"], *mover["self"]["samples"]) for mover in json.loads(result.stdout)["movers"]}

    def test_diff(self):
        other = ("other", "o.py", 1, 5000)
        self.assertEqual(self.compare([("search", "/a.py", 12, 100), ("search", "/b.py", 3, 900), other],
                                      [("search", "/a.py", 12, 900), ("search", "/b.py", 3, 100), other]),
                         {"search (a.py)": ("stays", 100, 900), "search (b.py)": ("stays", 900, 100)})

    def test_diff_of_code_that_was_edited(self):
        """Its lines are others, and its directory: it is the same function all the same."""
        other = ("other", "/v1/o.py", 1, 5000)
        self.assertEqual(self.compare([("parse", "/v1/a.py", 12, 100), other], [("parse", "/v2/a.py", 17, 900), other]),
                         {"parse": ("stays", 100, 900), "other": ("stays", 5000, 5000)})
        self.assertEqual(self.compare([("get", "/v1/a.py", 12, 100), ("get", "/v1/b.py", 3, 100), other],
                                      [("get", "/v2/a.py", 17, 900), ("get", "/v2/b.py", 4, 100), other])["get (a.py)"],
                         ("stays", 100, 900))


class Convert(Case):
    def test_to_every_format_and_back(self):
        for name in FORMATS:
            if not has_plugin(name):
                continue
            with self.subTest(name):
                out = self.at("out-" + name)
                result = run("convert", self.path, "-o", out)
                self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
                self.assertEqual(self.shares(out), Report.WANTED)

    def test_speedscope_by_its_content(self):
        """As py-spy writes it, under any name; `diff` takes it beside pprof of the same."""
        frames = [{"name": name, "file": file, "line": line} for name, file, line in
                  (("main", "main.c", 3), ("work", "a.c", 10), ("work", "a.c", 20), ("idle", "b.c", 7))]
        stacks = [[0, 1]] * 40 + [[0, 2]] * 20 + [[0, 3]] * 40
        with open(self.at("spy"), "w", encoding="utf-8") as file:
            json.dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames},
                       "profiles": [{"type": "sampled", "name": 'Thread 7 "MainThread"', "unit": "seconds", "startValue": 0.0,
                                     "endValue": 1.0, "samples": stacks, "weights": [0.01] * len(stacks)}]}, file)
        self.assertEqual(self.rows(self.at("spy")), self.rows(self.path))
        self.assertEqual(self.json(self.at("spy"))["weight"], self.json(self.path)["weight"])
        # The format does not say whether its time is a CPU's.
        self.assertIn(": 1.00 s of time\n", run("report", self.at("spy")).stdout)
        self.assertIn(": 1.00 s of CPU time\n", run("report", self.path).stdout)
        both = run("diff", self.at("spy"), self.path).stdout
        self.assertRegex(both, r"(?m)^A: .*, 1\.00 s of time$")
        self.assertRegex(both, r"(?m)^B: .*, 1\.00 s of CPU time$")
        out = self.at("out.pb.gz")
        self.assertEqual(run("convert", self.at("spy"), "-o", out).returncode, 0)
        self.assertEqual(self.shares(out), Report.WANTED)

    def test_filters_and_merges(self):
        out = self.at("out.pb.gz")
        result = run("convert", self.path, self.path, "-o", out, "-X", "idle")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.rows(out), {"work": (120, 120), "main": (0, 120)})

    def test_standard_output(self):
        if not has_plugin("x.folded"):
            self.skipTest("the plugin folded is not built")
        result = run("convert", self.path, "-f", "folded", "-o", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        weights = [(line.rsplit(" ", 1)[0].split(";")[-1], int(line.rsplit(" ", 1)[1])) for line in result.stdout.splitlines()]
        work = sum(weight for name, weight in weights if name.startswith("work"))
        self.assertEqual(100 * work // sum(weight for _, weight in weights), 60)

    def test_what_is_there_is_kept(self):
        out = simple().write(self.at("there.pb.gz"))
        self.assertIn("--force", self.fails(1, "convert", self.path, "-o", out))
        self.assertEqual(run("convert", self.path, "-o", out, "--force").returncode, 0)
        self.assertIn("needs a file to write", self.fails(2, "convert", self.path))

    def test_truncated_files(self):
        """Of each format: one sentence, status 1."""
        for name in FORMATS:
            if not has_plugin(name):
                continue
            out = self.at("whole-" + name)
            self.assertEqual(run("convert", self.path, "-o", out).returncode, 0)
            with open(out, "rb") as file:
                data = file.read()
            for part in (0.2, 0.5, 0.9, 0.99):
                cut = self.at("cut-" + name)
                kept = data[:int(len(data) * part)]
                if name.endswith((".folded", ".perf.txt")):     # text: not where a line may end
                    kept = kept.rstrip(b"\n)0123456789 ")
                with open(cut, "wb") as file:
                    file.write(kept)
                with self.subTest(name, part=part):
                    self.assertIn(cut, self.fails(1, "report", cut))
        data = simple().bytes()
        with open(self.at("cut.pprof"), "wb") as file:
            file.write(data[:-3])
        self.fails(1, "report", self.at("cut.pprof"))


@unittest.skipUnless(has_plugin("x.folded"), "the plugin folded is not built")
class Outputs(Case):
    """What is at the name of an output stays what it is."""

    def commands(self, out):
        yield ["convert", self.path, "-f", "folded", "-o", out]
        if has_plugin("x.html"):
            yield ["diff", self.path, self.path, "-q", "-o", out]

    def kinds(self):
        pipe, link, circle, directory, null, to_null = (self.at(name + ".html") for name in (
            "pipe", "link", "circle", "directory", "null", "to-null"))
        os.mkfifo(pipe)
        os.symlink("pipe.html", link)
        os.symlink("circle.html", circle)
        os.mkdir(directory)
        yield from (pipe, link, circle, directory)
        with contextlib.suppress(PermissionError):
            os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            os.symlink("null.html", to_null)
            yield from (null, to_null)

    def test_what_is_no_file_stays(self):
        """Neither is it waited for: nobody reads from the pipe."""
        for out in self.kinds():
            before = os.lstat(out)
            for command in self.commands(out):
                for force in ([], ["--force"]):
                    with self.subTest(out=out, command=command[0], force=force):
                        result = run(*command, *force)
                        self.assertEqual(result.returncode, 1, result.stderr)
                        self.assertRegex(result.stderr, r"\Aebpf-profiler: [^\n]+ (is|exists)[^\n]*: name [^\n]+\n\Z")
                        self.assertEqual((os.lstat(out).st_mode, os.lstat(out).st_ino), (before.st_mode, before.st_ino))

    def test_a_link_stays_and_its_target_is_written(self):
        os.mkdir(self.at("dir"), 0o755)
        for there in (False, True):
            for command in self.commands(self.at("link.html")):
                link, target = self.at("link.html"), self.at("dir/target")
                os.symlink("dir/target", link)
                if there:
                    with open(target, "w", encoding="utf-8") as file:
                        file.write("old" * 100000)
                with self.subTest(command=command[0], there=there):
                    if there:
                        self.assertIn("--force", self.fails(1, *command))
                    result = run(*command, "--force")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(os.readlink(link), "dir/target")
                    self.assertGreater(os.path.getsize(target), 0)
                    with open(target, "rb") as file:
                        self.assertNotIn(b"oldold", file.read())
                    self.assertEqual(os.listdir(self.at("dir")), ["target"])
                os.unlink(link)
                os.unlink(target)

    def test_a_pipe_is_written_by_the_shell(self):
        out = self.at("pipe")
        os.mkfifo(out)
        with subprocess.Popen(["cat", out], stdout=subprocess.PIPE, text=True) as reader:
            result = subprocess.run(["sh", "-c", '"$0" convert "$1" -f folded -o - >"$2"', BINARY, self.path, out], check=False)
            self.assertEqual(result.returncode, 0)
            self.assertIn("main;work", reader.stdout.read())


class Pipe(Case):
    def test_a_reader_that_goes_away_ends_every_command_silently(self):
        profile = made.Pprof()
        for i in range(2000):   # more than stdio and a pipe hold
            profile.sample([profile.location(f"function_{i}_with_a_name", "a.c", i)], i + 1)
        one, two = profile.write(self.at("one.pb.gz")), self.path
        commands = [["--version"], ["plugins"], ["doctor"], ["report", "-n", "0", one], ["report", "--json", one],
                    ["diff", "-n", "0", one, two]]
        if has_plugin("x.folded"):
            commands.append(["convert", one, "-f", "folded", "-o", "-"])
        environment = {**os.environ, "TMPDIR": self.directory}
        os.chmod(self.directory, 0o777)
        for command in commands:
            for ignored, status in ((False, -signal.SIGPIPE), (True, 128 + signal.SIGPIPE)):
                with self.subTest(command=command[0], ignored=ignored):
                    reading, writing = os.pipe()
                    os.close(reading)
                    done = subprocess.run([BINARY, *command], stdout=writing, stderr=subprocess.PIPE, check=False,
                                          restore_signals=not ignored, env=environment, timeout=120)
                    os.close(writing)
                    # doctor says what it notices of any process here; that somebody went away it does not say.
                    said = [line for line in done.stderr.splitlines() if not line.startswith(b"warn: ")]
                    self.assertEqual((done.returncode, said), (status, []))
        self.assertEqual([name for name in os.listdir(self.directory) if name.startswith("ebpf-profiler")], [])


class Symbols(Case):
    def setUp(self):
        super().setUp()
        if not made.has_tools("gcc", "objcopy", "strip", "nm", "readelf"):
            self.skipTest("no gcc and binutils")
        self.program, self.debug, self.build_id, self.addresses = made.stripped_program(self.directory)
        profile = made.Pprof()
        mapping = profile.mapping(self.program, self.build_id)
        for name, address in self.addresses.items():
            profile.sample([profile.location(mapping=mapping, address=address + 1)], 10)
        self.path = profile.write(self.at("nameless.pb.gz"))
        self.out = self.at("named.pb.gz")

    def convert(self, *arguments, **options):
        result = run("convert", self.path, "-o", self.out, "--symbols", *arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def assert_named(self, wanted=True):
        names = set(self.rows(self.out))
        self.assertEqual(names == set(self.addresses), wanted, names)

    def test_without_a_debug_file_nothing_is_named(self):
        os.rename(self.debug, self.at("away"))
        self.assertIn("0 of 3 frames", self.convert())
        self.assert_named(False)

    def test_from_a_directory(self):
        self.assertIn("3 of 3 frames", self.convert("--debug-dir", self.directory))
        self.assert_named()

    def test_addresses_of_a_process(self):
        """As others write them: of memory, with the mapping that leads back to the file."""
        profile = made.Pprof()
        start, base = 0x7F0000001000, 0x7F0000000000
        mapping = profile.mapping(self.program, self.build_id, start, start + 0x1000, 0x1000)
        for address in self.addresses.values():
            profile.sample([profile.location(mapping=mapping, address=base + address + 1)], 10)
        self.path = profile.write(self.at("memory.pb.gz"))
        self.convert("--debug-dir", self.directory)
        self.assert_named()
        os.rename(self.program, self.at("elsewhere"))   # and with the debug file alone
        self.convert("--debug-dir", self.directory, "--force")
        self.assert_named()

    def test_by_build_id(self):
        directory = self.at("store/.build-id/" + self.build_id[:2])
        os.makedirs(directory)
        os.rename(self.debug, os.path.join(directory, self.build_id[2:] + ".debug"))
        self.convert("--debug-dir", self.at("store"))
        self.assert_named()

    def test_whatever_the_file_is_called(self):
        """A debug file of a build directory has any name; its build id says whose it is."""
        os.makedirs(self.at("store/deep/er"))
        os.rename(self.debug, self.at("store/deep/er/application-1.2.symbols"))
        os.symlink(".", self.at("store/circle"))
        os.mkfifo(self.at("store/pipe"))
        shutil.copy("/bin/true", self.at("store/another"))
        with open(self.at("store/broken"), "wb") as file:
            file.write(b"\x7fELF" + bytes(range(256)))
        self.assertNotIn("no file has", self.convert("--debug-dir", self.at("store")))
        self.assert_named()

    def test_what_was_looked_for_is_said(self):
        os.rename(self.debug, self.at("away"))
        os.mkdir(self.at("store"))
        shutil.copy("/bin/true", self.at("store/secret"))
        said = self.convert("--debug-dir", self.at("store"))
        self.assertEqual(said.splitlines()[:2], [
            f"symbols: no file has the build id of {self.program}: {self.build_id}",
            "symbols: 0 of 3 frames without a name have one now; a file was found for 0 of 1 modules they are in; 1 ELF "
            "files with a build id are in the directories of --debug-dir"])

    def test_a_directory_that_is_none_is_an_error(self):
        for name, says in (("not-there", "No such file or directory"), ("nameless.pb.gz", "is a file: give the directory it is in")):
            self.assertIn(f"--debug-dir {self.at(name)}: {says}",
                          self.fails(1, "convert", self.path, "-o", self.out, "--symbols", "--debug-dir", self.at(name)))
            self.assertFalse(os.path.exists(self.out))

    def test_another_build_is_not_taken(self):
        os.rename(self.debug, self.at("away"))
        os.mkdir(self.at("store"))
        shutil.copy("/bin/true", self.at("store/secret.debug"))
        self.convert("--debug-dir", self.at("store"))
        self.assert_named(False)

    def test_debuginfod_is_asked_with_the_option_only(self):
        asked = []
        debug, build_id = self.at("away"), self.build_id
        os.rename(self.debug, debug)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                if self.path != f"/buildid/{build_id}/debuginfo":
                    self.send_error(404)
                    return
                with open(debug, "rb") as file:
                    data = file.read()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        cache = self.at("cache")
        os.mkdir(cache)
        os.chmod(cache, 0o777)
        os.chmod(self.directory, 0o777)
        environment = {**os.environ, "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}",
                       "DEBUGINFOD_CACHE_PATH": cache}
        environment.pop("SUDO_UID", None)
        environment["ASAN_OPTIONS"] = "detect_leaks=0"  # what libcurl keeps is not ours
        self.convert(env=environment)
        self.assertEqual(asked, [])
        self.assert_named(False)
        os.remove(self.out)
        result = run("convert", self.path, "-o", self.out, "--symbols", "--debuginfod", env=environment)
        if "needs libdebuginfod" in result.stderr:
            self.skipTest("no libdebuginfod.so.1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("3 of 3 frames", result.stderr)
        self.assertEqual(asked[0], f"/buildid/{build_id}/debuginfo")
        self.assert_named()
        environment.pop("DEBUGINFOD_URLS")
        os.remove(self.out)
        self.assertIn("DEBUGINFOD_URLS", run("convert", self.path, "-o", self.out, "--symbols", "--debuginfod",
                                             env=environment).stderr)


if __name__ == "__main__":
    if not os.path.exists(BINARY):
        sys.exit(f"{BINARY} is not there: build it")
    unittest.main()

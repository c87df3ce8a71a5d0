#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten jobs of a user, each by the commands that the program itself names: what a person looks for is in the first
screen of what it prints. Needs root and bpf(); a job whose runtime is not here is a skip, and is counted.

    test_jobs.py [NAME...]      EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one

Programs do a fixed amount of CPU time, or run until they are seen: nothing is judged by how long it took.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import whole  # and with it where the kit is
from whole import BINARY, Case, run, wait_until, wait_used

SCREEN = 24     # lines of a terminal
CPLUSPLUS = """
#include <cstdlib>
#include <ctime>
#include <vector>
namespace grid {
__attribute__((noinline)) double relax(std::vector<double> &cells) {
    double sum = 0;
    for (int i = 0; i < 2000; i++) for (auto &cell : cells) sum += cell = cell * 0.5 + sum * 1e-9;
    return sum;
}
}
int main() {
    std::vector<double> cells(1000, 1.0);
    double sum = 0;
    while (clock() < CLOCKS_PER_SEC) sum += grid::relax(cells);
    return sum == 42;
}
"""
SERVER = """
import http.server, threading, time, urllib.request
def render(n):
    return b"".join([b"%d" % (i * i) for i in range(n)])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = render(20000)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
while time.process_time() < 1.5:
    urllib.request.urlopen("http://127.0.0.1:%d/" % server.server_port).read()
"""
# Each function for so many milliseconds of CPU time.
SCRIPT = """
const used = () => { const now = process.cpuUsage(); return (now.user + now.system) / 1000; };
function parse(n) { let x = 0; for (let i = 0; i < n; i++) x += i % 7; return x; }
function search(n) { let x = 0; for (let i = 0; i < n; i++) x += i % 11; return x; }
for (const [work, ms] of [[parse, 500], [search, MS]]) { const end = used() + ms; while (used() < end) work(100000); }
"""
CLASS = """
public class Work {
    static double crunch(int n) { double x = 0; for (int i = 1; i < n; i++) x += Math.sqrt(i) / i; return x; }
    public static void main(String[] args) { double x = 0; while (x >= 0) x = crunch(100000); }
}
"""
MAKEFILE = """
all: one two three four
one two:
\tawk 'BEGIN { for (i = 0; i < 4000000; i++) x += i }'
three four:
\tsh -c 'i=0; while [ $$i -lt 300000 ]; do i=$$((i + 1)); done'
"""


def program_of(*names):
    return next(filter(None, map(shutil.which, names)), None)


class Jobs(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)   # report and convert give root up

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def at(self, name):
        return os.path.join(self.dir, name)

    def needs(self, *names):
        found = program_of(*names)
        if not found:
            self.skipTest("no " + names[0])
        return found

    def record(self, path, *command):
        """What it says at the end."""
        result = run("record", "-F", "499", "-o", path, "--", *command, cwd=self.dir, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def screen(self, *words):
        """The first screen of a command that works."""
        result = run(*words, cwd=self.dir)
        self.assertEqual(result.returncode, 0, result.stderr)
        return "\n".join(result.stdout.splitlines()[:SCREEN])

    def next_of(self, said, word):
        """The command that a summary names, without the program's name."""
        commands = re.findall(r"^next: ebpf-profiler (.*)$", said, re.M)
        return next(command.split() for command in commands if word in command)

    def share_of(self, screen, name):
        """Of its row: by itself, in per cent."""
        found = re.search(rf"^ +([0-9.]+) %.* {name}\b", screen, re.M)
        self.assertTrue(found, f"no {name} in\n{screen}")
        return float(found[1])

    def test_a_web_server_in_python(self):
        self.write("app.py", SERVER)
        said = self.record("app.otlp.gz", sys.executable, "app.py")
        screen = self.screen(*self.next_of(said, "--by line"))
        self.assertRegex(screen, r"render.*app\.py:4")
        self.assertGreater(self.share_of(screen, "render"), 40)

    def test_a_regression_of_node(self):
        node = self.needs("node", "nodejs")
        for name, milliseconds in (("before", 200), ("after", 700)):
            self.write(name + ".js", SCRIPT.replace("MS", str(milliseconds)))
            self.record(name + ".otlp.gz", node, name + ".js")
        screen = self.screen("diff", "--total", "before.otlp.gz", "after.otlp.gz")
        rows = [line for line in screen.splitlines() if re.search(r"\b(search|parse)\b", line)]
        self.assertTrue(rows and "search" in rows[0], screen)
        self.assertFalse([row for row in rows if "parse" in row], screen)

    def test_a_jvm_that_runs(self):
        java, javac = self.needs("java"), self.needs("javac")
        self.write("Work.java", CLASS)
        subprocess.run([javac, "-d", self.dir, self.at("Work.java")], check=True, timeout=120)
        process = self.start([java, "-XX:+UseSerialGC", "-cp", self.dir, "Work"])
        self.assertTrue(wait_used(process.pid, 1))
        self.out = self.at("jvm.otlp.gz")
        recording = self.start_recording("-F", "499", "-p", str(process.pid))
        self.assertTrue(wait_used(process.pid, 1.5))
        self.end_recording(recording)
        self.assertGreater(self.share_of(self.screen("report", self.out), r"Work\.crunch"), 50)

    def test_a_stripped_program(self):
        compiler, strip, objcopy = self.needs("g++", "c++"), self.needs("strip"), self.needs("objcopy")
        self.write("grid.cc", CPLUSPLUS)
        program, debug = self.at("grid"), self.at("debug")
        os.mkdir(debug)
        for command in ([compiler, "-O2", "-g", "-Wl,--build-id", self.at("grid.cc"), "-o", program],
                        [objcopy, "--only-keep-debug", program, os.path.join(debug, "any-name")], [strip, program]):
            subprocess.run(command, check=True, timeout=120)
        said = self.record("grid.otlp.gz", program)
        self.assertIn("convert", said)      # it says what gives names
        self.assertIn("--debug-dir", said)
        self.assertNotIn("relax", self.screen("report", "grid.otlp.gz"))
        self.screen("convert", "grid.otlp.gz", "--symbols", "--debug-dir", "debug", "-o", "named.otlp.gz")
        self.assertGreater(self.share_of(self.screen("report", "named.otlp.gz"), "grid::relax"), 80)

    def test_a_build(self):
        make = self.needs("make")
        self.write("Makefile", MAKEFILE)
        said = self.record("make.otlp.gz", make, "-j2")
        programs = {program: os.path.basename(os.path.realpath(self.needs(program))) for program in ("awk", "sh")}
        for name in programs.values():      # each once, however many processes it was
            self.assertEqual(len(re.findall(rf"(?m)^ +[0-9.]+ % +.*/{name}$", said)), 1, said)
        screen = self.screen("report", "--by", "program", "make.otlp.gz")
        self.assertGreater(sum(self.share_of(screen, ".*" + name) for name in programs.values()), 80)

    def test_a_machine_by_user_and_unit(self):
        root = next((line.split()[4] for line in open("/proc/self/mountinfo", encoding="utf-8")
                     if " - cgroup2 " in line), None)
        group = root and os.path.join(root, "job.service")
        try:
            os.mkdir(group or "/proc/none")
        except OSError:
            group = None
        process = self.start(["sh", "-c", "while :; do :; done"], user="nobody")
        if group:
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="utf-8") as file:
                file.write(str(process.pid))
        self.out = self.at("machine.otlp.gz")
        recording = self.start_recording("-F", "199", "-a")
        self.assertTrue(wait_used(process.pid, 1))
        self.end_recording(recording)
        process.kill()
        process.wait()
        if group:
            self.assertTrue(wait_until(lambda: is_removed(group)))
        self.share_of(self.screen("report", "--by", "user", self.out), "nobody")
        if not group:
            self.skipTest("by unit: no cgroup v2 in which a group can be made")
        self.share_of(self.screen("report", "--by", "unit", self.out), r"job\.service")

    def test_a_flight_recorder(self):
        """The agent has run all the time: what was it between 4 and 2 seconds before its end?"""
        directory = self.at("files")
        os.mkdir(directory)
        config = self.write("profiler.toml", '[sampling]\nfreq = 99\n[[exporter]]\ntype = "otlp_file"\n'
                            f'interval = "2s"\ndirectory = "{directory}"\n[plugins]\nenable = ["otlp_file"]\n')
        busy = self.start([sys.executable, "-c", "def incident():\n    while True: sum(range(1000))\nincident()"])
        profiler = self.start([BINARY, "--config", config], stderr=subprocess.DEVNULL)
        self.assertTrue(wait_until(lambda: len(glob.glob(directory + "/*.otlp.gz")) >= 4 or profiler.poll() is not None))
        profiler.send_signal(signal.SIGTERM)
        self.assertEqual(profiler.wait(120), 0)
        busy.kill()
        words = ["report", "files", "--from", "-4s", "--to", "-2s", "--kind", "cpython"]
        self.share_of(self.screen(*words), "incident")
        part, whole_of = (json.loads(run(*command, "--json", cwd=self.dir).stdout)["samples"]
                          for command in (words, ["report", *glob.glob(directory + "/*.gz"), *words[-2:]]))
        self.assertLess(0, part)
        self.assertLess(part, whole_of)

    def test_a_program_that_waits(self):
        result = run("record", "-o", self.at("wait.html"), "--", sys.executable, "-c", "import time; time.sleep(1.5)")
        self.assertRegex(result.stderr, r"it ran [0-9.]+ s of [0-9.]+ s, the rest it waited")

    def test_files_of_other_tools(self):
        perf = "work 7/7 [000] {0}.0:  10000000 cpu-clock: \n\t  4007f0 {1} (/usr/bin/work)\n\t  400800 main (/usr/bin/work)\n\n"
        names = ["hot", "hot", "hot", "cold"]
        frames = ["main", "hot", "cold"]
        files = {
            "x.perf.txt": "".join(perf.format(5 + i, name) for i, name in enumerate(names)),
            "x.folded": "main;hot 3\nmain;cold 1\n",
            "x.json": json.dumps({
                "$schema": "https://www.speedscope.app/file-format-schema.json",
                "shared": {"frames": [{"name": name} for name in frames]},
                "profiles": [{"type": "sampled", "name": "MainThread", "unit": "seconds", "startValue": 0, "endValue": 0.04,
                              "samples": [[0, frames.index(name)] for name in names], "weights": [0.01] * 4}]}),
        }
        for name, text in files.items():
            with self.subTest(name):
                screen = self.screen("report", self.write(name, text))
                self.assertEqual((self.share_of(screen, "hot"), self.share_of(screen, "cold")), (75, 25))
                self.screen("convert", name, "-o", name + ".html")

    def test_mistakes(self):
        """One sentence that says what to do, and a status."""
        self.write("notes.txt", "hello, world\n")
        mistakes = {
            ("recrod",): "did you mean 'record'",
            ("annotate",): "report --list",
            ("record", "-e", "cycles", "--", "true"): "leave -e out",
            ("record", "-o", "x.xyz", "--", "true"): ".html",
            ("record", "-p", "4194305"): "ps -e",
            ("record", "-o", "x.html", "no-such-command"): "cannot run no-such-command",
            ("report", "nothere.otlp.gz"): "no such file",
            ("report", "notes.txt"): "no profile that is known",
            ("report", sys.executable): "is a program",
            ("diff", "notes.txt"): "diff BEFORE AFTER",
        }
        for words, says in mistakes.items():
            with self.subTest(words):
                result = run(*words, cwd=self.dir)
                self.assertNotIn(result.returncode, (0, -signal.SIGABRT), result.stderr)
                self.assertRegex(result.stderr, r"\Aebpf-profiler: [^\n]+\n\Z")
                self.assertIn(says, result.stderr)
        self.assertEqual(sorted(os.listdir(self.dir)), ["notes.txt"])   # and nothing is left behind


def is_removed(group):
    """A group of processes that have ended."""
    try:
        os.rmdir(group)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    whole.main()

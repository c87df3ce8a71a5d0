#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One recording in all formats: CPU time by function, line, process and second, as each format's own readers have it,
is equal to the nanosecond. Needs root and bpf(); a tool that is missing is a skip of its test.

    test_formats.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one; FLAMEGRAPH names
                                    a directory with flamegraph.pl and stackcollapse-perf.pl
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import whole  # and with it where the kit is
import formats

LOAD = """
import subprocess, threading
def burn():
    for i in range(200): sum(range(20000))
threads = [threading.Thread(target=burn, name="burn %d" % i) for i in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for i in range(5): subprocess.run(["sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"])
"""
FILES = ["r.pb.gz", "r.json.gz", "r.folded", "r.perf.txt", "r.otlp.gz", "r.html", "r.svg"]
LESS = re.compile(r"[\0-\x1f\x7f]")


def by(rows, *keys, name=str):
    """CPU time by some of the columns, without those that stand for nothing."""
    times = collections.Counter()
    for row in rows:
        key = tuple(name(row.function) if key == "function" else getattr(row, key) for key in keys)
        times[key] += row.ns
    return +times


def as_folded(name):
    return re.sub(r" (?=[0-9.]+$)", "_", LESS.sub("?", name.replace(";", ":")))


def as_perf(name):
    return "[unknown]" if formats.UNNAMED.search(name) else LESS.sub("?", name)


class Formats(whole.Case):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="ebpf-profiler-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.files = {name: os.path.join(holder.name, name) for name in FILES}
        outputs = [word for path in cls.files.values() for word in ("-o", path)]
        result = whole.run("record", "-F", "499", *outputs, "--", sys.executable, "-c", LOAD, timeout=120)
        if result.returncode:
            raise AssertionError(result.stderr)
        cls.truth = formats.read_otlp(cls.files["r.otlp.gz"])

    def same(self, rows, *keys, name=str):
        self.assertGreater(len(rows), 0)
        self.assertEqual(by(rows, *keys), by(self.truth, *keys, name=name))

    def test_the_recording_is_one(self):
        self.assertGreater(len(self.truth), 100)
        self.assertGreater(len(by(self.truth, "pid")), 3)
        if os.path.exists(os.path.join(os.environ["EBPF_PROFILER_PLUGINS_DIR"], os.path.basename(sys.executable)[:6] + ".so")):
            self.assertGreater(len(by(self.truth, "place")), 3)

    def test_picture(self):
        """Programs are as wide as their CPU time; each box is in its caller's."""
        boxes = []
        for box in xml.etree.ElementTree.parse(self.files["r.svg"]).iterfind(".//{*}g"):
            title = box.find("{*}title").text.rsplit(" (", 1)[0]
            boxes.append((title, int(box.get("data-y")), float(box.get("data-x")), float(box.get("data-w"))))
        times = by(self.truth, "comm")
        width = boxes[0][3]
        self.assertEqual(boxes[0][:2], ("all", 0))
        shown = {title: w for title, row, _, w in boxes if row == 1}
        for (comm,), ns in times.items():
            share = width * ns / sum(times.values())
            self.assertAlmostEqual(shown.get(comm, 0), share if share >= 0.1 else 0, delta=0.001 * len(times))
        self.assertLessEqual(sum(shown.values()), width + 0.01)
        path = []
        for title, row, x, w in boxes:      # in the order of a walk
            del path[row:]
            self.assertEqual(len(path), row, title)
            self.assertTrue(row == 0 or (path[-1][0] <= x + 0.01 and x + w <= path[-1][1] + 0.01), title)
            path.append((x, x + w))

    def test_the_command_is_the_title(self):
        """In the file that loses nothing, and after that was converted."""
        again = self.convert("r.html", "again.svg")
        for path in (self.files["r.svg"], again):
            title = xml.etree.ElementTree.parse(path).find(".//{*}text[@id='title']").text
            self.assertTrue(title.startswith(f"{sys.executable} -c  import subprocess, threading"), title)

    def test_page(self):
        self.same(formats.read_page(self.files["r.html"]), "function", "place", "pid", "comm", "second")

    def test_pprof(self):
        if not shutil.which("go"):
            self.skipTest("no go")
        self.same(formats.read_pprof(self.files["r.pb.gz"]), "function", "place", "pid")

    def test_firefox(self):
        self.same(formats.read_firefox(self.files["r.json.gz"]), "function", "place", "pid", "second")

    def test_firefox_is_reported_as_otlp(self):
        """Functions of `report`, by itself and with what they called."""
        said = [json.loads(whole.run("report", "--json", self.files[name]).stdout) for name in ("r.otlp.gz", "r.json.gz")]
        rows = [{(row["name"], row.get("file")): (row["self"], row["total"], row["self_samples"], row["total_samples"])
                 for row in one["rows"]} for one in said]
        self.assertEqual(*rows)
        self.assertGreater(len(rows[0]), 10)
        self.assertEqual(*(one["weight"] for one in said))

    def test_perf_script(self):
        self.same(formats.read_perf(self.files["r.perf.txt"]), "function", "pid", "second", name=as_perf)

    def test_folded(self):
        self.same(formats.read_folded(self.files["r.folded"]), "function", name=as_folded)

    def test_flamegraph_takes_it_whole(self):
        if not formats.tool("flamegraph.pl"):
            self.skipTest("no flamegraph.pl")
        done = subprocess.run([formats.tool("flamegraph.pl"), "--countname", "ns", self.files["r.folded"]],
                              capture_output=True, text=True, check=True)
        total = sum(row.ns for row in self.truth)
        self.assertIn(f"<title>all ({total:,} ns, 100%)</title>", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_stackcollapse_takes_it_whole(self):
        if not formats.tool("stackcollapse-perf.pl"):
            self.skipTest("no stackcollapse-perf.pl")
        rows = formats.read_collapsed(self.files["r.perf.txt"])
        self.assertEqual(sum(row.ns for row in rows), sum(row.ns for row in self.truth))

    def convert(self, name, to):
        out = os.path.join(os.path.dirname(self.files[name]), to)
        result = whole.run("convert", "-q", self.files[name], "-o", out, env=dict(os.environ, SUDO_UID="0", SUDO_GID="0"))
        self.assertEqual(result.returncode, 0, result.stderr)
        return out

    def test_page_to_otlp_to_page(self):
        everything = "function", "place", "pid", "comm", "second"
        self.files["c.otlp.gz"] = self.convert("r.html", "c.otlp.gz")
        self.same(formats.read_otlp(self.files["c.otlp.gz"]), *everything)
        self.same(formats.read_page(self.convert("c.otlp.gz", "c.html")), *everything)

    def test_otlp_to_firefox(self):
        """Each thread's samples, with their times and weights, are those of the recording's own file."""
        self.assertEqual(*(formats.threads_of_firefox(path)
                           for path in (self.files["r.json.gz"], self.convert("r.otlp.gz", "c.json.gz"))))


if __name__ == "__main__":
    whole.main()

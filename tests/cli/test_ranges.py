#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`report DIR --from --to` against what was sampled in that range, and against the same files named one by one.

    test_ranges.py [NAME...]    EBPF_PROFILER_TEST_RANGES: random ranges for each format, 40 unless given
"""
import datetime
import json
import os
import random
import shutil
import tempfile
import unittest

from test_report import Case, has_plugin, run

RANGES = int(os.environ.get("EBPF_PROFILER_TEST_RANGES", "40"))
SEED = int(os.environ.get("EBPF_PROFILER_TEST_SEED", "7"))
SECOND = 10**9
START = 1767268980 * SECOND + 700_000_000      # 2026-01-01T12:03:00.7Z
UTC = {**os.environ, "TZ": "UTC"}


def iso(ns):
    moment = datetime.datetime.fromtimestamp(ns // SECOND, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{ns % SECOND:09}Z"


def write_text(path, times):
    """Lines of `perf script`: [(time, function)]."""
    with open(path, "w", encoding="utf-8") as file:
        for ns, function in times:
            file.write(f"work 100/101 [001] {ns // SECOND}.{ns % SECOND:09}:   10000000 cpu-clock: \n"
                       f"\t            1000 {function} (/usr/bin/work)\n\n")


class Recording:
    """Files of ten seconds as the agent leaves them, one after the other, with a gap where it was started anew."""

    def __init__(self, directory, formats, n=15, seed=SEED, host="a"):
        rng = random.Random(seed)
        self.directory, self.files, begin = directory, [], START
        for number in range(n):
            end = begin + 10 * SECOND
            times = sorted({begin, end - 1, *(begin + rng.randrange(10 * SECOND) for _ in range(24))})
            times = [(ns, f"f{number}_{rng.randrange(3)}") for ns in times]
            stamp = datetime.datetime.fromtimestamp(begin // SECOND, datetime.timezone.utc).strftime("%Y%m%d-%H%M%S")
            path = os.path.join(directory, f"profile-{host}-{stamp}.{formats[number % len(formats)]}")
            text = os.path.join(directory, "text")
            write_text(text, times)
            result = run("convert", "-q", text, "-o", path)
            assert result.returncode == 0, result.stderr
            os.unlink(text)
            self.files.append((path, times))
            begin = end + (7 * SECOND if number == n // 2 else 0)
        self.start, self.end = self.files[0][1][0][0], self.files[-1][1][-1][0]

    def expected(self, start, end, has_times):
        """{function: samples} of [start, end); of a file without times all, if it touches that."""
        rows = {}
        for path, times in self.files:
            whole = not has_times(path) and times[0][0] < end and times[-1][0] > start
            for ns, function in times:
                if whole or (has_times(path) and start <= ns < end):
                    rows[function] = rows.get(function, 0) + 1
        return rows

    def named(self, start, end):
        return [path for path, times in self.files if times[0][0] < end and times[-1][0] > start]


def keeps_times(path):
    return not path.endswith(".pb.gz")


def random_range(rng, recording):
    """(start, end, options): of any form, and not always in order with what there is."""
    start, end = sorted(rng.randrange(recording.start - 5 * SECOND, recording.end + 5 * SECOND) for _ in range(2))
    start, end = (ns - ns % 1_000_000 for ns in (start, end))
    options = []
    for name, ns in (("--from", start), ("--to", end)):
        form = rng.choice(["absolute", "start", "end", "none"])
        since, until = (ns - recording.start) // 1_000_000, (recording.end - ns) // 1_000_000
        if form == "start" and since >= 0:
            ns, text = recording.start + since * 1_000_000, f"{since}ms"
        elif form == "end" and until >= 0:
            ns, text = recording.end - until * 1_000_000, f"-{until}ms"
        elif form == "none":
            ns, text = (0 if name == "--from" else 2**64 - 1), None
        else:
            text = iso(ns)
        if text:
            options += [name, text]
        start, end = (ns, end) if name == "--from" else (start, ns)
    return start, end, options


class Ranges(Case):
    def judge(self, formats, seed=SEED):
        if not all(has_plugin("x." + name) for name in formats):
            self.skipTest("a plugin is not built")
        directory = tempfile.mkdtemp(dir=self.directory)
        os.chmod(directory, 0o755)
        recording, rng, judged, empty = Recording(directory, formats, seed=seed), random.Random(seed), 0, 0
        while judged < RANGES:
            start, end, options = random_range(rng, recording)
            if not options or start >= end:
                continue
            judged += 1
            want = recording.expected(start, end, keeps_times)
            with self.subTest(options=options):
                result = run("report", "--json", "-q", directory, *options, env=UTC)
                if not want:
                    empty += 1
                    self.assertEqual(result.returncode, 5, result.stderr)
                    continue
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.counts(result), want)
                self.assertEqual(self.merged(recording, formats, start, end, options), want)
        self.assertLess(empty, judged // 2)

    def counts(self, result):
        said = json.loads(result.stdout)
        rows = {row["name"]: row["self_samples"] for row in said["rows"]}
        self.assertEqual(said["samples"], sum(rows.values()))
        return rows

    def merged(self, recording, formats, start, end, options):
        """The same files named one by one."""
        if all(keeps_times("." + name) for name in formats):
            result = run("report", "--json", "-q", *(path for path, _ in recording.files), *options, env=UTC)
        elif any(keeps_times("." + name) for name in formats):
            return recording.expected(start, end, keeps_times)
        else:
            result = run("report", "--json", "-q", *recording.named(start, end), env=UTC)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.counts(result)

    def test_otlp(self):
        self.judge(["otlp.gz"])

    def test_pages(self):
        self.judge(["html"])

    def test_pprof(self):
        self.judge(["pb.gz"])

    def test_firefox(self):
        self.judge(["json.gz"])

    def test_mixed(self):
        """Those without times count whole, the others exactly."""
        self.judge(["otlp.gz", "pb.gz", "html"])

    def test_what_was_wrong(self):
        recording = self.recording()
        for options, seconds in ((("--from", "-60s", "--to", "-30s"), (60, 30)), (("--from", "-100s", "--to", "-60s"), (100, 60))):
            result = run("report", "--json", recording.directory, *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.counts(result), recording.expected(*(recording.end - s * SECOND for s in seconds), keeps_times))

    def recording(self, formats=("otlp.gz",), **options):
        if not all(has_plugin("x." + name) for name in formats):
            self.skipTest("a plugin is not built")
        directory = tempfile.mkdtemp(dir=self.directory)
        os.chmod(directory, 0o755)
        return Recording(directory, formats, **options)

    def test_two_hosts(self):
        """Each has files of its own, which do not end where the other's begin."""
        recording = self.recording()
        other = Recording(recording.directory, ["otlp.gz"], n=4, seed=SEED + 1, host="b")
        start, end = START + 31 * SECOND, START + 39 * SECOND
        want = recording.expected(start, end, keeps_times)
        for name, count in other.expected(start, end, keeps_times).items():
            want[name] = want.get(name, 0) + count
        result = run("report", "--json", "-q", recording.directory, "--from", iso(start), "--to", iso(end))
        self.assertEqual(self.counts(result), want)

    def test_two_outputs_of_one_interval_count_once(self):
        recording = self.recording(n=4)
        for path, _ in recording.files:
            for name in filter(lambda name: has_plugin("x" + name), (".pb.gz", ".json.gz")):
                self.assertEqual(run("convert", "-q", path, "-o", path.replace(".otlp.gz", name)).returncode, 0)
        start, end = START + 5 * SECOND, START + 22 * SECOND
        result = run("report", "--json", recording.directory, "--from", iso(start), "--to", iso(end))
        self.assertEqual((self.counts(result), result.stderr), (recording.expected(start, end, keeps_times), ""))
        result = run("report", "--json", recording.directory)
        self.assertTrue(result.stdout.startswith('{"profile": "' + recording.files[-1][0] + '"'), result.stdout[:200])

    def test_pictures_are_no_profiles(self):
        """What is written and not read again may lie beside them, and may be the newest."""
        if not has_plugin("x.svg"):
            self.skipTest("the plugin svg is not built")
        recording = self.recording(n=2)
        newest, times = recording.files[-1]
        self.assertEqual(run("convert", "-q", newest, "-o", newest.replace(".otlp.gz", ".svg")).returncode, 0)
        for place, words in ((recording.directory, []), (recording.directory, ["--from", "-1h"]), (".", [])):
            result = run("report", "--json", *(() if place == "." else (place,)), *words, cwd=recording.directory)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(sum(self.counts(result).values()), len(times) + (len(recording.files[0][1]) if words else 0))

    def test_both_sides_of_a_diff(self):
        """The times of one filter count from each directory's own end."""
        sides = [self.recording(n=n) for n in (5, 9)]
        result = run("diff", "--json", *(side.directory for side in sides), "--from", "-12s")
        self.assertEqual(result.returncode, 0, result.stderr)
        said = json.loads(result.stdout)
        for side, name in zip(sides, "ab"):
            self.assertEqual(said[name]["samples"],
                             sum(side.expected(side.end - 12 * SECOND, 2**64, keeps_times).values()))

    def test_a_file_cut_short_is_said(self):
        recording = self.recording(n=3)
        shutil.copy(recording.files[0][0], self.at("whole"))
        with open(self.at("whole"), "rb") as file:
            data = file.read()
        with open(recording.files[0][0], "wb") as file:
            file.write(data[:len(data) // 2])
        self.assertIn(recording.files[0][0], self.fails(1, "report", recording.directory, "--from", "1s"))


if __name__ == "__main__":
    unittest.main()

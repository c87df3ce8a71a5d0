#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the tests of a plan, and says how far it is: what scripts/test does when all is installed.

    run_tests.py BUILD WORD...      a build directory, which is made; words: as `suites.py plan` prints them

Two lanes go on at once. One compiles what unit, replay and fuzz tests need, under address and undefined-behaviour
sanitizers, in BUILD-sanitize, and runs these. The other compiles in BUILD the profiler, its plugins, and what the other
tests need. Live tests begin when both are done. Nothing is run twice, and each test has one try.

On a terminal one line says how far it is; elsewhere each step is a line when it ends. All that is printed is in
BUILD/test.log. After it come skips, the slowest tests, failures with what they printed, and
"N passed, N failed, N skipped". Exit status 1 when anything failed.
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
sys.path.insert(0, HERE)
import count_tests  # noqa: E402
import suites  # noqa: E402

ROOT = suites.ROOT
SANITIZE = ("-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1",    # compiles in half the time
            "-Dc_args=-g1", "-Dcpp_args=-g1")
NINJA = re.compile(r"^\[(\d+)/(\d+)\] ")
MESON = re.compile(r"^ *(\d+)/(\d+) .*? (OK|FAIL|SKIP|TIMEOUT|ERROR|INTERRUPT|EXPECTEDFAIL|UNEXPECTEDPASS) ")
PATIENCE = 5, 20    # times what meson.build allows a test, by default and with --full: other work may take the CPUs
LIVE_AT_ONCE = 2    # profilers: more would be most of what each of them sees
FUZZ_SECONDS = os.environ.get("EBPF_PROFILER_FUZZ_SECONDS", "60")
# Seconds that steps took by default on two idle CPUs: what the time left is estimated by, at first.
SECONDS = {"build-sanitize": 130, "build": 90, "unit": 100, "replay": 40, "fuzz": 20, "once": 40, "abi": 20, "live": 260,
           "runtimes": 40}


class Screen:
    """One line of a terminal that moves, or lines, and the log."""

    def __init__(self, log, weights):
        self.log, self.weights, self.done = log, weights, {name: 0.0 for name in weights}
        self.start, self.moves = time.monotonic(), sys.stderr.isatty()
        self.running, self.failed, self.lock = {}, 0, threading.Lock()

    def write(self, step, line):
        with self.lock:
            self.log.write(f"{step}: {line}\n")
            self.log.flush()

    def move(self, step, done, whole):
        with self.lock:
            if step in self.weights:
                self.done[step] = done / max(whole, 1)
            self.running[step] = f"{step} {done} of {whole}"
            if self.moves:
                width = shutil.get_terminal_size().columns - 1
                print("\r\033[K" + self.text()[:width], end="", file=sys.stderr, flush=True)

    def text(self):
        weight = sum(self.weights.values())
        share = sum(self.weights[name] * part for name, part in self.done.items()) / weight
        left = (time.monotonic() - self.start) * (1 - share) / share if share > 0.02 else weight
        failed = f", {self.failed} failed" if self.failed else ""
        return f"test: {', '.join(self.running.values())}{failed}; {100 * share:.0f} %, about {left / 60 + 0.5:.0f} min left"

    def say(self, text):
        with self.lock:
            print(("\r\033[K" if self.moves else "") + "test: " + text, file=sys.stderr, flush=True)
            self.log.write(f"test: {text}\n")

    def end(self, step, text):
        with self.lock:
            if step in self.weights:
                self.done[step] = 1.0
            self.running.pop(step, None)
        self.say(text)


class Run:
    """A plan under way."""

    def __init__(self, build, plan, screen, results):
        self.plan, self.screen, self.results = plan, screen, results
        self.plain, self.sanitized = build, build + "-sanitize"
        self.records, self.stopped = [], False

    def follow(self, step, command, **environment):
        """Runs a command, whose lines go to the log and say how far it is; its exit status, and how many tests failed."""
        failed = set()  # meson names them again in the end
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                              errors="replace", env=dict(os.environ, **environment)) as process:
            for line in process.stdout:
                self.screen.write(step, line.rstrip("\n"))
                found = NINJA.match(line) or MESON.match(line)
                if found:
                    if found.re is MESON and found[3] not in ("OK", "SKIP", "EXPECTEDFAIL") and found[1] not in failed:
                        failed.add(found[1])
                        self.screen.failed += 1
                    self.screen.move(step, int(found[1]), int(found[2]))
        return process.returncode, len(failed)

    def broken(self, step, why):
        """A step that made no record is a failure, with the last lines of the log."""
        path = os.path.join(self.results, step + ".txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{step}: failed ({why})\n")
        self.records.append(path)
        self.stopped = True
        self.screen.failed += 1

    def configure(self, directory, command):
        """Makes the build directory by this command; what meson says of it is of the source as it is now."""
        for step in command, ["ninja", "-C", directory, "build.ninja"]:
            status, _ = self.follow("configure", step)
            if status:
                self.broken("configure", f"{' '.join(step)}: see the log")
                return False
        return True

    def chosen(self, build, suite):
        """(tests, environment): of the suite as a whole, or of languages with all of their runtimes."""
        full = {"EBPF_PROFILER_TEST_FULL": "1"}
        if suite in self.plan.whole:
            tests, environment = build.tests_in(suite, self.plan.full), full if self.plan.full else {}
        elif suite in self.plan.partly:
            tests, environment = build.tests_in(suite, True, self.plan.names), full
        else:
            tests, environment = [], {}
        return tests, environment

    def compile(self, step, build):
        files = build.files_of([test for suite in suites.SUITES for test in self.chosen(build, suite)[0]])
        if not files:
            return True
        started = time.monotonic()
        status, _ = self.follow(step, ["ninja", "-C", build.directory, *files])
        self.screen.end(step, f"{step}: compiled in {time.monotonic() - started:.0f} s")
        if status:
            self.broken(step, f"exit status {status} of ninja: see the log")
        return not status

    def run_suite(self, step, build, suite):
        tests, environment = self.chosen(build, suite)
        if not tests:
            return
        names = [test["name"] for test in tests]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            self.broken(step, f"several tests are called {', '.join(twice)}: meson would run each as often")
            return
        started = time.monotonic()
        log = os.path.join(build.directory, "meson-logs/testlog.json")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(log)
        at_once = ["--num-processes", str(min(LIVE_AT_ONCE, os.cpu_count()))] * (suite == "live")
        _, failed = self.follow(
            step, ["meson", "test", "-C", build.directory, "--no-rebuild", "--no-stdsplit", "--print-errorlogs",
                   "--timeout-multiplier", str(PATIENCE[self.plan.full]), *at_once, *names], UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1", **environment)
        path = os.path.join(self.results, step + ".json")
        if os.path.exists(log):
            shutil.copy(log, path)
            self.records.append(path)
        else:
            self.broken(step, "meson left no record: see the log")
        self.screen.end(step, f"{step}: {len(tests)} tests in {time.monotonic() - started:.0f} s"
                        + (f", {failed} failed" if failed else ""))

    # --- lanes ---

    def sanitized_lane(self):
        is_made = os.path.exists(os.path.join(self.sanitized, "build.ninja"))
        if not self.configure(self.sanitized, ["true"] if is_made else ["meson", "setup", *SANITIZE, self.sanitized, ROOT]):
            return
        build = suites.Build(self.sanitized, True)
        if self.compile("build-sanitize", build):
            for suite in suites.SANITIZED:
                self.run_suite(suite, build, suite)

    def plain_lane(self):
        if not self.configure(self.plain, [os.path.join(ROOT, "scripts/build"), "--configure"]):
            return None
        build = suites.Build(self.plain, False)
        if not self.compile("build", build):
            return None
        self.run_suite("once", build, "unit")
        self.run_suite("abi", build, "abi")
        return build

    def fetch_runtimes(self):
        """One of each language, while others compile; live tests install what they need besides."""
        if "live" not in self.plan.whole or self.plan.full:
            return
        started = time.monotonic()
        self.follow("runtimes", [os.path.join(ROOT, "tests/runtimes/install"), "default"])
        self.screen.end("runtimes", f"runtimes: there in {time.monotonic() - started:.0f} s")

    def all(self):
        others = [threading.Thread(target=lane) for lane in (self.sanitized_lane, self.fetch_runtimes)]
        for other in others:
            other.start()
        build = self.plain_lane()
        for other in others:
            other.join()
        if build and not self.stopped:
            self.run_suite("live", build, "live")
        if self.plan.full and not self.stopped:
            self.long_ones()

    def long_ones(self):
        """What --full has besides: fuzz that is guided, other kernels, the service in a Debian that boots."""
        if "fuzz" in self.plan.whole:
            self.follow("fuzz-guided", [os.path.join(ROOT, "scripts/fuzz"), FUZZ_SECONDS])
            self.keep(self.plain + "-fuzz/meson-logs/testlog.json", "fuzz-guided.json")
        self.kernels("kernels")
        if self.plan.whole:     # all was built, and can be installed
            self.kernels("service", "--service")

    def kernels(self, step, *options):
        path = os.path.join(self.results, step + ".txt")
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run([os.path.join(ROOT, "scripts/kernels"), *options], stdout=file, stderr=self.screen.log, check=False)
        self.records.append(path)
        self.screen.end(step, f"{step}: done")

    def keep(self, log, name):
        path = os.path.join(self.results, name)
        if os.path.exists(log):
            shutil.copy(log, path)
        else:
            with open(path, "w", encoding="utf-8"):
                pass
        self.records.append(path)


def main(build, words):
    plan = suites.Plan.of_words(words)
    if not plan.whole and not plan.partly:
        print("0 passed, 0 failed, 0 skipped")
        return 0
    os.makedirs(build, exist_ok=True)
    path = os.path.join(build, "test.log")
    with open(path, "w", encoding="utf-8") as log, tempfile.TemporaryDirectory() as results:
        wanted = {*plan.whole, *plan.partly}
        steps = {*wanted, "build", *(["build-sanitize"] if wanted & {*suites.SANITIZED} else []),
                 *(["once"] if "unit" in wanted else []), *(["runtimes"] if "live" in plan.whole else [])}
        screen = Screen(log, {step: seconds for step, seconds in SECONDS.items() if step in steps})
        run = Run(build, plan, screen, results)
        run.all()
        status = count_tests.print_all(run.records, path)
    return status


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print(__doc__)
        sys.exit(2)
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
    except KeyboardInterrupt:
        print("\ntest: stopped", file=sys.stderr)
        sys.exit(130)

# SPDX-License-Identifier: Apache-2.0
"""What the tests with peers share: certificates, running otlp_send, judging what arrived."""
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

SKIP = 77
FAST = {"jitter": "0s", "retry_initial": "50ms", "retry_max": "200ms", "timeout": "3s",
        "flush_timeout": "6s"}


class Failure(Exception):
    pass


def skip(why):
    print(f"skip: {why}")
    sys.exit(SKIP)


def run(*command, **kwargs):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **kwargs)


def make_certs(directory):
    """ca.pem; server (localhost, 127.0.0.1), expired, other (another name), client: .pem, .key."""
    if not shutil.which("openssl"):
        skip("no openssl command")
    os.makedirs(directory, exist_ok=True)

    def at(name):
        return f"{directory}/{name}"

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for ca in ("ca", "stranger"):
        run("openssl", "req", "-x509", *key, "-keyout", at(ca + ".key"), "-out", at(ca + ".pem"),
            "-days", "2", "-subj", f"/CN=test {ca}")
    names = {"server": "DNS:localhost,IP:127.0.0.1", "expired": "DNS:localhost,IP:127.0.0.1",
             "other": "DNS:other.example.com", "client": "DNS:client.example.com"}
    for name, alternative in names.items():
        run("openssl", "req", *key, "-keyout", at(name + ".key"), "-out", at(name + ".csr"),
            "-subj", f"/CN={name}")
        with open(at(name + ".ext"), "w") as file:
            file.write(f"subjectAltName={alternative}\n")
        days = "-1" if name == "expired" else "2"
        run("openssl", "x509", "-req", "-in", at(name + ".csr"), "-CA", at("ca.pem"), "-CAkey",
            at("ca.key"), "-CAcreateserial", "-days", days, "-extfile", at(name + ".ext"),
            "-out", at(name + ".pem"))
    return directory


class Result:
    """What otlp_send printed, and its log."""

    def __init__(self, process):
        self.status = process.returncode
        self.log = process.stderr
        self.numbers = {}
        for line in process.stdout.splitlines():
            name, number = line.split()
            self.numbers[name] = int(number)

    def __getattr__(self, name):
        try:
            return self.numbers[name]
        except KeyError:
            raise Failure(f"exit {self.status}, no {name}: {self.log}") from None

    def says(self, text):
        if text not in self.log:
            raise Failure(f"the log does not say {text!r}:\n{self.log}")

    def is_quiet_about(self, text):
        if text in self.log:
            raise Failure(f"the log says {text!r}:\n{self.log}")

    def expect(self, says="", **wanted):
        """says: and in the log."""
        for name, number in wanted.items():
            if getattr(self, name) != number:
                raise Failure(f"{name} is {getattr(self, name)}, not {number}:\n{self.numbers}\n"
                              f"{self.log}")
        self.says(says)

    def stays_below(self, kb):
        """Memory; with a sanitizer it says nothing."""
        if not self.sanitized and self.rss_kb > kb:
            raise Failure(f"{self.rss_kb} kB of memory")

    def all_arrived(self, **wanted):
        self.expect(accepted_events=self.exported_events, dropped_events=0, refused_events=0, **wanted)


class Bench:
    """A directory for one test, the programs under test, and the cases."""

    def __init__(self, send, check):
        self.send_program, self.check_program = send, check
        self.directory = tempfile.mkdtemp(prefix="ep-otlp-")
        self.cases = []

    def send(self, endpoint, *flags, case="none", mode="accept", extra_headers="", env=None,
             status=None, **options):
        headers = f"x-case={case},x-mode={urllib.parse.quote(mode, safe='')}{extra_headers}"
        options = {**FAST, "endpoint": endpoint, "headers": headers, **options}
        pairs = [f"{key}={value}" for key, value in options.items() if value is not None]
        process = subprocess.run([self.send_program, *flags, *pairs], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, universal_newlines=True, timeout=60,
                                 env=env)
        wanted = (0, 3) if status is None else (status,)
        if process.returncode not in wanted or "Sanitizer" in process.stderr:
            raise Failure(f"exit {process.returncode}: {process.stderr}")
        return Result(process)

    def events_of(self, case, *flags):
        """Samples in what arrived, which the checker must find faultless."""
        files = sorted(glob.glob(f"{self.directory}/{case}/*.bin"))
        if not files:
            return 0
        process = subprocess.run([self.check_program, *flags, *files], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, universal_newlines=True)
        if process.returncode:
            raise Failure(process.stdout)
        return int(process.stdout.split(" samples, ")[1].split()[0])

    def case(self, function):
        self.cases.append(function)
        return function

    def run(self, workers=4):
        """Runs all cases, a few at once; exits with 1 if one failed."""
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            started = {pool.submit(self.time_one, case): case for case in self.cases}
            for future in concurrent.futures.as_completed(started):
                name, error = started[future].__name__, future.exception()
                if error is None:
                    print(f"ok   {name} {future.result():.1f} s")
                    continue
                failed += 1
                print(f"FAIL {name}: {error}")
                if not isinstance(error, Failure):
                    traceback.print_exception(type(error), error, error.__traceback__)
        shutil.rmtree(self.directory, ignore_errors=True)
        print(f"{len(self.cases)} cases, {failed} failed")
        return 1 if failed else 0

    @staticmethod
    def time_one(case):
        started = time.monotonic()
        case()
        return time.monotonic() - started

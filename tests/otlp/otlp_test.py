# SPDX-License-Identifier: Apache-2.0
"""What the tests with peers share: certificates, running otlp_send, judging what it says."""
import concurrent.futures
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

SKIP = 77
# Long, because machines are busy: nothing that goes well waits for these.
FAST = {"jitter": "0s", "retry_initial": "50ms", "retry_max": "200ms", "timeout": "20s",
        "flush_timeout": "40s"}


class Failure(Exception):
    pass


def must(condition, what):
    if not condition:
        raise Failure(what)


def skip(why):
    print(f"skip: {why}")
    sys.exit(SKIP)


def need(module, package):
    """A module that may be there for Debian's python3 alone."""
    try:
        return importlib.import_module(module)
    except ImportError:
        if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
            sys.stdout.flush()
            os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
        return skip(f"{package} is not installed")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def make_certs(directory):
    """ca.pem, stranger.pem; server (localhost, 127.0.0.1), expired, other (another name), client:
    .pem, .key."""
    if not shutil.which("openssl"):
        skip("no openssl command")
    os.makedirs(directory, exist_ok=True)
    at = directory + "/"
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for ca in ("ca", "stranger"):
        run("openssl", "req", "-x509", *key, "-keyout", at + ca + ".key", "-out", at + ca + ".pem",
            "-days", "2", "-subj", f"/CN=test {ca}")
    names = {"server": "DNS:localhost,IP:127.0.0.1", "expired": "DNS:localhost,IP:127.0.0.1",
             "other": "DNS:other.example.com", "client": "DNS:client.example.com"}
    for name, alternative in names.items():
        run("openssl", "req", *key, "-keyout", at + name + ".key", "-out", at + name + ".csr",
            "-subj", f"/CN={name}")
        with open(at + name + ".ext", "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={alternative}\n")
        signing = ("openssl", "x509", "-req", "-in", at + name + ".csr", "-CA", at + "ca.pem", "-CAkey", at + "ca.key",
                   "-CAcreateserial", "-extfile", at + name + ".ext", "-out", at + name + ".pem")
        if name != "expired":
            run(*signing, "-days", "2")
        elif subprocess.run([*signing, "-days", "-1"], capture_output=True, check=False).returncode:    # 3.4 on
            run(*signing, "-not_before", "20200101000000Z", "-not_after", "20200102000000Z")
    return directory


class Result:
    """What otlp_send printed, and its log."""

    def __init__(self, process):
        self.status, self.log = process.returncode, process.stderr
        self.numbers = {name: int(number) for name,
                        number in map(str.split, process.stdout.splitlines())}

    def __getattr__(self, name):
        try:
            return self.numbers[name]
        except KeyError:
            raise Failure(f"exit {self.status}, no {name}: {self.log}") from None

    def expect(self, says="", **wanted):
        """says: in the log."""
        for name, number in wanted.items():
            must(getattr(self, name) == number,
                 f"{name} is {getattr(self, name)}, not {number}:\n{self.numbers}\n{self.log}")
        must(says in self.log, f"the log does not say {says!r}:\n{self.log}")
        return self

    def says_once(self, text):
        must(self.log.count(text) == 1,
             f"{text!r} is there {self.log.count(text)} times:\n{self.log}")

    def stays_below(self, kb):
        """Memory; with a sanitizer it says nothing."""
        must(self.sanitized or self.rss_kb <= kb, f"{self.rss_kb} kB of memory")

    def uses_below(self, cpu_us):
        must(self.cpu_us < cpu_us, f"{self.cpu_us} us of CPU: it spins")

    def all_arrived(self, says="", **wanted):
        return self.expect(says, accepted_events=self.exported_events, dropped_events=0,
                           refused_events=0, **wanted)


class Bench:
    """A directory for one test, the program under test, and the cases."""

    def __init__(self, program):
        self.program = program
        self.directory = tempfile.mkdtemp(prefix="ep-otlp-")
        self.cases = []

    def send(self, endpoint, *flags, env=None, status=(0, 3), **options):
        options = {**FAST, "endpoint": endpoint, "headers": "x-case=none", **options}
        pairs = [f"{key}={value}" for key, value in options.items() if value is not None]
        process = subprocess.run([self.program, *flags, *pairs], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE,
                                 universal_newlines=True, timeout=100, env=env, check=False)
        if process.returncode not in status or "Sanitizer" in process.stderr:
            raise Failure(f"exit {process.returncode}: {process.stderr}")
        return Result(process)

    def case(self, function):
        self.cases.append((function.__name__, function))
        return function

    def run(self, workers=4):
        """Runs all cases, a few at once; exits with 1 if one failed."""
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            started = {pool.submit(self.time_one, case): name for name, case in self.cases}
            for future in concurrent.futures.as_completed(started):
                name, error = started[future], future.exception()
                if error is None:
                    print(f"ok   {name} {future.result():.1f} s")
                    continue
                failed += 1
                print(f"FAIL {name}: {error}")
                if not isinstance(error, (Failure, AssertionError)):
                    traceback.print_exception(type(error), error, error.__traceback__)
        shutil.rmtree(self.directory, ignore_errors=True)
        print(f"{len(self.cases)} cases, {failed} failed")
        return 1 if failed else 0

    @staticmethod
    def time_one(case):
        started = time.monotonic()
        case()
        return time.monotonic() - started

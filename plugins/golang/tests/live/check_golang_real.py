#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles programs that are written in Go, and says what share of their stacks is whole, and of their frames has a
name and a line.

    check_golang_real.py [--bars] [--only REGEX] [--seconds N] [--keep DIRECTORY] [--no-install] [--tries N]

caddy (files, compressed, and templates) and prometheus (which watches itself), asked over the loopback; gopls, as it
checks its own language's packages; hugo, which calls C; and `go build` with nothing built before: some hundred
processes of compiler, assembler and linker. They are Debian's, with its Go (tests/runtimes/install -l golang
golang1.24 golang-programs). --seconds are of CPU time. Without --bars a share may be a point below its bar.
Exit status: 0, 1 when one is below, 77 when there is none or this machine cannot profile.
"""
import collections
import dataclasses
import glob
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True  # this is a source tree
TESTS = os.path.realpath(os.path.join(HERE, "..", "..", "..", "..", "tests"))
sys.path[:0] = [HERE, os.path.join(TESTS, "live"), os.path.join(TESTS, "runtimes")]
import judge_go  # noqa: E402
import runs  # noqa: E402
import runtimes  # noqa: E402
import stacks  # noqa: E402
from runs import Failed, Skipped  # noqa: E402

THRESHOLD = 99.5        # percent of samples
SLACK = 1.0
LINES_BAR = 99.5        # percent of Go's frames that have a name and a line
FREQUENCY = 499
FEWEST = 500
WALL = 30               # times the CPU time that is asked for, at most
GROUPS = "golang1.24", "golang-programs"
ROOT = os.path.join(runtimes.CACHE, "trixie")
GOROOT = "/usr/lib/go-1.24"
PORT = 18299            # and the next one
LOADED = "golang: unwinder loaded"
COMMANDS = {"go", "compile", "asm", "link", "cgo", "vet", "buildid", "pack"}
CADDYFILE = """{{
	admin off
	auto_https off
}}
http://127.0.0.1:{port} {{
	root * {directory}/files
	encode gzip
	templates
	file_server browse
}}
"""
PAGE = """<title>{{.Req.URL.Path}}</title>
{{range $i := splitList "," "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"}}<p class="{{$i}}">{{$i | upper | repeat 20}}</p>
{{end}}{{markdown "# Some\\n\\n* text\\n* *and* `more`\\n"}}
"""
PROMETHEUS = """global:
  scrape_interval: 100ms
  evaluation_interval: 100ms
scrape_configs:
  - job_name: self
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""
QUERY = "/api/v1/query_range?query=sum(rate({{__name__=~%22.%2B%22}}[5s]))%20by%20(job)&start={0}&end={1}&step=1"
POST = """---
title: Number {n}
date: 2024-01-{day:02}
tags: [t{tag}, all]
---
# It has *{n}* words

""" + 8 * """Some **text** with [a link](https://example.org/) and `code`.

```go
func main() {{ println({n}) }}
```

"""
LAYOUTS = {
    "_default/single.html": "<h1>{{.Title}}</h1>{{.Content}}{{range .Params.tags}}<b>{{.}}</b>{{end}}",
    "_default/list.html": """{{range .Pages.ByTitle}}<a href={{.Permalink}}>{{.Title | markdownify}}</a>{{.Summary}}
{{end}}""",
}


@dataclasses.dataclass
class Case:
    name: str


# --- programs: each gives what is run, and who asks it ---------------------------------------------

def inside(directory, *words):
    """The command that runs these words in the root file system."""
    settings = ["HOME=" + directory, f"PATH={GOROOT}/bin", "GOTOOLCHAIN=local", "GOFLAGS=", "GOENV=off", "GOPROXY=off",
                "CGO_ENABLED=0", "GOCACHE=" + directory + "/cache", "GOPATH=" + directory + "/path"]
    return [sys.executable, runtimes.ENTER, "chroot", ROOT, directory, *settings, *words]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def program_caddy(directory):
    write(directory + "/Caddyfile", CADDYFILE.format(port=PORT, directory=directory))
    write(directory + "/files/page.html", PAGE)
    write(directory + "/files/text.txt", "".join(f"line {n * n} of many\n" for n in range(8000)))
    return inside(directory, "/usr/bin/caddy", "run", "--adapter", "caddyfile", "--config", directory + "/Caddyfile")


def program_prometheus(directory):
    write(directory + "/prometheus.yml", PROMETHEUS.format(port=PORT))
    return inside(directory, "/usr/bin/prometheus", f"--config.file={directory}/prometheus.yml", "--log.level=error",
                  f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{PORT}")


def program_gopls(directory):
    files = [path[len(ROOT):] for path in glob.glob(f"{ROOT}/usr/share/go-1.24/src/net/http/*.go")]
    return inside(directory, "/usr/bin/gopls", "check",
                  *[path.replace("/usr/share/go-1.24", GOROOT) for path in sorted(files)[:20]])


def program_hugo(directory):
    for name, text in LAYOUTS.items():
        write(f"{directory}/site/layouts/{name}", text)
    write(directory + "/site/hugo.toml", 'baseURL = "https://example.org/"\n')
    for n in range(600):
        write(f"{directory}/site/content/posts/p{n}.md", POST.format(n=n, day=n % 28 + 1, tag=n % 17))
    return inside(directory, "/usr/bin/hugo", "--quiet", "-s", directory + "/site", "-d", directory + "/out")


def program_build(directory):
    return inside(directory, GOROOT + "/bin/go", "build", "-o", directory + "/built", "cmd/go")


PROGRAMS = {name[8:]: fn for name, fn in globals().items() if name.startswith("program_")}


# --- what is asked of servers ----------------------------------------------------------------------

def request_caddy(number):
    return ("/page.html", "/text.txt", "/")[number % 3], {"Accept-Encoding": "gzip"}


def request_prometheus(number):
    now = int(time.time())
    return (QUERY.format(now - 30, now) if number % 4 else "/metrics"), {"Accept-Encoding": "gzip"}


REQUESTS = {name[8:]: fn for name, fn in globals().items() if name.startswith("request_")}


def ask(name, connection, number):
    """An answer, or none yet."""
    path, headers = REQUESTS[name](number)
    try:
        connection.request("GET", path, headers=headers)
        return bool(connection.getresponse().read())
    except (OSError, http.client.HTTPException):
        connection.close()
        time.sleep(0.1)
        return False


def cpu_seconds(pid):
    """Of the process and those children of it that have ended."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def drive(name, seconds, command):
    """Runs the command until it has used so much CPU time: as a server that is asked, else again when it has ended."""
    limit, used, answers = time.monotonic() + WALL * seconds, 0, 0
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
    while used < seconds and time.monotonic() < limit:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              start_new_session=True) as process:
            now = 0
            while used + now < seconds and time.monotonic() < limit and process.poll() is None:
                now = cpu_seconds(process.pid)
                if name in REQUESTS:
                    answers += ask(name, connection, answers)
                else:
                    time.sleep(0.05)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            elif process.returncode:
                return 1
            used += max(now, 0.05)
    print(f"{answers} answers, {used:.1f} s of CPU time")
    return 0 if answers or name not in REQUESTS else 1


# --- judging ---------------------------------------------------------------------------------------

def of_go(samples, done):
    """Those of processes that run Go; not what was before they were executed."""
    files = COMMANDS | {*PROGRAMS, "promtool"}
    own = [s for s in runs.not_of_sleeper(samples, done) if not runs.is_starter(s)]
    ids = {s.labels.get("pid") for s in own if any(frame.file in files for frame in s.frames)}
    return [s for s in own if s.labels.get("pid") in ids], files


def why_not_whole(frames):
    why = stacks.why_incomplete([*frames, stacks.LineFrame("_start", "")])
    if not why and frames and not (judge_go.ROOTS.match(frames[-1].name) or stacks.is_root(frames[-1]) or
                                   stacks.is_kernel(frames[-1]) or frames[-1].name == "runtime.clone"):
        return stacks.NO_ROOT + ": " + frames[-1].name
    return why


class Found:
    """What the samples of a program say."""

    def __init__(self, samples, files):
        self.samples, self.processes = sum(s.count for s in samples), len({s.labels.get("pid") for s in samples})
        self.reasons, self.examples = collections.Counter(), {}
        self.kinds, self.odd = collections.Counter(), collections.Counter()
        for sample in samples:
            why = why_not_whole(sample.frames)
            if why:
                self.reasons[why] += sample.count
                self.examples.setdefault(why, sample.frames)
            for frame in sample.frames:
                self.add(frame, sample.count, files)

    def add(self, frame, count, files):
        """C of the same file has names, and no lines: its functions' names have no dots."""
        if frame.file not in files:
            return
        is_named = not re.match("0x|.*[+]0x", frame.name)
        kind = "line" if is_named and frame.line else "C" if is_named and not re.search(r"[./]", frame.name) else "none"
        self.kinds[kind] += count
        if kind == "none":
            self.odd[f"{frame.name} ({frame.file})"] += count

    def whole(self):
        return 100 - 100 * sum(self.reasons.values()) / max(1, self.samples)

    def lines(self):
        return 100 * self.kinds["line"] / max(1, self.kinds["line"] + self.kinds["none"])

    def show(self, name):
        print(f"  {name:10} {self.samples:6} samples of {self.processes} processes, {self.whole():6.2f} % whole; "
              f"{self.lines():6.2f} % of Go's frames have a name and a line")
        for reason, count in self.reasons.most_common(8):
            print(f"    {100 * count / self.samples:6.2f} %  {reason}\n              "
                  f"{judge_go.Judge.text_of(self.examples[reason])}")
        for text, count in self.odd.most_common(6):
            print(f"    {count:6} frames  {text}")


def measure(name, options, directory):
    path = os.path.join(options.keep or directory, name + ".pb.gz")
    work = os.path.join(directory, name)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    command = [sys.executable, os.path.realpath(__file__), "--drive", name, str(options.seconds), *PROGRAMS[name](work)]
    sleeper = inside(work, "/usr/bin/caddy", "respond", "--listen", f"127.0.0.1:{PORT + 1}")
    done = runs.record(command, path, runs.environment("GO"), FREQUENCY, 120 + WALL * options.seconds, sleeper, LOADED)
    if done.returncode:
        raise Failed(f"exit status {done.returncode}: {done.stdout[-300:]} {done.stderr[-1000:]}")
    found = Found(*of_go(stacks.read_profile(path, stacks.LineProfile).samples, done))
    found.show(name)
    if found.samples < FEWEST:
        raise Failed(f"{found.samples} samples are too few to tell: {done.stdout[-300:]} {done.stderr[-500:]}")
    if found.whole() < THRESHOLD - (0 if options.bars else SLACK):
        raise Failed(f"{found.whole():.2f} % of {name}'s stacks are whole")
    if found.lines() < LINES_BAR:
        raise Failed(f"{found.lines():.2f} % of {name}'s frames have a name and a line")


def prepare(options, directory):
    if not os.path.exists(ROOT + "/usr/bin/hugo") or not os.path.exists(ROOT + GOROOT + "/bin/go"):
        raise Skipped("skip: no programs: tests/runtimes/install -l golang " + " ".join(GROUPS))
    return [Case(name) for name in PROGRAMS], lambda case: measure(case.name, options, directory)


def main(arguments):
    if arguments[:1] == ["--drive"]:
        return drive(arguments[1], float(arguments[2]), arguments[3:])
    parser = runs.parser()
    parser.add_argument("--bars", action="store_true", help="no slack below a bar, and one try")
    options = parser.parse_args(arguments)
    options.seconds = options.seconds or 6
    options.tries = 1 if options.bars else options.tries
    if not options.no_install and os.geteuid() == 0:
        subprocess.run([runs.INSTALL, "-l", "golang", *GROUPS], check=False)
    options.no_install = True   # check_golang.py's are not needed
    return runs.main(options, "golang", lambda directory: prepare(options, directory))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0
"""The live check of a language's real programs: what share of their stacks is whole, and what their frames say.

A Programs is a Check (language.py) whose runs are programs by name, and nothing is known of their stacks: they are
judged by why_not_whole() and kind_of().
"""
import collections
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import counting
import language
import runs
import stacks
from language import Failed

WALL = 30       # times the CPU time that is asked for, at most


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def named(module, prefix="program_"):
    """{NAME: function} of those that are called program_NAME."""
    return {name.removeprefix(prefix): fn for name, fn in module.items() if name.startswith(prefix)}


# --- what runs for so long, and is asked meanwhile ------------------------------------------------

def driven(command, seconds, of_cpu=True, port=0, paths=(), headers=()):
    """
    The command that runs it until it has used so many seconds of CPU time, or of all time: as a server that is asked for
    these paths in turn ({0}, {1}: half a minute ago, now), else again when it has ended.
    """
    return [sys.executable, os.path.realpath(__file__), json.dumps([seconds, of_cpu, port, paths, dict(headers)]), *command]


def cpu_seconds(pid):
    """Of the process and those children of it that have ended."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def ask(connection, path, headers):
    """An answer, or none yet."""
    now = int(time.time())
    try:
        connection.request("GET", path.format(now - 30, now), headers=headers)
        return bool(connection.getresponse().read())
    except (OSError, http.client.HTTPException):
        connection.close()
        time.sleep(0.1)
        return False


def drive(command, seconds, of_cpu, port, paths, headers):
    limit, used, answers = time.monotonic() + seconds * (WALL if of_cpu else 1), 0, 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    while used < seconds and time.monotonic() < limit:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              start_new_session=True) as process:
            now = 0
            while used + now < seconds and time.monotonic() < limit and process.poll() is None:
                now = cpu_seconds(process.pid) if of_cpu else 0
                if paths:
                    answers += ask(connection, paths[answers % len(paths)], headers)
                else:
                    time.sleep(0.05)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            elif process.returncode:
                return 1
            used += max(now, 0.05)
    print(f"{answers} answers, {used:.1f} s of CPU time")
    return 0 if answers or not paths else 1


# --- judging --------------------------------------------------------------------------------------

Case = collections.namedtuple("Case", "name")


class Found:
    """What the samples of a program say."""

    def __init__(self, samples, why_not_whole, kind_of):
        """kind_of(frame): "" for what is not counted; one that begins with "no " is odd, and shown."""
        self.samples, self.processes = sum(s.count for s in samples), len({s.labels.get("pid") for s in samples})
        self.reasons, self.examples = collections.Counter(), {}
        self.frames, self.having, self.odd = (collections.Counter() for _ in range(3))
        for sample in samples:
            why = why_not_whole(sample.frames)
            if why:
                self.reasons[why] += sample.count
                self.examples.setdefault(why, sample.frames)
            kinds = [kind_of(frame) for frame in sample.frames]
            for frame, kind in zip(sample.frames, kinds):
                self.frames[kind] += sample.count
                if kind.startswith("no "):
                    self.odd[f"{frame.name} ({frame.file or frame.source}): {kind}"] += sample.count
            for kind in set(filter(None, kinds)):
                self.having[kind] += sample.count
            self.having["any"] += sample.count * any(kinds)

    def whole(self):
        """Percent of the samples."""
        return 100 - 100 * sum(self.reasons.values()) / max(1, self.samples)

    def with_kind(self, kind="any"):
        return 100 * self.having[kind] / max(1, self.samples)

    def misses(self, percent, bar):
        """Whether a share of the samples is below its bar by more than their number explains."""
        return counting.is_missed(round(self.samples * (100 - percent) / 100), self.samples, bar)

    def share(self, kind, *kinds):
        """Percent of the frames of these kinds."""
        return 100 * self.frames[kind] / max(1, sum(self.frames[other] for other in {kind, *kinds}))


class Programs(language.Check):
    programs = {}       # {name: function of self and a directory that gives the command}
    threshold = 99.0    # percent of samples
    fewest = 200
    ends_well = True    # exit status 0
    wall = 300          # seconds, at most
    seconds = 6, 6
    groups = ()

    def cases(self):
        return map(Case, self.programs)

    def default_cases(self):
        return self.cases()

    def inside(self, directory):
        """The command of a runtime that sleeps."""
        raise NotImplementedError

    def why_not_whole(self, frames):
        return stacks.why_incomplete(frames)

    def kind_of(self, frame):
        return ""

    def own(self, samples):
        """Those of processes that run the language."""
        return samples

    def text_of(self, frames):
        raise NotImplementedError

    def figures(self, found):
        """What is said of a program, in words."""
        return f"{found.with_kind():6.2f} % with frames of the language"

    def lacking_in(self, found):
        """What is wrong besides the share of whole stacks."""
        return ()

    def record(self, case):
        work = os.path.join(self.directory, case.name)
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        command = self.programs[case.name](self, work)
        profile, done = self.language.record(command, self.path_of(case.name), self.frequency, self.wall,
                                             sleeper=self.inside(work))
        if done.returncode and self.ends_well:
            raise Failed(f"exit status {done.returncode}: {done.stdout[-300:]} {done.stderr[-1000:]}")
        return language.Run(case, None, profile, done)

    def check(self, run):
        samples = [s for s in runs.not_of_sleeper(run.profile.samples, run.done) if not runs.is_starter(s)]
        found = Found(self.own(samples), self.why_not_whole, self.kind_of)
        print(f"  {run.case.name:12} {found.samples:6} samples of {found.processes} processes, {found.whole():6.2f} % whole; "
              f"{self.figures(found)}")
        for reason, count in found.reasons.most_common(8):
            print(f"    {100 * count / found.samples:6.2f} %  {reason}\n              "
                  f"{self.text_of(found.examples[reason])}")
        for text, count in found.odd.most_common(6):
            print(f"    {count:6} frames  {text}")
        problems = list(self.lacking_in(found))
        if found.samples < self.fewest:
            problems.append(f"{found.samples} samples are too few to tell: {run.text[-300:]} {run.done.stderr[-500:]}")
        if found.misses(found.whole(), self.threshold):
            problems.append(f"{found.whole():.2f} % of {run.case.name}'s stacks are whole")
        if problems:
            raise Failed("; ".join(problems))


if __name__ == "__main__":
    sys.exit(drive(sys.argv[2:], *json.loads(sys.argv[1])))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that are short, new, forked or ending: are their stacks whole, and booked on the right program?

    check_short.py CASE DIRECTORY       the programs are in DIRECTORY; --list names the cases

Where the profiler is comes from EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR. Each case is a function
`case_NAME` below that runs something for a few seconds and returns what is wrong, in words. What whole means
is in judge.py. Exit status: 0 right, 1 something is wrong, 77 this machine cannot profile.
"""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time

TESTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "kit"), os.path.join(TESTS, "otlp")]
import counting  # noqa: E402
import refused_calls  # noqa: E402
import judge  # noqa: E402
import otlp_rows  # noqa: E402
import passes  # noqa: E402
import runs  # noqa: E402
import server  # noqa: E402
import stacks  # noqa: E402

SKIP = 77
FREQ = 499
FUNCTIONS = dict.fromkeys(("short_leaf", "short_middle", "short_burn"), "shortlived")
BINARY = os.environ.get("EBPF_PROFILER_BINARY", "")


class Case:
    """A directory for its files, where the programs are, and what was found wrong."""

    def __init__(self, directory, programs):
        self.directory, self.programs, self.wrong = directory, programs, []

    def program(self, name):
        return os.path.join(self.programs, name)

    def expect(self, condition, text):
        if not condition:
            self.wrong.append(text)

    def expect_whole(self, what, samples, percent, rooted=(), at_least=100):
        tally = judge.Tally(rooted).add(samples)
        print(f"{what}: {tally.all} samples, {tally.percent:.2f} % whole, at least {percent} wanted")
        for why, count in tally.reasons.most_common():
            print(f"  {count}: {why}: {judge.text_of(tally.examples[why])}")
        for state, count in tally.states.items():
            print(f"  {count} with {state}")
        self.expect(tally.all >= at_least, f"{what}: only {tally.all} samples")
        self.expect(not counting.is_missed(tally.all - tally.whole, tally.all, percent),
                    f"{what}: {tally.percent:.2f} % whole, not {percent}")
        return tally

    def expect_right_image(self, samples, programs):
        for kind, wrong in programs.wrong_images(samples).items():
            print(f"on the wrong image, by {kind}: {sum(wrong.values())}")
            for what, count in wrong.most_common(5):
                print(f"  {count}: {what}")
            self.expect(not wrong, f"{sum(wrong.values())} samples on the wrong image, by {kind}")


def count_of(samples):
    return sum(sample.count for sample in samples)


def has(sample, *names):
    return any(stacks.bare(frame.name) in names for frame in sample.frames)


# --- cases -----------------------------------------------------------------------------------------

def case_image(case):
    """dash starts a 10 ms program over and over."""
    body = passes.again(60, case.program("shortlived") + " 10")
    session = passes.record(FREQ, body, 6, case.directory)
    programs = judge.Programs({**judge.SHELLS, "shortlived": {"shortlived"}}, FUNCTIONS)
    case.expect_whole("after the first second", session.later, 99, ("shortlived",), 1000)
    case.expect_right_image(session.own, programs)


def case_exec(case):
    """A program that executes itself: most of its time is exec and start, under one pid."""
    profile, _, text = passes.run_record(FREQ, [case.program("reexec"), "5"], case.directory)
    samples = passes.Session(profile.samples, [], None, text).own
    tally = case.expect_whole("a program that executes itself", samples, 99, ("reexec",), 500)
    case.expect(tally.states["[exec]"] > tally.all / 100,
                f"{tally.states['[exec]']} of {tally.all} samples have [exec]")
    case.expect(not tally.states["[exit]"] or tally.states["[exit]"] < tally.all / 100,
                f"{tally.states['[exit]']} samples have [exit], but there was one exit")


def case_exit(case):
    """Programs that leave 200 MB for the kernel to free."""
    command = [sys.executable, "-c", passes.MEASURED, "sh", "-c", passes.again(16, case.program("bigexit") + " 200")]
    profile, out, text = passes.run_record(FREQ, command, case.directory)
    session = passes.Session(profile.samples, [], passes.pids_of("DRIVER", out)[0], text)
    own = [s for s in session.own if s.labels.get("thread_name") == "bigexit"]
    freeing = [s for s in own if has(s, "exit_mmap")]
    seconds, pieces = stacks.used_by(out)
    started = sum(s.weight_ns for s in session.first) / 1e9 * FREQ  # the shell as well, and before an exec
    print(f"{count_of(own)} samples of bigexit, {count_of(freeing)} in exit_mmap; {started:.0f} of all that was "
          f"started, {profile.lost} lost, {seconds * FREQ:.0f} expected from its CPU time in {pieces} pieces")
    case.expect(not counting.is_few(round(started) + profile.lost, 0.99 * seconds * FREQ, pieces),
                "CPU time is missing")
    # To get a page costs five times as much in some virtual machines, to give it back as much as elsewhere.
    case.expect(count_of(freeing) > 0.005 * count_of(own), "the time in exit_mmap is missing")
    case.expect(all(s.labels.get("comm") == "bigexit" for s in freeing),
                f"exit_mmap is booked on {sorted({str(s.labels.get('comm')) for s in freeing})}")
    for sample in [s for s in freeing if s.frames[-1].name != "[exit]"][:1]:
        case.expect(False, f"exit_mmap without [exit]: {judge.text_of(sample)}")
    case.expect_whole("bigexit", own, 99, ("bigexit",))


def case_fork(case):
    """Children without an exec burn in one function, their parent in another."""
    profile, out, text = passes.run_record(FREQ, [case.program("forkonly"), "5"], case.directory)
    parent = passes.pids_of("PARENT", out)[0]
    samples = passes.Session(profile.samples, [], None, text).own
    children = [s for s in samples if s.labels["pid"] != parent]
    of_parent = [s for s in samples if s.labels["pid"] == parent]
    mixed = ([s for s in children if has(s, "parent_only", "parent_leaf")]
             + [s for s in of_parent if has(s, "child_only", "child_leaf")])
    for sample in mixed[:5]:
        print(f"  mixed: {judge.text_of(sample)}")
    case.expect(not mixed, f"{count_of(mixed)} samples of parent and child are mixed")
    burning = count_of(s for s in children if has(s, "child_leaf"))
    print(f"{burning} of {count_of(children)} samples of children are in child_leaf")
    # They burn 5 ms; to be forked and to end takes another 5 where page faults are expensive.
    case.expect(burning > 0.35 * count_of(children), "children are not where they burn")
    case.expect_whole("children", children, 99, ("forkonly",), 300)
    case.expect_whole("the parent", of_parent, 99, ("forkonly",), 300)


def case_vfork(case):
    """vfork and exec, vfork and exit: the child runs on its parent's stack."""
    command = [case.program("vforks"), "5", case.program("nothing")]
    profile, _, text = passes.run_record(FREQ, command, case.directory)
    samples = passes.Session(profile.samples, [], None, text).own
    programs = judge.Programs({"vforks": {"vforks"}, "nothing": {"nothing"}})
    for name, percent in (("vforks", 99.5), ("nothing", 99)):
        own = [s for s in samples if s.labels.get("thread_name") == name]
        case.expect_whole(name, own, percent, (name,))
    case.expect_right_image(samples, programs)


CONFIG = """
[sampling]
freq = 199
[plugins]
enable = ["otlp"]
[[exporter]]
type = "otlp"
interval = "1s"
endpoint = "{url}"
protocol = "http/protobuf"
"""


@contextlib.contextmanager
def sampling(case, *options):
    """The profiler, once it samples; ended by SIGTERM, so that what it has is exported."""
    log = os.path.join(case.directory, "log")
    with open(log, "wb") as out:
        proc = subprocess.Popen([BINARY, *options], stderr=out, stdin=subprocess.DEVNULL)
    try:
        wait_sampling(proc, log)
        yield proc
        proc.send_signal(signal.SIGTERM)
        if proc.wait(120) != 0:
            raise passes.Failed(f"the profiler ended with {proc.returncode}:\n{read_log(log)}")
        if refused_calls.said_in(read_log(log)):
            raise passes.Failed(f"system calls that are not on the list: {', '.join(refused_calls.said_in(read_log(log)))}")
    finally:
        if proc.poll() is None:
            proc.kill()
            proc.wait()


def read_log(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def wait_sampling(proc, log):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if "sampling at" in read_log(log):
            return
        if proc.poll() is not None:
            kind = passes.Cannot if proc.returncode in passes.CANNOT else passes.Failed
            raise kind(read_log(log).strip().splitlines()[-1])
        time.sleep(0.05)
    raise passes.Failed(f"the profiler does not start:\n{read_log(log)}")


def case_name(case):
    """10 ms programs that end before anything of them can be read have their own name and path."""
    if not os.path.exists(os.path.join(os.environ.get("EBPF_PROFILER_PLUGINS_DIR", ""), "otlp.so")):
        raise passes.Cannot("no otlp plugin: only it has paths of processes")
    script = passes.write_script(case.directory, passes.again(250, case.program("shortlived") + " 10"))
    receiver = server.Http(server.http_answer("200 OK"))
    config = os.path.join(case.directory, "profiler.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(CONFIG.format(url=receiver.url))
    with sampling(case, "--config", config):
        passes.run_pass(script)
    rows = [row for request in receiver.requests for row in otlp_rows.rows(request.body)]
    files = {"shortlived": {os.path.realpath(case.program("shortlived"))},
             "sh": {os.path.realpath(path) for path in ("/bin/sh", "/usr/bin/dash")}}
    others = {row.path for row in rows if row.path.endswith("/shortlived")} - files["shortlived"]  # other runs of this test
    own = [row for row in rows if row.thread == "shortlived" and row.path not in others]
    wrong = [row for row in own if row.path not in files["shortlived"]]
    foreign = [row for row in rows if row.path in files["shortlived"] and row.thread == "sh"]
    print(f"{count_of(own)} samples of shortlived, {count_of(wrong)} with another path or none; "
          f"{count_of(foreign)} of sh with its path")
    for path in sorted({row.path for row in wrong}):
        print(f"  {count_of(row for row in wrong if row.path == path)}: path {path or 'unknown'}")
    case.expect(count_of(own) >= 200, f"only {count_of(own)} samples of shortlived")
    case.expect(not wrong and not foreign, "the path is not the program's")


@contextlib.contextmanager
def running(command):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as proc:
        try:
            yield proc
        finally:
            proc.kill()


def case_protect(case):
    """
    30 000 mappings and one mprotect(PROT_EXEC) each 5 ms do not cost the profiler more than it has. It
    profiles these two programs alone: what it spends on a machine's other work is not judged.
    """
    out = os.path.join(case.directory, "protect.pb.gz")
    with running([case.program("protects"), "600", "15000"]) as storm, \
            running([case.program("shortlived"), "3000"]) as innocent:
        if storm.stdout.readline() != "READY\n":
            raise passes.Failed("protects could not map its pages")
        command = [BINARY, "record", "-q", "-F", "99", "-o", out, "-p", f"{storm.pid},{innocent.pid}", "--",
                   "sh", "-c", f"echo READY; exec tail --pid={innocent.pid} -f /dev/null"]
        with running(command) as profiler:
            ready = profiler.stdout.readline()
            begin, before = time.monotonic(), runs.cpu_of(profiler.pid)
            innocent.wait(240)
            used = 100 * (runs.cpu_of(profiler.pid) - before) / (time.monotonic() - begin)
            case.expect(ready == "READY\n" and profiler.wait(60) == 0, "the profiler failed")
        case.expect(storm.poll() is None, "the storm of mprotect ended before it was measured")
    print(f"the profiler took {used:.1f} % of one CPU")
    case.expect(used < 10, f"the profiler took {used:.1f} % of one CPU, not less than 10")
    samples = stacks.read_profile(out).samples
    case.expect_whole("another program", [s for s in samples if s.labels.get("pid") == innocent.pid], 99,
                      ("shortlived",))


def case_dlopen(case):
    """Programs that load a library, run in it for 20 ms or a little more, and end."""
    body = passes.again(25, f"{case.program('dlopen_once')} {case.program('libzoo.so')}")
    session = passes.record(FREQ, body, 5, case.directory)
    own = [s for s in session.later if s.labels.get("thread_name") == "dlopen_once"]
    case.expect_whole("programs with a library", own, 98, ("dlopen_once", "libzoo.so"), 500)
    burning = [s for s in own if has(s, "lib_spin") or any(f.file == "libzoo.so" for f in s.frames)]
    print(f"{count_of(burning)} of {count_of(own)} samples are in the library")
    # The others are in exec and in the dynamic linker, which is most of what page faults make expensive.
    case.expect(count_of(burning) > 0.75 * count_of(own), "the library is not seen")


# --- main ------------------------------------------------------------------------------------------

def main():
    cases = {name[5:]: fn for name, fn in globals().items() if name.startswith("case_")}
    if len(sys.argv) != 3 or sys.argv[1] not in cases:
        print("\n".join(cases) if sys.argv[1:] == ["--list"] else __doc__)
        return 0 if sys.argv[1:] == ["--list"] else 2
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        return SKIP
    if not os.access(BINARY, os.X_OK):
        print(f"no profiler at {BINARY!r}: build first, or set EBPF_PROFILER_BINARY")
        return 1
    with tempfile.TemporaryDirectory(prefix="check-short-") as directory:
        case = Case(directory, os.path.realpath(sys.argv[2]))
        try:
            cases[sys.argv[1]](case)
        except passes.Cannot as reason:
            print(f"skip: {reason}")
            return SKIP
        except passes.Failed as failure:
            case.wrong.append(str(failure))
    for text in case.wrong:
        print(f"failed: {text}")
    return 1 if case.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

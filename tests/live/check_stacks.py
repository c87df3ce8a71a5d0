#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles a test program and compares every stack with what the program says of itself.

    check_stacks.py [OPTIONS] PROGRAM [ARG...]      {seconds} in ARG becomes the time to run
    check_stacks.py --pprof FILE --truth FILE       judges an existing profile

Where the profiler is comes from --binary and --plugins, or from EBPF_PROFILER_BINARY and
EBPF_PROFILER_PLUGINS_DIR. Exit status: 0 above the threshold, 1 below or in trouble, 77 when this
machine cannot profile (the last line says why). `go tool pprof` must agree on the number of
samples, where there is a go.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "kit"))
import counting  # noqa: E402
import refused_calls  # noqa: E402
import runs  # noqa: E402
import stacks  # noqa: E402

SKIP = 77
# Who runs before the program does: the profiler's child, and start.py with its helpers.
STARTERS = re.compile(r"^(ebpf-profiler|(lib)?python3.*|env|sh|bash|dash|ldd|readelf)$")
LATE = ("[truncated: process not analysed yet]", "[truncated: sampled before its language was attached]",
        "[truncated: stack longer than what was copied of it]")    # walked later, by what was copied
LATE_COLD = "[truncated: no unwind rule and no frame pointer]"   # code of a language whose plugin is loaded meanwhile
LATE_MOST = 1.0     # seconds of the program's CPU time
CANNOT = {3: "no permission to profile", 4: "this kernel cannot"}  # exit codes of the profiler


def arguments():
    parser = argparse.ArgumentParser(description="check the stacks of a test program")
    parser.add_argument("--binary", default=os.environ.get("EBPF_PROFILER_BINARY"))
    parser.add_argument("--plugins", default=os.environ.get("EBPF_PROFILER_PLUGINS_DIR"))
    parser.add_argument("--frequency", type=int, default=833)
    parser.add_argument("--seconds", type=float,
                        default=20 if os.environ.get("EBPF_PROFILER_TEST_FULL") else 1.5)
    parser.add_argument("--threshold", type=float, default=99.5, help="percent of samples")
    parser.add_argument("--complete", type=float, help="percent complete; default: the threshold")
    parser.add_argument("--aside", type=float, default=1.5, help="percent at most, beside the program's start")
    parser.add_argument("--lost", type=float, default=1,
                        help="percent of the CPU time used that may have no sample")
    parser.add_argument("--cold", action="store_true",
                        help="its language's plugin is loaded meanwhile: until then its code has no rules")
    parser.add_argument("--no-root", action="store_true",
                        help="the C library has no unwind tables: the stack may end at main")
    parser.add_argument("--labels", default="", help="KEY=VALUE,...: each must be in some sample")
    parser.add_argument("--exit-status", type=int, default=0, help="what the program returns")
    parser.add_argument("--with-perf", action="store_true", help="perf unwinds, not the profiler")
    parser.add_argument("--known-gap", metavar="REASON",
                        help="stacks that end in [truncated: REASON] are a gap we know: with them "
                        "the test is a skip, without any a failure, since the gap is closed")
    parser.add_argument("--keep", help="write the profile here")
    parser.add_argument("--worst", type=int, default=5, help="print so many mismatches")
    parser.add_argument("--pprof")
    parser.add_argument("--truth")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.program = [a.replace("{seconds}", str(options.seconds)) for a in options.program]
    options.stolen = options.waited = 0
    if options.program and options.program[0].endswith(".py"):
        options.program.insert(0, sys.executable)
    return options


def fail(text):
    print(f"failed: {text}")
    sys.exit(1)


# --- recording -----------------------------------------------------------------------------------

def record(options, path):
    """Runs the program under the profiler; returns what it printed."""
    if os.geteuid() != 0:
        print("skip: profiling needs root")
        sys.exit(SKIP)
    if not options.binary or not os.access(options.binary, os.X_OK):
        fail(f"no profiler at {options.binary}: build first, or set EBPF_PROFILER_BINARY")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")}
    if options.plugins:
        environment["EBPF_PROFILER_PLUGINS_DIR"] = options.plugins
    command = [options.binary, "record", "-F", str(options.frequency), "-o", path, "--force",
               "--", *options.program]
    before = stolen_seconds()
    run = runs.run_cold(command, options.seconds * 10 + 60, environment)
    options.stolen = stolen_seconds() - before
    options.waited = run.effort.waited + (run.effort.ran if options.cold else 0)
    if run.returncode in CANNOT and not os.path.exists(path):
        print(f"skip: {CANNOT[run.returncode]}: {run.stderr.strip().splitlines()[-1:]}")
        sys.exit(SKIP)
    if run.returncode == SKIP and "skip:" in run.stdout:
        print(run.stdout.strip().splitlines()[-1])  # start.py cannot start it here
        sys.exit(SKIP)
    if run.returncode != options.exit_status or not os.path.exists(path):
        fail(f"exit status {run.returncode} of {' '.join(command)}\n{run.stderr}")
    if refused_calls.said_in(run.stderr):
        fail(f"system calls that are not on the list: {', '.join(refused_calls.said_in(run.stderr))}")
    return run.stdout


def stolen_seconds():
    """
    Of all CPUs, since the machine began: what interrupts took, and what a hypervisor gave to others; man 5 proc. No program
    is charged for it (CONFIG_IRQ_TIME_ACCOUNTING), but the sampling clock goes on, and what it hits is a program's.
    """
    with open("/proc/stat", encoding="ascii") as file:
        return sum(int(field) for field in file.readline().split()[6:9]) / os.sysconf("SC_CLK_TCK")


def record_with_perf(options, path):
    run = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(options.frequency),
                          "--call-graph", "dwarf,65528", "-o", path, "--", *options.program],
                         capture_output=True, text=True, check=False)
    script = subprocess.run(["perf", "script", "--no-inline", "-i", path, "-F", "comm,tid,time,event,ip,sym,dso"],
                            capture_output=True, text=True, errors="replace", check=False)
    return run.stdout, stacks.read_perf_script(script.stdout)


def count_by_go(path):
    """The number of samples as `go tool pprof` sees them, or None without it."""
    go = shutil.which("go")
    if not go:
        return None
    run = subprocess.run([go, "tool", "pprof", "-raw", path], capture_output=True, text=True,
                         check=False, env=dict(os.environ, PPROF_TMPDIR=tempfile.gettempdir()))
    if run.returncode != 0:
        fail(f"go tool pprof: {run.stderr}")
    total, inside = 0, False
    for line in run.stdout.splitlines():
        if line.startswith("Samples:"):
            inside = True
        elif line.startswith("Locations"):
            break
        elif inside:
            values = line.split(":")[0].split()
            total += int(values[0]) if values and values[0].isdigit() else 0
    return total


# --- judging -------------------------------------------------------------------------------------

def text_of(frames, limit=14):
    """One line for a stack: runs of one function are folded."""
    parts = []
    for frame in frames:
        name = stacks.bare(frame.name)
        if parts and parts[-1][0] == name:
            parts[-1][1] += 1
        else:
            parts.append([name, 1])
    words = [name if n == 1 else f"{name}{{{n}}}" for name, n in parts]
    if len(words) > limit:
        words[limit // 2:-limit // 2] = ["[...]"]
    return " ".join(words)


def judge(samples, patterns, no_root):
    """Counts by outcome, and the mismatches."""
    counts, worst, hits = collections.Counter(), collections.Counter(), collections.Counter()
    memo = {}
    for sample in samples:
        frames = tuple(sample.frames)
        if frames not in memo:
            seen = list(frames)
            while no_root and seen and (stacks.is_error(seen[-1]) or
                                        "+0x" in seen[-1].name):
                seen.pop()
            hit = next((p for p in patterns if p.matches(seen)), None)
            aside = not hit and any(p.matches_aside(seen) for p in patterns)
            complete = stacks.is_complete(seen) or (no_root and (hit or aside))
            memo[frames] = (hit, aside and complete, complete)
        hit, aside, complete = memo[frames]
        counts["all"] += sample.count
        counts["complete"] += sample.count if complete else 0
        counts["matching"] += sample.count if hit else 0
        counts["aside"] += sample.count if aside else 0
        hits[hit] += sample.count
        if not hit and not aside:
            worst[text_of(frames)] += sample.count
    return counts, hits, worst


def percent(part, whole):
    return 100.0 * part / whole if whole else 0.0


def take_gap(reason, samples):
    """The number of samples that a known gap ends, and the others."""
    if not reason:
        return 0, samples
    others = [s for s in samples if not s.frames or reason not in s.frames[-1].name]
    gap = sum(s.count for s in samples) - sum(s.count for s in others)
    if not gap:
        fail("works now: take --known-gap away")
    return gap, others


def is_starter(sample):
    """By name, or by what is in the stack: a process has one name only, that of its last program."""
    return bool(STARTERS.match(str(sample.labels.get("comm", "")))
                or any(STARTERS.match(frame.file) for frame in sample.frames))


def without_starters(samples):
    """Without processes that only start the program: it does not say what CPU time they used."""
    own = {s.labels.get("pid") for s in samples if not is_starter(s)}
    return [s for s in samples if s.labels.get("pid") in own]


def count_late(options, samples):
    """Of samples that came before what they need was there, those that the profiler waited for a CPU (or worked)."""
    reasons = (*LATE, LATE_COLD) if options.cold else LATE
    late = sum(s.count for s in samples if s.frames and s.frames[-1].name in reasons)
    explained = min(late, int(min(options.waited, LATE_MOST) * options.frequency))
    if late:
        print(f"late      {late}, {explained} of them since the profiler waited for a CPU")
    return explained


def report(options, counts, hits, worst, dropped):
    print(f"samples   {counts['all']}" + (f" (and {dropped} before exec)" if dropped else ""))
    print(f"matching  {percent(counts['matching'], counts['all'] - counts['aside']):.2f} %")
    print(f"aside     {percent(counts['aside'], counts['all']):.2f} %")
    print(f"complete  {percent(counts['complete'], counts['all']):.2f} %")
    for pattern, count in hits.most_common():
        if pattern:
            print(f"  {percent(count, counts['all']):6.2f} %  {pattern.text}")
    for stack, count in worst.most_common(options.worst):
        print(f"  mismatch {count}: {stack}")


def check_seen(patterns, hits, all_samples):
    for pattern in patterns:
        if pattern.required and percent(hits[pattern], all_samples) < 1:
            fail(f"almost never seen: {pattern.text}")


def check_amount(options, truth, samples):
    """No CPU time may be missing, nor be counted twice: by what the program says it used."""
    used = stacks.used_by(truth)
    if not used or options.with_perf:
        if not samples:
            fail("no samples")
        return
    expected, pieces = used[0] * options.frequency, used[1]
    seen = sum(s.weight_ns for s in samples) / 1e9 * options.frequency
    stolen = options.stolen * options.frequency
    fewest = counting.amount(expected * (1 - options.lost / 100), pieces)[0] - options.lost_samples
    most = counting.amount(expected + stolen, pieces)[1]
    print(f"amount    {seen:.0f} samples, {expected:.0f} by the CPU time used, in {pieces} pieces; "
          f"{fewest} to {most} are right: {options.lost_samples} lost, {stolen:.0f} stolen")
    if not fewest <= round(seen) <= most:
        fail(f"{seen:.0f} samples, but the program used CPU time for {expected:.0f}")


def aside_at_most(options, truth):
    """Percent: what the start of the program takes, by what it says itself, is no more than that of it."""
    used = stacks.used_by(truth)
    return options.aside + (percent(stacks.started_in(truth), used[0]) if used else 0)


def check_labels(wanted, samples):
    for pair in filter(None, wanted.split(",")):
        key, value = pair.split("=", 1)
        if not any(str(s.labels.get(key)) == value for s in samples):
            fail(f"no sample has the label {pair}; there are "
                 f"{sorted({str(s.labels.get(key)) for s in samples})}")


def check_go(path, samples):
    by_go = count_by_go(path)
    ours = sum(s.count for s in samples)
    print(f"go tool pprof: {'not here' if by_go is None else by_go} samples")
    if by_go is not None and by_go != ours:
        fail(f"go tool pprof counts {by_go} samples, our reader {ours}")


def load(options, directory):
    """(truth, samples)"""
    path = options.keep or os.path.join(directory, "profile.pb.gz")
    if options.pprof:
        with open(options.truth, encoding="utf-8") as file:
            truth = file.read()
        path = options.pprof
    elif options.with_perf:
        return record_with_perf(options, os.path.join(directory, "perf.data"))
    else:
        truth = record(options, path)
    profile = stacks.read_profile(path)
    options.lost_samples = profile.lost
    check_go(path, profile.samples)
    return truth, profile.samples


def main(options):
    with tempfile.TemporaryDirectory() as directory:
        truth, everything = load(options, directory)
    check_amount(options, truth, without_starters(everything))
    gap, everything = take_gap(options.known_gap, everything)
    patterns = stacks.parse_truth(truth)
    if not patterns:
        fail(f"the program printed no STACK line: {truth!r}")
    samples = [s for s in everything if not is_starter(s)]
    counts, hits, worst = judge(samples, patterns, options.no_root)
    report(options, counts, hits, worst, len(everything) - len(samples))
    check_labels(options.labels, samples)
    check_seen(patterns, hits, counts["all"])
    beside, wanted = counts["all"] - counts["aside"], options.complete
    late = count_late(options, samples)
    wrong, incomplete = beside - counts["matching"] - late, counts["all"] - counts["complete"] - late
    if not counts["all"]:
        fail("no samples of the program")
    most_aside = min(aside_at_most(options, truth), 100)
    if counting.is_missed(counts["aside"], counts["all"], 100 - most_aside):
        fail(f"more than {most_aside:.1f} % of the samples are aside")
    if counting.is_missed(wrong, beside, options.threshold):
        fail(f"matching stacks are below {options.threshold} %")
    if counting.is_missed(incomplete, counts["all"], options.threshold if wanted is None else wanted):
        fail(f"complete stacks are below {options.threshold if wanted is None else wanted} %")
    if gap:
        print(f"skip: known gap: {gap} samples end in \"{options.known_gap}\"")
        return SKIP
    return 0


if __name__ == "__main__":
    sys.exit(main(arguments()))

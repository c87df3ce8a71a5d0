#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Busy programs, the agent, a real gRPC server: do the stacks that arrive hold what ran?

    test_live.py PROFILER PLUGIN_DIR OTLP_SEND PROGRAM...

Each program says its own stack ("STACK leaf ... root", tests/live/programs); most of its samples
must
show it, in a resource of its name and pid. Also: the end of the agent flushes, names and resources
are there, every request obeys the rules, and of three exporters one whose receiver is away disturbs
no
other. Needs root and BPF, python3-grpcio and python3-protobuf; else exits with 77.
"""
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from otlp_test import Bench, Failure, make_certs, skip  # noqa: E402
from otlp_rules import judge_all  # noqa: E402
from peer import Peer  # noqa: E402

FREQ = 200
LATE = "unwind tables not loaded"   # where the agent waits for a CPU; check_stacks.py judges how long
CONFIG = """
[sampling]
freq = {freq}
[plugins]
dir = "{plugins}"
enable = ["otlp"]
[[exporter]]
type = "otlp"
interval = "1s"
endpoint = "{endpoint}"
headers = "x-case=live"
service_name = "{{exe}}"
environment = "EP_TEST_REGION"
jitter = "200ms"
[[exporter]]
type = "otlp"
interval = "1s"
endpoint = "{endpoint}"
headers = "x-case=second"
compression = "none"
[[exporter]]
type = "otlp"
interval = "1s"
endpoint = "http://127.0.0.1:1"
flush_timeout = "200ms"
"""


def start_agent(profiler, plugins, bench, endpoint):
    path = f"{bench.directory}/profiler.toml"
    with open(path, "w") as file:
        file.write(CONFIG.format(plugins=plugins, endpoint=endpoint, freq=FREQ))
    agent = subprocess.Popen([profiler, "--config", path], stderr=subprocess.PIPE,
                             universal_newlines=True)
    for line in agent.stderr:
        if "sampling at" in line:
            return agent
        if "ermission" in line or "privileges" in line or "not permitted" in line:
            skip(line.strip())
    return skip(f"the agent does not start (exit {agent.wait()})")


def run_program(path):
    env = {**os.environ, "OTEL_SERVICE_NAME": f"service-{os.path.basename(path)}",
           "EP_TEST_REGION": "north"}
    process = subprocess.Popen([path, "4"], stdout=subprocess.PIPE, universal_newlines=True,
                               env=env)
    return process


def folded(lines):
    """Who, frames and events of each sample."""
    samples = []
    for line in lines:
        stack, _, count = line.rpartition(" ")
        who, *frames = stack.split(";")
        if frames:
            samples.append((who.split(" ", 2), [frame.split(" <")[0] for frame in frames],
                            int(count)))
    return samples


def holds(frames, wanted):
    """Whether the frames (root first) hold those wanted in this order."""
    names = iter(frame.split("(")[0].split("::")[-1] for frame in frames)
    return all(any(name == want for name in names) for want in wanted)


def judge(name, pid, wanted, cpu_s, samples):
    own = [(frames, count) for who, frames, count in samples if who[0] == str(pid)]
    total = sum(count for _, count in own)
    good = sum(count for frames, count in own if holds(frames, wanted))
    late = sum(count for frames, count in own if LATE in frames[0])
    print(f"{name}: {total} samples, {good} with {';'.join(wanted)}, {late} before its tables were there")
    if total < 0.5 * cpu_s * FREQ:  # some of its start is lost
        raise Failure(f"{name}: only {total} samples of {cpu_s} s at {FREQ} Hz")
    if good < max(0.9 * (total - late), 100):
        others = [";".join(frames) for frames, _ in own if not holds(frames, wanted)]
        raise Failure(f"{name}: {good} of {total} with {wanted}; others: {others[:5]}")


def main():
    profiler, plugins, send, *programs = sys.argv[1:]
    if os.geteuid() != 0:
        skip("needs root")
    bench = Bench(send)
    peer = Peer(bench.directory, make_certs(f"{bench.directory}/certs"))
    agent = start_agent(profiler, plugins, bench, peer.url("plain"))
    running = [(path, run_program(path)) for path in programs]
    results = []
    for path, process in running:
        output, _ = process.communicate()
        stack = next(line for line in output.splitlines() if line.startswith("STACK"))
        cpu_s = float(next(line for line in output.splitlines()
                           if line.startswith("CPU")).split()[1])
        results.append((os.path.basename(path), process.pid, stack.split()[:0:-1], cpu_s))
    time.sleep(0.2)
    agent.send_signal(signal.SIGTERM)
    _, log = agent.communicate(timeout=20)
    if agent.returncode or "requests with" not in log:
        raise Failure(f"the agent ended with {agent.returncode}: {log}")
    if "is not on the list" in log:
        raise Failure(f"a system call was refused: {log}")
    print(next(line for line in log.splitlines() if "requests with" in line))
    (first, judged), (second, _) = (judge_all(sorted(glob.glob(f"{bench.directory}/{case}/*.bin")))
                                   for case in ("live", "second"))
    if first["events"] != second["events"] or first["events"] == 0:
        raise Failure(f"two exporters sent {first} and {second}")
    samples = folded(line for one in judged for line in one.lines())
    for name, pid, wanted, cpu_s in results:
        judge(name, pid, wanted, cpu_s, samples)
        blob = b"".join(open(path, "rb").read() for path in glob.glob(f"{bench.directory}/live/*"))
        for text in (f"service-{name}", "process.environment_variable.EP_TEST_REGION", "vmlinux"):
            if text.encode() not in blob:
                raise Failure(f"no {text} in what arrived")
    shutil.rmtree(bench.directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    STATUS = 1
    try:
        STATUS = main()
    except (Failure, AssertionError) as failure:
        print(f"FAIL {failure}")
    sys.stdout.flush()
    os._exit(STATUS)  # without waiting for gRPC's threads

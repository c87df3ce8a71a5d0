#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent at 999 Hz while its receiver is away, and when it comes: memory, counts, delay.

    bench_away.py BUILD_DIRECTORY [SECONDS]    600 seconds without the receiver, as root

Every sample must be accounted for: taken = accepted and arrived + counted as dropped.
"""
import glob
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from otlp_test import Bench, make_certs  # noqa: E402
from otlp_rules import judge_all  # noqa: E402
from peer import Peer  # noqa: E402

CONFIG = """
[sampling]
freq = 999
[plugins]
enable = ["otlp"]
[[exporter]]
type = "otlp"
interval = "1s"
endpoint = "http://127.0.0.1:{port}"
headers = "x-case=away"
"""


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    sink.close()


def forward(listener, port, first):
    """The receiver as it comes: connections to the endpoint reach it from now on."""
    while True:
        client, _ = listener.accept()
        first.append(time.monotonic())
        server = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=pump, args=(client, server), daemon=True).start()
        threading.Thread(target=pump, args=(server, client), daemon=True).start()


def anonymous_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"RssAnon:\s+(\d+)", file.read())[1]) / 1024


def main():
    build, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 600
    bench = Bench(None)
    peer = Peer(bench.directory, make_certs(f"{bench.directory}/certs"))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
    path = f"{bench.directory}/profiler.toml"
    with open(path, "w", encoding="ascii") as file:
        file.write(CONFIG.format(port=listener.getsockname()[1]))
    busy = [subprocess.Popen([f"{build}/tests/bench/deepstack", "100000", "40"]) for _ in range(2)]
    log_path = f"{bench.directory}/log"
    with open(log_path, "wb") as log:
        agent = subprocess.Popen([f"{build}/core/cli/ebpf-profiler", "--config", path], stderr=log,
                                 env={**os.environ,
                                      "EBPF_PROFILER_PLUGINS_DIR": f"{build}/plugins/together"})
    memory, first = [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(1)
        memory.append(anonymous_mib(agent.pid))
    came = time.monotonic()
    listener.listen()
    threading.Thread(target=forward, args=(listener, peer.ports["plain"], first),
                     daemon=True).start()
    time.sleep(40)  # more than retry_max
    agent.send_signal(signal.SIGTERM)
    agent.wait(30)
    for process in busy:
        process.kill()
    with open(log_path, encoding="utf-8") as file:
        text = file.read()
    accepted, dropped = map(int, re.search(r"with (\d+) samples accepted, (\d+) samples dropped",
                                           text).groups())
    taken = int(re.search(r"(\d+)  samples stored", text)[1])
    arrived = judge_all(glob.glob(f"{bench.directory}/away/*.bin"))[0]["events"]
    half = memory[len(memory) // 2:]
    print(f"seconds without receiver\t{seconds:.0f}")
    print(f"anonymous memory, second half, MiB\t{min(half):.1f} to {max(half):.1f}")
    print(f"samples taken / arrived / dropped\t{taken} / {arrived} / {dropped}")
    print(f"first connection after it came, s\t{first[0] - came:.1f}" if first else "it never came")
    return 0 if first and accepted == arrived and taken == arrived + dropped else 1


if __name__ == "__main__":
    STATUS = main()
    sys.stdout.flush()
    os._exit(STATUS)  # without waiting for gRPC's threads

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the OTLP exporter costs, sending to gRPC's C core on this machine.

    bench_otlp.py BUILD_DIRECTORY

A row a case: CPU of the sending process per request (encoding, compressing, sending; not the making
of the batch), the most memory one batch had allocated at once, and what stays resident when the
module
and its libraries are loaded, before and after 20 small requests. The request has 4000 functions and
locations, 1000 stacks of 30 frames, 4000 timestamps.
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from otlp_test import make_certs  # noqa: E402
from peer import Peer  # noqa: E402

RUNS = 4
BATCHES = 60


def send(program, *arguments):
    output = subprocess.run([program, "-q", *arguments, "jitter=0s"], check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            universal_newlines=True, timeout=60).stdout
    return {name: int(number) for name, number in (line.split() for line in output.splitlines())}


def main():
    build = f"{sys.argv[1]}/exporters/otlp"
    directory = tempfile.mkdtemp(prefix="ep-otlp-")
    certs = make_certs(f"{directory}/certs")
    peer = Peer(directory, certs)
    trust = f"ca_file={certs}/ca.pem"
    cases = {"h2c, gzip": [f"endpoint={peer.url('plain')}"],
             "h2c, not compressed": [f"endpoint={peer.url('plain')}", "compression=none"],
             "TLS, gzip": [f"endpoint={peer.url('tls')}", trust]}
    print("| | CPU per request | bytes sent | most allocated for a batch | resident: opened, after requests |")
    print("|---|---|---|---|---|")
    for name, options in cases.items():
        runs = [send(f"{build}/otlp_bench", "-n", str(BATCHES), "-e", "20", "-s", "379k", *options)
                for _ in range(RUNS)]
        best = min(runs, key=lambda run: run["cpu_us"])
        module = ["-l", f"{build}/otlp.so"]
        idle = send(f"{build}/otlp_send", "-n", "0", *module, *options)["rss_kb"]
        used = send(f"{build}/otlp_send", "-n", "20", "-e", "20", "-w", "100", *module,
                    *options)["rss_kb"]
        print(f"| {name} | {best['cpu_us'] / BATCHES / 1000:.2f} ms | {best['sent_bytes'] // BATCHES} | "
              f"{best['heap_peak'] / 1e6:.2f} MB | {idle} kB, {used} kB |")
    sys.stdout.flush()
    os._exit(0)  # without waiting for gRPC's threads


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exporter against a gRPC server of others.

    test_peers.py core|go|js OTLP_SEND OTLP_CHECK CACHE

core: the C core (python3-grpcio), go: grpc-go (golang-google-grpc-dev), js: @grpc/grpc-js (npm). What
has to be built or installed goes into CACHE. Exits with 77 when the peer cannot be had.
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from otlp_test import Bench, Failure, make_certs, skip  # noqa: E402

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")
GO_PATH = "/usr/share/gocode"
HANDSHAKE = "3s"  # enough for one, on a busy machine with sanitizers
JS_PACKAGE = "@grpc/grpc-js@1.14.7"


def core_command(cache):
    del cache
    for program in ("/usr/bin/python3", sys.executable):
        if subprocess.run([program, "-c", "import grpc"], stderr=subprocess.DEVNULL).returncode == 0:
            return [program, f"{PEERS}/peer_core.py"], {}
    return skip("no python3-grpcio")


def go_command(cache):
    if not os.path.isdir(f"{GO_PATH}/src/google.golang.org/grpc"):
        skip("no golang-google-grpc-dev")
    program = f"{cache}/peer_go"
    source = f"{PEERS}/peer.go"
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        env = {"GOCACHE": f"{cache}/go-cache", **os.environ, "GO111MODULE": "off",
               "GOPATH": GO_PATH, "GOFLAGS": ""}
        if "HOME" in env and "GOCACHE" not in os.environ:
            del env["GOCACHE"]
        subprocess.run(["go", "build", "-o", program, source], check=True, env=env)
    return [program], {}


def js_command(cache):
    modules = f"{cache}/npm/node_modules"
    if not shutil.which("node"):
        skip("no node")
    if not os.path.isdir(f"{modules}/@grpc/grpc-js"):
        try:
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                            "--fetch-retries=0", "--fetch-timeout=15000",
                            "--prefix", f"{cache}/npm", JS_PACKAGE], check=True, timeout=60,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.SubprocessError) as error:
            skip(f"npm does not install {JS_PACKAGE}: {error}")
    return ["node", f"{PEERS}/peer.js"], {"NODE_PATH": modules}


class Peer:
    def __init__(self, command, env, directory, certs):
        self.process = subprocess.Popen([*command, directory, certs], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, **env},
                                        universal_newlines=True)
        self.ports = {}
        for line in self.process.stdout:
            if line.strip() == "ready":
                return
            name, port = line.split()
            self.ports[name] = int(port)
        raise Failure("the peer ended")

    def url(self, name, host="127.0.0.1"):
        return f"{'https' if 'tls' in name else 'http'}://{host}:{self.ports[name]}"

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)


def add_cases(bench, peer, certs, name):
    send, case = bench.send, bench.case

    def arrived(case_name, result, *flags):
        result.all_arrived()
        events = bench.events_of(case_name, *flags)
        if events != result.exported_events:
            raise Failure(f"{events} events arrived of {result.exported_events}")

    @case
    def accepts():
        arrived("accepts", send(peer.url("plain"), "-n", "5", "-s", "379k", case="accepts"),
                "-m", "4000000")

    @case
    def without_compression():
        arrived("plain", send(peer.url("plain"), case="plain", compression="none"))

    @case
    def several_requests_at_once():
        arrived("many", send(peer.url("plain"), "-n", "20", case="many", concurrency="4"))

    @case
    def split_below_four_megabytes():
        arrived("split", send(peer.url("plain"), "-s", "large", case="split",
                              queue_bytes="64000000", timeout="10s"), "-m", "4000000")

    @case
    def answer_is_compressed():
        result = send(peer.url("plain"), "-n", "2", case="gzip", mode="gzip")
        arrived("gzip", result)
        result.is_quiet_about("WARN")

    @case
    def unavailable_is_tried_again():
        result = send(peer.url("plain"), case="away", mode="unavailable:2")
        result.all_arrived()
        result.expect(retries=2)
        result.says("UNAVAILABLE: not now, 100 % busy")
        result.says("takes requests again")

    @case
    def retry_info_is_kept_to():
        result = send(peer.url("plain"), case="throttle", mode="throttle:1",
                      retry_initial="10ms")
        result.all_arrived()
        result.expect(retries=1)
        result.says("RESOURCE_EXHAUSTED: slow down")

    @case
    def exhausted_without_retry_info_is_final():
        result = send(peer.url("plain"), case="exhausted", mode="exhausted")
        result.expect(retries=0, refused_requests=1, accepted_requests=0)
        result.says("RESOURCE_EXHAUSTED: quota")

    @case
    def invalid_is_final():
        result = send(peer.url("plain"), "-n", "3", case="invalid", mode="invalid")
        result.expect(retries=0, refused_requests=3, accepted_requests=0,
                      refused_events=result.exported_events)
        if result.log.count("unsupported frame kind") != 1:
            raise Failure(result.log)

    @case
    def partial_success_is_said_once():
        result = send(peer.url("plain"), "-n", "3", case="partial", mode="partial")
        result.expect(retries=0, accepted_requests=3, rejected_profiles=6)
        if result.log.count("too old!") != 1:
            raise Failure(result.log)

    @case
    def message_that_is_too_long_is_refused_early():
        result = send(peer.url("plain"), "-s", "huge", case="early", compression="none",
                      max_request_bytes="40000000", queue_bytes="100000000", timeout="20s",
                      flush_timeout="20s")
        result.expect(retries=0, refused_requests=1, accepted_requests=0)
        result.says("RESOURCE_EXHAUSTED")
        send(peer.url("plain"), "-n", "2", case="early2").all_arrived()

    @case
    def connection_serves_on_after_an_early_refusal():
        """The first batch of one process is refused while it is sent, the next must pass."""
        send(peer.url("plain"), "-n", "3", "-s", "large", case="mixed",
             compression="none", max_request_bytes="4190000", queue_bytes="100000000",
             timeout="10s", flush_timeout="20s").all_arrived()

    @case
    def long_message():
        result = send(peer.url("big"), "-s", "huge", case="long", compression="none",
                      max_request_bytes="40000000", queue_bytes="100000000", timeout="20s",
                      flush_timeout="20s")
        arrived("long", result)
        result.expect(accepted_requests=1)
        if result.sent_bytes < 28000000:
            raise Failure(f"only {result.sent_bytes} bytes")

    @case
    def deadline_cancels_and_tries_again():
        result = send(peer.url("plain"), case="slow", mode="slow:800", timeout="300ms",
                      flush_timeout="1200ms")
        result.expect(accepted_requests=0, dropped_requests=1)
        result.says("DEADLINE_EXCEEDED")
        if result.status != 3:
            raise Failure(f"exit {result.status}")

    @case
    def connection_survives_a_deadline():
        send(peer.url("plain"), "-n", "3", "-e", "600", case="slow2", mode="slow:200",
             timeout="400ms").all_arrived()

    @case
    def goaway_and_restart():
        result = send(peer.url("mutable"), "-n", "8", "-e", "150", case="goaway", mode="goaway",
                      flush_timeout="9s")
        arrived("goaway", result)

    @case
    def headers_arrive():
        send(peer.url("plain"), case="token", mode="token:secret",
             extra_headers=",authorization=secret").all_arrived()
        result = send(peer.url("plain"), case="token2", mode="token:secret")
        result.expect(refused_requests=1)
        result.says("UNAUTHENTICATED: who are you?: look at headers")

    @case
    def header_files_are_read():
        path = f"{bench.directory}/token.txt"
        with open(path, "w") as file:
            file.write("rotated\n")
        send(peer.url("plain"), case="file", mode="token:rotated",
             header_files=f"authorization={path}").all_arrived()
        result = send(peer.url("plain"), case="file2", mode="token:rotated",
                      header_files="authorization=/nowhere/token", flush_timeout=HANDSHAKE)
        result.expect(dropped_requests=1)
        result.says("/nowhere/token: No such file")

    @case
    def tls():
        arrived("tls", send(peer.url("tls"), "-n", "3", "-s", "379k", case="tls",
                            ca_file=f"{certs}/ca.pem"))
        arrived("tls2", send(peer.url("tls", "localhost"), case="tls2", ca_file=f"{certs}/ca.pem"))

    @case
    def client_certificate():
        arrived("mtls", send(peer.url("mtls"), case="mtls", ca_file=f"{certs}/ca.pem",
                             cert_file=f"{certs}/client.pem", key_file=f"{certs}/client.key"))
        send(peer.url("mtls"), case="mtls2", ca_file=f"{certs}/ca.pem",
             flush_timeout="300ms").expect(accepted_requests=0, dropped_requests=1)

    @case
    def unknown_authority():
        result = send(peer.url("tls"), case="stranger", ca_file=f"{certs}/stranger.pem",
                      flush_timeout=HANDSHAKE)
        result.expect(accepted_requests=0)
        result.says("certificate is refused")
        result = send(peer.url("tls"), case="insecure", ca_file=f"{certs}/stranger.pem",
                      insecure_skip_verify="true")
        result.all_arrived()
        result.says("anybody on the way")

    @case
    def wrong_name():
        result = send(peer.url("tls"), case="name", ca_file=f"{certs}/ca.pem",
                      server_name="other.example.com", flush_timeout=HANDSHAKE)
        result.expect(accepted_requests=0)
        result.says("certificate is refused")

    @case
    def plaintext_to_a_tls_port():
        send(f"http://127.0.0.1:{peer.ports['tls']}", case="no", flush_timeout="300ms",
             timeout="250ms").expect(accepted_requests=0, dropped_requests=1)

    @case
    def tls_to_a_plaintext_port():
        result = send(f"https://127.0.0.1:{peer.ports['plain']}", case="no",
                      ca_file=f"{certs}/ca.pem", flush_timeout="300ms", timeout="250ms")
        result.expect(accepted_requests=0, dropped_requests=1)

    @case
    def http_1_to_a_grpc_port():
        send(peer.url("plain"), case="no", protocol="http/protobuf",
             flush_timeout="300ms", timeout="250ms").expect(accepted_requests=0)

    del name


def main():
    name, send, check, cache = sys.argv[1:5]
    os.makedirs(cache, exist_ok=True)
    command, env = {"core": core_command, "go": go_command, "js": js_command}[name](cache)
    bench = Bench(send, check)
    certs = make_certs(f"{bench.directory}/certs")
    peer = Peer(command, env, bench.directory, certs)
    add_cases(bench, peer, certs, name)
    status = bench.run()
    peer.end()
    return status


if __name__ == "__main__":
    sys.exit(main())

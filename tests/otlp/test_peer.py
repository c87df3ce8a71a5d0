#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exporter against a gRPC server of others (peer.py), which proves that the two understand each other. What
receivers do wrong is test_transport.py's.

    test_peer.py OTLP_SEND

Exits with 77 without python3-grpcio or python3-protobuf.
"""
import glob
import os
import sys

sys.dont_write_bytecode = True
from otlp_test import Bench, make_certs, must  # noqa: E402
from judge import judge_all  # noqa: E402
from peer import Peer  # noqa: E402

LARGE = {"queue_bytes": "100000000", "compression": "none"}

bench = Bench(sys.argv[1])
certs = make_certs(f"{bench.directory}/certs")
peer = Peer(bench.directory, certs)
send, case = bench.send, bench.case
TLS = {"ca_file": f"{certs}/ca.pem"}


def arrived(result, name):
    """All of it, and what arrived keeps the rules."""
    result.all_arrived()
    counts, _ = judge_all(sorted(glob.glob(f"{bench.directory}/{name}/*.bin")))
    must(counts["events"] == result.exported_events, f"{counts['events']} events arrived of {result.exported_events}")


@case
def requests_arrive():
    plain = peer.url("plain")
    arrived(send(plain, "-n", "2", "-s", "379k", case="gzip"), "gzip")
    arrived(send(plain, case="none", compression="none"), "none")
    arrived(send(plain, "-n", "10", case="many", concurrency="4"), "many")


@case
def split_below_four_megabytes():
    send(peer.url("plain"), "-s", "large", case="split", queue_bytes="64000000").all_arrived()
    sizes = [os.path.getsize(path) for path in glob.glob(f"{bench.directory}/split/*.bin")]
    must(len(sizes) > 2 and max(sizes) <= 4000000, str(sizes))


@case
def answer_is_compressed():
    result = send(peer.url("plain"), "-n", "2", case="answer", mode="gzip")
    arrived(result, "answer")
    must("WARN" not in result.log, result.log)


@case
def unavailable_is_tried_again():
    result = send(peer.url("plain"), case="away", mode="unavailable:2")
    result.all_arrived("UNAVAILABLE: not now, 100 % busy", retries=2).expect("takes requests again")


@case
def retry_info_is_kept_to():
    send(peer.url("plain"), case="throttle", mode="throttle:1", retry_initial="10ms").all_arrived(
        "RESOURCE_EXHAUSTED: slow down", retries=1)


@case
def partial_success_is_said_once():
    result = send(peer.url("plain"), "-n", "3", case="partial", mode="partial")
    result.expect(retries=0, accepted_requests=3, rejected_profiles=6).says_once("too old!")


@case
def message_that_is_too_long_is_refused_early():
    send(peer.url("plain"), "-s", "large", case="early", max_request_bytes="40000000", **LARGE).expect(
        "RESOURCE_EXHAUSTED", retries=0, refused_requests=1, accepted_requests=0)
    send(peer.url("plain"), "-n", "2", "-s", "large", case="mixed", max_request_bytes="4190000", **LARGE).all_arrived()


@case
def long_message():
    result = send(peer.url("big"), "-s", "large", case="long", max_request_bytes="40000000", **LARGE)
    result.all_arrived(accepted_requests=1)
    must(result.sent_bytes >= 8000000, f"only {result.sent_bytes} bytes")


@case
def deadline_cancels_and_tries_again():
    result = send(peer.url("plain"), case="slow", mode="slow:800", timeout="300ms", flush_timeout="1200ms", status=(3,))
    result.expect("DEADLINE_EXCEEDED", accepted_requests=0, dropped_requests=1)


@case
def goaway_and_restart():
    arrived(send(peer.url("mutable"), "-n", "8", "-e", "150", case="goaway", mode="goaway"), "goaway")


@case
def headers_arrive():
    plain = peer.url("plain")
    send(plain, case="token", mode="token:secret", extra_headers=",authorization=secret").all_arrived()
    send(plain, case="token2", mode="token:secret").expect(
        "UNAUTHENTICATED: who are you?: look at headers", refused_requests=1)
    path = f"{bench.directory}/token.txt"
    with open(path, "w", encoding="utf-8") as file:
        file.write("rotated\n")
    send(plain, case="file", mode="token:rotated", header_files=f"authorization={path}").all_arrived()


@case
def tls():
    arrived(send(peer.url("tls"), "-n", "3", case="tls", **TLS), "tls")
    arrived(send(peer.url("tls", "localhost"), case="tls2", **TLS), "tls2")
    send(peer.url("tls"), case="insecure", ca_file=f"{certs}/stranger.pem",
         insecure_skip_verify="true").all_arrived("anybody on the way")


@case
def client_certificate():
    pair = {"cert_file": f"{certs}/client.pem", "key_file": f"{certs}/client.key"}
    arrived(send(peer.url("mtls"), case="mtls", **TLS, **pair), "mtls")
    send(peer.url("mtls"), case="mtls2", flush_timeout="300ms", **TLS).expect(accepted_requests=0, dropped_requests=1)


if __name__ == "__main__":
    STATUS = bench.run()
    sys.stdout.flush()
    os._exit(STATUS)  # without waiting for gRPC's threads

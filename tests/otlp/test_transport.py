#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exporter against receivers that break the rules, are away, slow, or something else (server.py).

    test_transport.py OTLP_SEND
"""
import base64
import gzip
import os
import random
import shutil
import socket
import ssl
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kit"))
import wire  # noqa: E402
from otlp_test import Bench, make_certs, must  # noqa: E402
from server import (DATA, GOAWAY, HEADERS, PING, RST_STREAM, Grpc, Http, Http2, HttpRequest, Proxy,
                    Server,  # noqa: E402
                    fields, frame, http_answer, plain_status, reset)

OK = http_answer("200 OK")
PARTIAL = b"\x0a\x0c\x08\x02\x12\x08too old!"
STATUS = b"\x08\x03\x12\x0bbad profile"  # google.rpc.Status
# google.rpc.Status {code 8, details: Any of RetryInfo {retry_delay {nanos 200000000}}}
RETRY_INFO = b"\x08\x08\x1a\x33\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x07\x0a\x05\x10\x80\x84\xaf\x5f"
UNAVAILABLE = 14
BRIEF = {"flush_timeout": "300ms", "timeout": "200ms"}
PATIENT = {"flush_timeout": "4s", "timeout": "3s"}  # for an answer that a busy machine gives late
SLOW_RETRY = {"retry_initial": "30s", "retry_max": "30s"}  # what is tried again arrives too late
FAST_RETRY = {"retry_initial": "10ms", "retry_max": "10ms"}
HTTP = {"protocol": "http/protobuf"}
LARGE = {"compression": "none", "max_request_bytes": "40000000", "queue_bytes": "64000000"}
REFUSED = {"accepted_requests": 0, "refused_requests": 1, "retries": 0}
DROPPED = {"accepted_requests": 0, "dropped_requests": 1}

bench = Bench(sys.argv[1])
send, case = bench.send, bench.case
certs = make_certs(f"{bench.directory}/certs")
TLS = {"ca_file": f"{certs}/ca.pem"}


def tls_context(name, *protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{certs}/{name}.pem", f"{certs}/{name}.key")
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def rows(function):
    """Each row that the function gives is a case: name, server, options, what is expected, what the log says."""
    def make(server, options, expected, says):
        def check():
            target = server()
            result = send(target if isinstance(target, str) else target.url, **options)
            if expected is None or "accepted_requests" not in expected:
                result.all_arrived(says, **(expected or {}))
            else:
                result.expect(says, **expected)
        return check
    for name, *row in function():
        bench.cases.append((f"{function.__name__}: {name}", make(*row)))


# --- gRPC: answers ----------------------------------------------------------------------------


def trailers_only(http, stream):
    http.headers(stream, ("content-type", "application/grpc"), ("grpc-status", "3"),
                 ("grpc-message", "no%20such%0Athing"), end=True)


def no_status(http, stream):
    http.headers(stream, ("content-type", "application/grpc"))
    http.data(stream, frame(b""), end=True)


def compressed(http, stream):
    http.headers(stream, ("content-type", "application/grpc"), ("grpc-encoding", "gzip"))
    http.data(stream, frame(PARTIAL, compressed=True))
    http.trailers(stream, ("grpc-status", "0"))


def rejects(profiles):
    """What is counted when so many of the four profiles of a small batch, which has 40 samples, are rejected."""
    return {"accepted_requests": 1, "refused_requests": 0, "retries": 0, "rejected_profiles": profiles,
            "accepted_events": 40 - 10 * profiles, "refused_events": 10 * profiles}


def partial(rejected, message=b"too old!"):
    """An ExportProfilesServiceResponse whose partial_success rejects so many."""
    return wire.data(1, wire.number(1, rejected) + wire.data(2, message))


@rows
def rejected_profiles():
    """It is what was refused that is counted, not the request, and never more than there was."""
    for rejected, counted, words in ((0, 0, "0 of 4 profiles of a request rejected: too old!"),
                                     (1, 1, "1 of 4 profiles of a request rejected: too old!"),
                                     (3, 3, "refused (3 profiles of accepted requests)"),
                                     (4, 4, "0 samples accepted"), (5, 4, "5 of 4"), (2**63 - 1, 4, "of 4 profiles"),
                                     (-1, 0, ""), (-2**63, 0, "")):
        body = partial(rejected)
        yield (f"{rejected}", lambda body=body: Grpc(lambda http, stream: http.answer(stream, body)), {},
               rejects(counted), words)
        yield f"{rejected}, HTTP", lambda body=body: Http(http_answer("200 OK", body)), HTTP, rejects(counted), words


def throttled(http, stream):
    http.headers(stream, ("content-type", "application/grpc"))
    http.trailers(stream, ("grpc-status", "8"), ("grpc-message", "slow down"),
                  ("grpc-status-details-bin", base64.b64encode(RETRY_INFO).rstrip(b"=")))


BOMB = frame(b"\0" * (64 << 20), compressed=True)


def bomb(http, stream):
    http.headers(stream, ("content-type", "application/grpc"), ("grpc-encoding", "gzip"))
    http.data(stream, BOMB)
    http.trailers(stream, ("grpc-status", "0"))


def too_long(http, stream):
    http.headers(stream, ("content-type", "application/grpc"))
    left, credit = 6 << 20, 65535
    while left:
        n = min(left, credit, 16384)
        http.send(DATA, 0, stream, b"\0" * n)
        left, credit = left - n, credit - n
        while credit < 16384:
            kind, _, where, payload = http.receive()
            if kind == RST_STREAM:
                return
            if kind == 8 and where == stream:
                credit += struct.unpack(">I", payload)[0]


def endless_headers(http, stream):
    http.send(HEADERS, 0, stream, fields((":status", "200"), ("a", "b" * 16000)))
    for _ in range(400):
        http.send(9, 0, stream, fields(("a", "b" * 16000)))


def pings(http, stream):
    for i in range(2000):
        http.send(PING, 0, 0, struct.pack(">Q", i))
    http.answer(stream)


@rows
def grpc_answer():
    yield "refused stream is sent again at once", lambda: Grpc(reset(7), 0), SLOW_RETRY, {"retries": 0}, ""
    yield "cancelled stream is tried again", lambda: Grpc(reset(8), 0), {}, {"retries": 1}, ""
    yield "internal error is final", lambda: Grpc(reset(2)), {}, REFUSED, "INTERNAL: the stream was reset: INTERNAL"
    yield "enhance your calm is final without RetryInfo", lambda: Grpc(reset(11)), {}, REFUSED, ""
    yield "exhausted is final without RetryInfo", lambda: Grpc(8), {}, REFUSED, "RESOURCE_EXHAUSTED"
    yield ("exhausted with RetryInfo", lambda: Grpc(throttled, 0), {"retry_initial": "10ms"}, {"retries": 1},
           "RESOURCE_EXHAUSTED: slow down")
    yield "compressed, of partial success", lambda: Grpc(compressed), {}, rejects(2), "2 of 4 profiles"
    yield "trailers only", lambda: Grpc(trailers_only), {}, REFUSED, "INVALID_ARGUMENT: no such?thing"
    yield "without status", lambda: Grpc(no_status), {}, REFUSED, "no grpc-status"
    yield "longer than 4 MiB", lambda: Grpc(too_long, 0), {}, REFUSED, "longer than 4 MiB"
    yield "pings in between", lambda: Grpc(pings), {}, None, ""
    for status, name, retried in (("503", "UNAVAILABLE", True), ("404", "UNIMPLEMENTED", False),
                                  ("401", "UNAUTHENTICATED", False), ("302", "UNKNOWN", False)):
        yield (f"HTTP {status}", lambda status=status: Grpc(plain_status(status)), PATIENT if retried else {},
               {"accepted_requests": 0} if retried else REFUSED, f"{name}: HTTP status {status} instead of gRPC")


@case
def answers_that_are_bombs():
    send(Grpc(bomb).url).all_arrived().stays_below(16384)
    send(Grpc(endless_headers).url, **BRIEF).expect(accepted_requests=0).stays_below(8192)


@case
def refusals_of_one_reason_are_said_once():
    send(Grpc(trailers_only).url, "-n", "3").expect(refused_requests=3).says_once("no such?thing")


# --- gRPC: connections ------------------------------------------------------------------------


def good(connection, _):
    Http2(connection).serve()


def goaway(http, last_stream):
    http.send(GOAWAY, 0, 0, struct.pack(">II", last_stream, 0))


@case
def goaway_for_a_stream_not_seen():
    def serve(connection, number):
        http = Http2(connection)
        if number > 1:
            http.serve()
        http.next_headers()
        goaway(http, 0)
        time.sleep(0.1)
    server = Server(serve)
    send(server.url, **SLOW_RETRY).all_arrived(retries=0)
    must(server.connections == 2, f"{server.connections} connections")


@case
def goaway_in_mid_call_lets_it_end():
    def serve(connection, number):
        http = Http2(connection)
        while True:
            stream = http.next_request()
            if number == 1:
                goaway(http, stream)
                time.sleep(0.05)
            http.answer(stream)
    server = Server(serve)
    send(server.url, "-n", "4", "-e", "100").all_arrived(retries=0)
    must(server.connections == 2, f"{server.connections} connections")


@case
def goaway_always():
    def serve(connection, _):
        goaway(Http2(connection), 0)
        time.sleep(0.05)
    server = Server(serve)
    send(server.url, **{**BRIEF, "retry_initial": "100ms"}).expect(**DROPPED)
    must(server.connections < 12, f"{server.connections} connections: no break between them")


@case
def windows_and_streams_that_never_open():
    """INITIAL_WINDOW_SIZE 0, MAX_CONCURRENT_STREAMS 0."""
    for setting, options in ((4, {"flush_timeout": "3s", "timeout": "500ms"}), (3, BRIEF)):
        server = Server(lambda connection, _, n=setting: Http2(connection, struct.pack(">HI", n, 0)).swallow())
        result = send(server.url, **options).expect(**DROPPED)
        result.uses_below(100000)
        result.expect("DEADLINE_EXCEEDED" if setting == 4 else "")


@case
def garbage():
    """Instead of a server, and behind good frames: each connection gets other bytes, the last ones a good server."""
    rng = random.Random(1)
    for behind in (False, True):
        def serve(connection, number, behind=behind):
            if number > 20:
                good(connection, number)
            if behind:
                Http2(connection).next_request()
            connection.sendall(rng.randbytes(rng.randrange(1, 4000)))
            time.sleep(0.02)
        send(Server(serve).url, timeout="3s", **FAST_RETRY).expect(dropped_requests=0)


@case
def idle_connection_that_was_closed():
    """The server hangs up after each answer: the next request finds out and loses no time."""
    def serve(connection, _):
        http = Http2(connection)
        http.answer(http.next_request())
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    send(Server(serve).url, "-n", "5", "-e", "60", **SLOW_RETRY).all_arrived(retries=0)


# --- other servers ----------------------------------------------------------------------------


def says(data):
    """A server that answers anything with this."""
    def serve(connection, _):
        connection.recv(65536)
        connection.sendall(data)
    return lambda: Server(serve)


def nobody():
    """The URL of a port that is taken, but where nobody listens; and what holds it."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    return f"http://127.0.0.1:{holder.getsockname()[1]}", holder


holders = [nobody() for _ in range(3)]
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"


@rows
def other_server():
    yield "HTTP/1", says(BAD_REQUEST), PATIENT, DROPPED, "the server speaks HTTP/1, not HTTP/2"
    yield "TLS", says(b"\x15\x03\x03\x00\x02\x02\x46"), PATIENT, DROPPED, "the server wants TLS: write https://"
    yield "silent", lambda: Server(lambda connection, _: time.sleep(5)), BRIEF, DROPPED, "no answer in time"
    yield "closes at once", lambda: Server(lambda c, n: None if n < 3 else good(c, n)), {}, None, "UNAVAILABLE"
    yield "nobody", lambda: holders[0][0], PATIENT, DROPPED, "Connection refused"
    yield "no such name", lambda: "http://no-such-name.invalid:4317", PATIENT, DROPPED, "no-such-name.invalid"
    yield ("plaintext for TLS", lambda: says(BAD_REQUEST)().url.replace("http:", "https:"), {**TLS, **PATIENT}, DROPPED,
           "does not speak TLS on this port")
    yield "gRPC for HTTP", says(b"\0\0\0\4\0\0\0\0\0"), {**HTTP, **PATIENT}, DROPPED, "the server speaks HTTP/2 only"


# --- cut and slow -----------------------------------------------------------------------------


@case
def cut_at_many_places():
    """Each connection ends a little later than the one before."""
    def context(name):
        return tls_context("server", name)
    for server, up, down, options in (
            (Grpc(0), [24, 33, 51, 60, *range(0, 2600, 67)], range(0, 130, 4), {}),
            (Http(OK), range(0, 2200, 140), range(0, len(OK), 9), HTTP),
            (Grpc(0, context=context("h2")), range(0, 3200, 160), range(0, 3200, 320), TLS)):
        for cuts in ({"up": up}, {"down": down}):
            proxy = Proxy(server.port, **cuts)
            send(proxy.url.replace("http:", server.url.split("/", 1)[0]), **FAST_RETRY, **options).all_arrived()
            must(proxy.connections > 5, f"{proxy.connections} connections")


@case
def slow_readers():
    for server, options in ((Grpc(0), {}), (Http(OK), HTTP), (Grpc(0, context=tls_context("server", "h2")), TLS)):
        proxy = Proxy(server.port, delay_s=0.004)
        result = send(proxy.url.replace("http:", server.url.split("/", 1)[0]), "-s", "379k", **options)
        result.all_arrived(retries=0).uses_below(300000)


@case
def http_reader_that_waits():
    """More than sockets hold: writes take less than all, with and without TLS."""
    def serve(connection, _):
        time.sleep(0.7)
        HttpRequest(connection)
        connection.sendall(OK)
    for context in (None, tls_context("server", "http/1.1")):
        send(Server(serve, context).url, "-s", "large", **LARGE, **HTTP, **TLS).all_arrived(accepted_requests=1,
                                                                                            retries=0)


@case
def long_message():
    result = send(Grpc(0).url, "-s", "large", **LARGE).all_arrived(accepted_requests=1)
    must(result.sent_bytes >= 8000000, f"only {result.sent_bytes} bytes")


# --- the queue, and breaks --------------------------------------------------------------------


@case
def queue_stays_in_its_bound():
    result = send(holders[1][0], "-q", "-n", "60", "-e", "5", "-s", "10,1000,300,20,600,4", queue_bytes="400000",
                  flush_timeout="100ms")
    result.expect(accepted_events=0, dropped_events=result.exported_events).stays_below(8192)
    must(300000 < result.max_queued_bytes <= 400000, f"{result.max_queued_bytes} bytes in the queue")


@case
def oldest_are_dropped_first():
    """While the receiver answers nothing well ten batches come, of which one or two fit: the last ones arrive."""
    batches = ["-n", "10", "-e", "20", "-s", "10,1000,300,20,600,4"]
    options = {"compression": "none", "max_request_bytes": "90000"}
    server = Grpc(0)
    send(server.url, *batches, **options).all_arrived()
    away = time.monotonic() + 2
    late = Grpc(lambda http, stream: http.answer(stream, status="14" if time.monotonic() < away else "0"))
    result = send(late.url, *batches, queue_bytes="250000", **options).expect("the queue is full")
    must(result.accepted_events + result.dropped_events == result.exported_events, "lost count")
    must(result.dropped_events > 0 and result.accepted_events > 0, str(result.numbers))
    must(late.bodies[-1] == server.bodies[-1], "the last request was dropped")


@case
def server_that_comes_later():
    url, holder = holders[2]
    result = {}
    thread = threading.Thread(target=lambda: result.update(r=send(url, "-n", "10", "-e", "20")))
    thread.start()
    time.sleep(3)
    Server(good, listener=holder)
    thread.join()
    result["r"].all_arrived("takes requests again")


@case
def each_outage_is_said():
    result = send(Grpc(UNAVAILABLE, 0, UNAVAILABLE, 0).url, "-n", "2", "-e", "300").all_arrived(retries=2)
    must(result.log.count("wait and will be sent again") == 2, result.log)


@case
def a_break_begins_anew_after_each_outage():
    """It has grown to more than a second in the first."""
    server = Grpc(*[UNAVAILABLE] * 8, 0, UNAVAILABLE, 0)
    send(server.url, "-n", "2", retry_max="60s").all_arrived(retries=9)
    times = server.times
    must(times[10] - times[9] < times[8] - times[7], f"{times[10] - times[9]} s, before {times[8] - times[7]} s")


# --- TLS --------------------------------------------------------------------------------------


@case
def tls_versions():
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = tls_context("server", "h2")
        context.maximum_version = version
        send(Grpc(0, context=context).url, "-n", "3", **TLS).all_arrived()


def tls(name, *protocols):
    return lambda: Grpc(0, context=tls_context(name, *protocols))


def tls_of_clients():
    context = tls_context("server", "h2")
    context.load_verify_locations(f"{certs}/ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return Grpc(0, context=context)


@rows
def certificate():
    refused = {"accepted_requests": 0}
    pair = {"cert_file": f"{certs}/client.pem", "key_file": f"{certs}/client.key"}
    yield "of a name", lambda: tls("server", "h2")().url.replace("127.0.0.1", "localhost"), TLS, None, ""
    yield ("anybody's", tls("server", "h2"), {"ca_file": f"{certs}/stranger.pem", "insecure_skip_verify": "true"}, None,
           "anybody on the way")
    yield "the client's", tls_of_clients, {**TLS, **pair}, None, ""
    yield "the client's is missing", tls_of_clients, {**TLS, **BRIEF}, DROPPED, ""
    yield "no agreement", tls("server"), {**TLS, **PATIENT}, DROPPED, "(ALPN)"
    yield "another protocol", tls("server", "http/1.1"), {**TLS, **PATIENT}, DROPPED, "h2"
    yield "expired", tls("expired", "h2"), {**TLS, **PATIENT}, refused, "certificate has expired"
    yield "somebody else's", tls("other", "h2"), {**TLS, **PATIENT}, refused, "certificate is refused"
    yield "somebody else's, expected", tls("other", "h2"), {**TLS, "server_name": "other.example.com"}, None, ""
    system = {**os.environ, "SSL_CERT_FILE": f"{certs}/stranger.pem", "SSL_CERT_DIR": "/nowhere"}
    yield "of no authority of the system", tls("server", "h2"), {**PATIENT,
                                                                 "env": system}, refused, "certificate is refused"


@case
def files_that_are_missing():
    send("https://127.0.0.1:1", ca_file="/nowhere/ca.pem", status=(1,)).expect("/nowhere/ca.pem: No such file")
    broken = f"{bench.directory}/broken.pem"
    with open(broken, "w", encoding="utf-8") as file:
        file.write("no certificate\n")
    send("https://127.0.0.1:1", ca_file=broken, **PATIENT).expect("no certificates can be read")
    send(Grpc(0).url, header_files="authorization=/nowhere/token", **PATIENT).expect(
        "/nowhere/token: No such file", **DROPPED)


@case
def authority_that_is_renewed():
    """A file that has changed is read again before the next try."""
    path, server = f"{bench.directory}/renewed.pem", Grpc(0, context=tls_context("server", "h2"))
    shutil.copy(f"{certs}/stranger.pem", path)

    def renew():
        while server.connections == 0:
            time.sleep(0.01)
        shutil.copy(f"{certs}/ca.pem", path + ".new")
        os.rename(path + ".new", path)
    threading.Thread(target=renew).start()
    send(server.url, ca_file=path).all_arrived("certificate is refused")


# --- OTLP/HTTP --------------------------------------------------------------------------------


@case
def http_is_accepted():
    """The bytes are those that gRPC carries."""
    server, grpc = Http(OK), Grpc(0)
    send(server.url, "-n", "3", "-s", "379k", headers="x-scope=a%20b", **HTTP).all_arrived()
    send(grpc.url, "-n", "3", "-s", "379k", compression="none").all_arrived()
    must([request.body for request in server.requests] == [body[5:] for body in grpc.bodies], "other bytes arrived")
    must(server.connections == 1, f"{server.connections} connections")
    request = server.requests[0]
    must(request.path == "/v1development/profiles" and request.method == "POST", request.path)
    must(request.headers["content-type"] == "application/x-protobuf", str(request.headers))
    must(request.headers["content-encoding"] == "gzip", str(request.headers))
    must(request.headers["x-scope"] == "a b", str(request.headers))


@case
def http_path_of_ones_own():
    server = Http(OK)
    send(server.url + "/tenant/1/profiles", compression="none", **HTTP).all_arrived()
    must(server.requests[0].path == "/tenant/1/profiles", server.requests[0].path)
    must("content-encoding" not in server.requests[0].headers, "compressed")


@case
def headers_up_to_the_limit():
    """With our own, which both protocols send."""
    server, headers = Http(OK), ",".join(f"x-{i}={i}" for i in range(32))
    send(server.url, headers=headers, **HTTP).all_arrived()
    sent = server.requests[0].headers
    must(all(sent.get(f"x-{i}") == str(i) for i in range(32)), str(sent))
    must(sent["user-agent"].startswith("ebpf-profiler-otlp/"), str(sent))
    send(Grpc(0).url, headers=headers).all_arrived()


@case
def header_of_a_file():
    path, server = f"{bench.directory}/token.txt", Http(OK)
    with open(path, "w", encoding="utf-8") as file:
        file.write("rotated\n")
    send(server.url, header_files=f"authorization={path}", **HTTP).all_arrived()
    must(server.requests[0].headers["authorization"] == "rotated", str(server.requests[0].headers))


@case
def http_answers_of_all_forms():
    chunked = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "
               b"application/x-protobuf\r\n\r\n5;x=y\r\n" + PARTIAL[:5] + b"\r\n9\r\n" +
               PARTIAL[5:] + b"\r\n0\r\nTrailer: x\r\n\r\n")
    until_end = b"HTTP/1.0 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n" + PARTIAL
    packed = http_answer("200 OK", gzip.compress(PARTIAL), "Content-Encoding: gzip")
    for answer, rejected in ((chunked, 2), (until_end, 2), (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 0), (packed, 2),
                             (http_answer("202 Accepted", PARTIAL, "Connection: close"), 2),
                             (b"HTTP/1.1 204 No Content\r\n\r\n", 0)):
        result = send(Http(answer).url, "-n", "2", **HTTP)
        result.expect(accepted_requests=2, retries=0, rejected_profiles=2 * rejected,
                      accepted_events=80 - 20 * rejected, refused_events=20 * rejected)
        must(result.log.count("too old!") == (1 if rejected else 0), result.log)


@rows
def http_error():
    for status in ("429 Too Many Requests", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"):
        yield (status, lambda status=status: Http(http_answer(status), OK), HTTP, {"retries": 1}, f"HTTP {status[:3]}")
    for status, words in (("400 Bad Request", "bad profile"), ("404 Not Found", "no such path"),
                          ("401 Unauthorized", "look at headers"), ("500 Oops", "HTTP 500"),
                          ("307 Temporary Redirect", "HTTP 307"), ("413 Too Large", "lower max")):
        yield status, lambda status=status: Http(http_answer(status, STATUS)), HTTP, REFUSED, words
    for answer in (b"\0\0\x12\x04\0\0\0\0\0", b"SSH-2.0-x\r\n", b"HTTP/1.1 xyz\r\n\r\n"):
        yield repr(answer), lambda answer=answer: Http(answer), {**HTTP, **BRIEF}, {"accepted_requests": 0}, ""
    yield "too long", says(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), HTTP, REFUSED, "too long"
    yield "hung up", lambda: Http(OK, b"", OK), {**HTTP, **SLOW_RETRY}, {"retries": 0}, ""
    yield "TLS", lambda: Http(OK, context=tls_context("server")), {**HTTP, **TLS}, None, ""
    yield "TLS with ALPN", lambda: Http(OK, context=tls_context("server", "http/1.1")), {**HTTP, **TLS}, None, ""


@case
def http_connection_that_was_closed():
    send(Http(OK, b"", OK, b"", OK).url, "-n", "3", "-e", "50", **SLOW_RETRY, **HTTP).all_arrived(retries=0)


@case
def retry_after_is_kept_to():
    started = time.monotonic()
    send(Http(http_answer("503 Busy", b"", "Retry-After: 1"), OK).url, **HTTP).all_arrived()
    must(time.monotonic() - started > 1, "it came too soon")


@case
def http_error_while_sending():
    """Answers after the head: what it has not read yet is no next request, so the connection is not used again.

    It reads on when the second connection is there: had it read before, all could be sent when the answer is seen.
    """
    behind, is_second = [], threading.Event()

    def serve(connection, number):
        if number == 1:
            connection.recv(1000)
            connection.sendall(http_answer("413 Too Large"))
            is_second.wait(60)
            while data := connection.recv(65536):
                behind.append(data)
            return
        is_second.set()
        while HttpRequest(connection):
            connection.sendall(OK)
    server = Server(serve)
    result = send(server.url, "-n", "2", "-s", "large", **LARGE, **HTTP)
    result.expect(refused_requests=1, accepted_requests=1, retries=0)
    must(server.connections == 2 and b"POST " not in b"".join(behind), f"{server.connections} connections")


# --- environment ------------------------------------------------------------------------------


@case
def endpoint_of_the_environment():
    server, grpc = Http(OK), Grpc(0)
    env = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": server.url + "/base",
           "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
           "OTEL_EXPORTER_OTLP_HEADERS": "x-from=environment", "OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION": "none"}
    send("", env=env, headers=None).all_arrived()
    request = server.requests[0]
    must(request.path == "/base/v1development/profiles", request.path)
    must(request.headers.get("x-from") == "environment", str(request.headers))
    must("content-encoding" not in request.headers, "compressed")
    send(grpc.url, env=env, protocol="grpc").all_arrived()
    must(grpc.connections == 1, "the option does not win")


sys.exit(bench.run(6))

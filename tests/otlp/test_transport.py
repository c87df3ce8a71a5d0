#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exporter against receivers that break the rules, are away, slow, or something else.

    test_transport.py OTLP_SEND OTLP_CHECK
"""
import gzip
import os
import random
import socket
import ssl
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
from fake import (DATA, GOAWAY, HEADERS, PING, RST_STREAM, Http2, HttpRequest,  # noqa: E402
                  Proxy, Server, fields, frame)
from otlp_test import Bench, Failure, make_certs  # noqa: E402

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n"
PARTIAL = b"\x0a\x0c\x08\x02\x12\x08too old!"
STATUS = b"\x08\x03\x12\x0bbad profile"  # google.rpc.Status
BRIEF = {"flush_timeout": "300ms", "timeout": "200ms"}
PATIENT = {"flush_timeout": "1500ms", "timeout": "1s"}  # for an answer that a busy machine gives late

bench = Bench(*sys.argv[1:3])
send, case = bench.send, bench.case


def good(connection, _):
    Http2(connection).serve()


def after(n, bad):
    """bad for the first n connections, then good."""
    return lambda connection, number: (bad if number <= n else good)(connection, number)


def must(condition, what):
    if not condition:
        raise Failure(what)


# --- HTTP/2 -----------------------------------------------------------------------------------


def reset(code):
    def serve(connection, number):
        http = Http2(connection)
        stream = http.next_request()
        if number == 1:
            http.send(RST_STREAM, 0, stream, struct.pack(">I", code))
            stream = http.next_request()
        http.answer(stream)
        http.serve()
    return serve


@case
def refused_stream_is_sent_again_at_once():
    send(Server(reset(7)).url, retry_initial="5s", retry_max="5s").all_arrived(retries=0)


@case
def stream_that_is_cancelled_is_tried_again():
    send(Server(reset(8)).url).all_arrived(retries=1)


@case
def internal_error_is_final():
    result = send(Server(reset(2)).url)
    result.expect(refused_requests=1, retries=0, says="INTERNAL: the stream was reset: INTERNAL_ERROR")


@case
def enhance_your_calm_is_final_without_retry_info():
    send(Server(reset(11)).url).expect(refused_requests=1, retries=0)


@case
def goaway_for_a_stream_not_seen():
    def serve(connection, number):
        http = Http2(connection)
        if number == 1:
            http.next_headers()
            http.send(GOAWAY, 0, 0, struct.pack(">II", 0, 0))
            time.sleep(0.1)
            return
        http.serve()
    server = Server(serve)
    send(server.url, retry_initial="5s", retry_max="5s").all_arrived(retries=0)
    must(server.connections == 2, f"{server.connections} connections")


@case
def goaway_in_mid_call_lets_it_end():
    def serve(connection, number):
        http = Http2(connection)
        while True:
            stream = http.next_request()
            if number == 1:
                http.send(GOAWAY, 0, 0, struct.pack(">II", stream, 0))
                time.sleep(0.05)
            http.answer(stream)
    server = Server(serve)
    send(server.url, "-n", "4", "-e", "100").all_arrived(retries=0)
    must(server.connections == 2, f"{server.connections} connections")


@case
def goaway_always():
    def serve(connection, _):
        http = Http2(connection)
        http.send(GOAWAY, 0, 0, struct.pack(">II", 0, 0))
        time.sleep(0.05)
    server = Server(serve)
    send(server.url, **{**BRIEF, "retry_initial": "100ms"}).expect(accepted_requests=0, dropped_requests=1)
    must(server.connections < 12, f"{server.connections} connections: no break between them")


@case
def trailers_only():
    def serve(connection, _):
        http = Http2(connection)
        http.headers(http.next_request(), ("content-type", "application/grpc"),
                     ("grpc-status", "3"), ("grpc-message", "no%20such%0Athing"), end=True)
        http.serve()
    send(Server(serve).url).expect(refused_requests=1, says="INVALID_ARGUMENT: no such?thing")


@case
def http_errors_instead_of_grpc():
    for status, name, retries in (("503", "UNAVAILABLE", True), ("404", "UNIMPLEMENTED", False),
                                  ("401", "UNAUTHENTICATED", False), ("302", "UNKNOWN", False)):
        def serve(connection, _, status=status):
            http = Http2(connection)
            while True:
                http.headers(http.next_request(), ("content-type", "text/html"), end=True,
                             status=status)
        result = send(Server(serve).url, **PATIENT)
        result.expect(accepted_requests=0, says=f"{name}: HTTP status {status} instead of gRPC")
        must((result.retries > 0) == retries, f"{status}: {result.retries} retries")


@case
def answer_without_status():
    def serve(connection, _):
        http = Http2(connection)
        stream = http.next_request()
        http.headers(stream, ("content-type", "application/grpc"))
        http.data(stream, frame(b""), end=True)
        http.serve()
    send(Server(serve).url).expect(refused_requests=1, says="no grpc-status")


@case
def answer_that_is_too_long():
    def serve(connection, _):
        http = Http2(connection)
        stream = http.next_request()
        http.headers(stream, ("content-type", "application/grpc"))
        left = 6 << 20
        credit = 65535
        while left:
            n = min(left, credit, 16384)
            http.send(DATA, 0, stream, b"\0" * n)
            left, credit = left - n, credit - n
            while credit < 16384:
                kind, _, where, payload = http.receive()
                if kind == RST_STREAM:
                    http.serve()
                if kind == 8 and where == stream:
                    credit += struct.unpack(">I", payload)[0]
    result = send(Server(serve).url, timeout="20s", flush_timeout="20s")
    result.expect(refused_requests=1, says="longer than 4 MiB")


@case
def answer_that_is_a_bomb():
    bomb = frame(b"\0" * (64 << 20), compressed=True)

    def serve(connection, _):
        http = Http2(connection)
        stream = http.next_request()
        http.headers(stream, ("content-type", "application/grpc"), ("grpc-encoding", "gzip"))
        http.data(stream, bomb)
        http.trailers(stream, ("grpc-status", "0"))
        http.serve()
    result = send(Server(serve).url)
    result.all_arrived()
    result.stays_below(16384)


@case
def headers_without_end():
    def serve(connection, _):
        http = Http2(connection)
        stream = http.next_request()
        http.send(HEADERS, 0, stream, fields((":status", "200"), ("a", "b" * 16000)))
        for _ in range(400):
            http.send(9, 0, stream, fields(("a", "b" * 16000)))
    result = send(Server(serve).url, **BRIEF)
    result.expect(accepted_requests=0)
    result.stays_below(8192)


@case
def many_settings_and_pings():
    def serve(connection, _):
        http = Http2(connection)
        stream = http.next_request()
        for i in range(2000):
            http.send(PING, 0, 0, struct.pack(">Q", i))
        http.answer(stream)
        http.serve()
    send(Server(serve).url, flush_timeout="1s").expect(dropped_events=0)


@case
def window_that_never_opens():
    def serve(connection, _):
        http = Http2(connection, struct.pack(">HI", 4, 0))  # INITIAL_WINDOW_SIZE 0
        while True:
            http.receive()
    result = send(Server(serve).url, **PATIENT)
    result.expect(accepted_requests=0, dropped_requests=1, says="DEADLINE_EXCEEDED")
    must(result.cpu_us < 100000, f"{result.cpu_us} us of CPU: it spins")


@case
def no_streams_allowed():
    def serve(connection, _):
        http = Http2(connection, struct.pack(">HI", 3, 0))  # MAX_CONCURRENT_STREAMS 0
        while True:
            http.receive()
    send(Server(serve).url, **BRIEF).expect(accepted_requests=0, dropped_requests=1)


@case
def garbage():
    rng = random.Random(1)
    for _ in range(20):
        data = rng.randbytes(rng.randrange(1, 4000))

        def serve(connection, _, data=data):
            connection.sendall(data)
            time.sleep(0.02)
        send(Server(serve).url, retry_initial="20ms", retry_max="20ms",
             flush_timeout="100ms", timeout="60ms").expect(accepted_requests=0, dropped_requests=1)


@case
def garbage_behind_good_frames():
    rng = random.Random(2)
    for _ in range(20):
        data = rng.randbytes(rng.randrange(1, 200))

        def bad(connection, _, data=data):
            http = Http2(connection)
            http.next_request()
            connection.sendall(data)
            time.sleep(0.02)
        send(Server(after(1, bad)).url, timeout="100ms", retry_initial="20ms").expect(dropped_requests=0)


# --- other servers ----------------------------------------------------------------------------


@case
def http_1_server():
    def serve(connection, _):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    result = send(Server(serve).url, **PATIENT)
    result.expect(accepted_requests=0, dropped_requests=1, says="the server speaks HTTP/1, not HTTP/2")


@case
def tls_server_for_plaintext():
    def serve(connection, _):
        connection.recv(65536)
        connection.sendall(b"\x15\x03\x03\x00\x02\x02\x46")
    send(Server(serve).url, **PATIENT).says("the server wants TLS: write https://")


@case
def closes_at_once():
    server = Server(after(2, lambda connection, number: None))
    result = send(server.url)
    result.all_arrived()
    result.says("UNAVAILABLE")


@case
def says_nothing():
    result = send(Server(lambda connection, number: time.sleep(5)).url, **BRIEF)
    result.expect(accepted_requests=0, dropped_requests=1, says="no answer in time")


def nobody():
    """The URL of a port that is taken, but where nobody listens; and what holds it."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    return f"http://127.0.0.1:{holder.getsockname()[1]}", holder


@case
def nobody_listens():
    url, _holder = nobody()
    send(url, **PATIENT).expect(accepted_requests=0, dropped_requests=1, says="Connection refused")


@case
def name_that_does_not_exist():
    result = send("http://no-such-name.invalid:4317", flush_timeout="300ms")
    result.expect(accepted_requests=0, dropped_requests=1, says="no-such-name.invalid")


@case
def server_that_comes_later():
    url, holder = nobody()
    result = {}
    thread = threading.Thread(target=lambda: result.update(r=send(url, "-n", "10", "-e", "20")))
    thread.start()
    time.sleep(0.6)
    Server(good, listener=holder)
    thread.join()
    result["r"].all_arrived()
    result["r"].says("takes requests again")


@case
def idle_connection_that_was_closed():
    """The server hangs up after each answer: the next request finds out and loses no time."""
    def serve(connection, _):
        http = Http2(connection)
        http.answer(http.next_request())
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    send(Server(serve).url, "-n", "5", "-e", "60", retry_initial="5s", retry_max="5s").all_arrived(retries=0)


# --- cut and slow -----------------------------------------------------------------------------


@case
def cut_at_every_place_going_up():
    server = Server(good)
    for cut in list(range(0, 2600, 67)) + [24, 33, 51, 60]:
        send(Proxy(server.port, cut_up=cut).url, retry_initial="10ms", timeout="2s").all_arrived()


@case
def cut_at_every_place_coming_down():
    server = Server(good)
    for cut in range(0, 130, 4):
        send(Proxy(server.port, cut_down=cut).url, retry_initial="10ms", timeout="2s").all_arrived()


@case
def slow_reader():
    result = send(Proxy(Server(good).port, delay_s=0.004).url, "-s", "379k", timeout="6s")
    result.all_arrived(retries=0)
    must(result.cpu_us < 200000, f"{result.cpu_us} us of CPU: it spins")


# --- the queue --------------------------------------------------------------------------------


@case
def queue_stays_in_its_bound():
    url, _holder = nobody()
    result = send(url, "-q", "-n", "60", "-e", "5", "-s", "10,1000,300,20,600,4",
                  queue_bytes="400000", flush_timeout="100ms")
    must(result.max_queued_bytes <= 400000, f"{result.max_queued_bytes} bytes in the queue")
    must(result.max_queued_bytes > 300000, f"{result.max_queued_bytes} bytes in the queue")
    result.expect(accepted_events=0, dropped_events=result.exported_events)
    result.stays_below(8192)


@case
def oldest_are_dropped_first():
    """While the receiver is away ten batches come, of which some two fit: the last ones arrive."""
    started = time.monotonic()
    bodies = []

    def serve(connection, _):
        http = Http2(connection)
        if time.monotonic() - started < 0.5:
            return
        while True:
            stream = http.next_request()
            bodies.append(http.bodies[stream])
            http.answer(stream)
    result = send(Server(serve).url, "-n", "10", "-e", "20", "-s", "10,1000,300,20,600,4",
                  queue_bytes="100000", compression="none", max_request_bytes="90000")
    must(result.accepted_events + result.dropped_events == result.exported_events, "lost count")
    must(result.dropped_events > 0 and result.accepted_events > 0, str(result.numbers))
    result.says("the queue is full")


# --- TLS --------------------------------------------------------------------------------------

certs = make_certs(f"{bench.directory}/certs")
TLS = {"ca_file": f"{certs}/ca.pem"}


def tls_context(name, *protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{certs}/{name}.pem", f"{certs}/{name}.key")
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


@case
def tls_that_is_good():
    send(Server(good, tls_context("server", "h2")).url, "-n", "3", **TLS).all_arrived()


@case
def tls_1_2():
    context = tls_context("server", "h2")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    send(Server(good, context).url, "-n", "3", **TLS).all_arrived()


@case
def tls_without_agreement():
    for protocols in ((), ("http/1.1",)):
        result = send(Server(good, tls_context("server", *protocols)).url, **TLS, **PATIENT)
        result.expect(accepted_requests=0, dropped_requests=1)
        result.says("(ALPN)" if not protocols else "h2")


@case
def certificate_that_expired():
    result = send(Server(good, tls_context("expired", "h2")).url, **TLS, **PATIENT)
    result.expect(accepted_requests=0, says="certificate has expired")


@case
def certificate_of_somebody_else():
    result = send(Server(good, tls_context("other", "h2")).url, **TLS, **PATIENT)
    result.expect(accepted_requests=0, says="certificate is refused")
    send(Server(good, tls_context("other", "h2")).url, server_name="other.example.com",
         **TLS).all_arrived()


@case
def certificate_of_no_authority_of_the_system():
    result = send(Server(good, tls_context("server", "h2")).url, flush_timeout="1s")
    result.expect(accepted_requests=0, says="certificate is refused")


@case
def tls_for_a_plaintext_server():
    def serve(connection, _):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    result = send(Server(serve).url.replace("http:", "https:"), **TLS, **PATIENT)
    result.expect(accepted_requests=0, says="does not speak TLS on this port")


@case
def files_that_are_missing():
    send("https://127.0.0.1:1", ca_file="/nowhere/ca.pem", status=1).says("/nowhere/ca.pem: No such file")
    broken = f"{bench.directory}/broken.pem"
    with open(broken, "w") as file:
        file.write("no certificate\n")
    send("https://127.0.0.1:1", ca_file=broken, **PATIENT).says("no certificates can be read")


@case
def tls_with_a_slow_reader():
    proxy = Proxy(Server(good, tls_context("server", "h2")).port, delay_s=0.004)
    result = send(f"https://127.0.0.1:{proxy.port}", "-s", "379k", timeout="6s", **TLS)
    result.all_arrived(retries=0)
    must(result.cpu_us < 300000, f"{result.cpu_us} us of CPU: it spins")


@case
def http_with_a_slow_reader():
    proxy = Proxy(http_server(OK).port, delay_s=0.004)
    result = send(proxy.url, "-s", "379k", timeout="6s", **HTTP)
    result.all_arrived()
    must(result.cpu_us < 200000, f"{result.cpu_us} us of CPU: it spins")


@case
def http_reader_that_waits():
    """More than sockets hold: writes take less than all, with and without TLS."""
    def serve(connection, _):
        time.sleep(0.7)
        HttpRequest(connection)
        connection.sendall(OK)
    for context in (None, tls_context("server", "http/1.1")):
        send(Server(serve, context).url, "-s", "large", compression="none",
             max_request_bytes="40000000", queue_bytes="64000000", timeout="20s",
             flush_timeout="20s", **HTTP, **TLS).all_arrived(accepted_requests=1, retries=0)


@case
def tls_cut_at_many_places():
    server = Server(good, tls_context("server", "h2"))
    for cut in range(0, 3200, 160):
        proxy = Proxy(server.port, cut_up=cut)
        send(f"https://127.0.0.1:{proxy.port}", retry_initial="10ms", timeout="2s",
             **TLS).all_arrived()


# --- OTLP/HTTP --------------------------------------------------------------------------------

HTTP = {"protocol": "http/protobuf"}


def http_server(*answers, context=None, save=None):
    """Each request gets the next answer, the last one for ever; b"" hangs up."""
    state = {"n": 0}

    def serve(connection, _):
        while True:
            request = HttpRequest(connection)
            answer = answers[min(state["n"], len(answers) - 1)]
            state["n"] += 1
            if save:
                os.makedirs(f"{bench.directory}/{save}", exist_ok=True)
                with open(f"{bench.directory}/{save}/{state['n']}.bin", "wb") as file:
                    file.write(request.body)
                server.requests.append(request)
            if not answer:
                return
            connection.sendall(answer)
            if b"onnection: close" in answer or b"HTTP/1.0" in answer:
                return
    server = Server(serve, context)
    server.requests = []
    return server


def http_answer(status, body=b"", *headers, kind="application/x-protobuf"):
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


@case
def http_is_accepted():
    server = http_server(OK, save="http")
    result = send(server.url, "-n", "3", "-s", "379k", extra_headers=",x-scope=a%20b", **HTTP)
    result.all_arrived()
    must(bench.events_of("http") == result.exported_events, "other events arrived")
    must(server.connections == 1, f"{server.connections} connections")
    request = server.requests[0]
    must(request.path == "/v1development/profiles" and request.method == "POST", request.path)
    must(request.headers["content-type"] == "application/x-protobuf", str(request.headers))
    must(request.headers["content-encoding"] == "gzip", str(request.headers))
    must(request.headers["x-scope"] == "a b", str(request.headers))


@case
def http_path_of_ones_own():
    server = http_server(OK, save="path")
    send(server.url + "/tenant/1/profiles", compression="none", **HTTP).all_arrived()
    must(server.requests[0].path == "/tenant/1/profiles", server.requests[0].path)
    must("content-encoding" not in server.requests[0].headers, "compressed")


@case
def http_answers_of_all_forms():
    chunked = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "
               b"application/x-protobuf\r\n\r\n5;x=y\r\n" + PARTIAL[:5] + b"\r\n9\r\n" +
               PARTIAL[5:] + b"\r\n0\r\nTrailer: x\r\n\r\n")
    until_end = b"HTTP/1.0 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n" + PARTIAL
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" + OK
    packed = http_answer("200 OK", gzip.compress(PARTIAL), "Content-Encoding: gzip")
    for answer, rejected in ((chunked, 2), (until_end, 2), (interim, 0), (packed, 2),
                             (http_answer("202 Accepted", PARTIAL, "Connection: close"), 2),
                             (b"HTTP/1.1 204 No Content\r\n\r\n", 0)):
        result = send(http_server(answer).url, "-n", "2", **HTTP)
        result.all_arrived(retries=0, rejected_profiles=2 * rejected)
        must(result.log.count("too old!") == (1 if rejected else 0), result.log)


@case
def http_errors_that_pass():
    for status in ("429 Too Many Requests", "502 Bad Gateway", "503 Service Unavailable",
                   "504 Gateway Timeout"):
        result = send(http_server(http_answer(status), OK).url, **HTTP)
        result.all_arrived(retries=1)
        result.says(f"HTTP {status[:3]}")


@case
def http_retry_after_is_kept_to():
    started = time.monotonic()
    send(http_server(http_answer("503 Busy", b"", "Retry-After: 1"), OK).url, **HTTP).all_arrived()
    must(time.monotonic() - started > 1, "it came too soon")


@case
def http_errors_that_stay():
    for status, words in (("400 Bad Request", "bad profile"), ("404 Not Found", "no such path"),
                          ("401 Unauthorized", "look at headers"), ("500 Oops", "HTTP 500"),
                          ("307 Temporary Redirect", "HTTP 307"), ("413 Too Large", "lower max")):
        result = send(http_server(http_answer(status, STATUS)).url, **HTTP)
        result.expect(refused_requests=1, retries=0, says=words)


@case
def http_error_while_sending():
    """Answers after the head and stops reading."""
    def serve(connection, number):
        if number > 1:
            HttpRequest(connection)
            connection.sendall(OK)
            return
        connection.recv(1000)
        connection.sendall(http_answer("413 Too Large", b"", "Connection: close"))
        time.sleep(0.3)
    result = send(Server(serve).url, "-s", "large", compression="none", queue_bytes="64000000",
                  **HTTP)
    must(result.refused_requests >= 1, str(result.numbers))


@case
def http_connection_that_was_closed():
    send(http_server(OK, b"", OK, b"", OK).url, "-n", "3", "-e", "50",
         retry_initial="5s", retry_max="5s", **HTTP).all_arrived(retries=0)


@case
def http_cut_and_garbage():
    target = http_server(OK)
    for cut in range(0, 2200, 140):
        send(Proxy(target.port, cut_up=cut).url, retry_initial="10ms", timeout="2s",
             **HTTP).all_arrived()
    for cut in range(0, len(OK), 9):
        send(Proxy(target.port, cut_down=cut).url, retry_initial="10ms", timeout="2s",
             **HTTP).all_arrived()
    for garbage_answer in (b"\0\0\x12\x04\0\0\0\0\0", b"SSH-2.0-x\r\n", b"HTTP/1.1 xyz\r\n\r\n",
                           b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"):
        send(http_server(garbage_answer).url, **BRIEF, **HTTP).expect(accepted_requests=0)


@case
def http_over_tls():
    for protocols in ((), ("http/1.1",)):
        server = http_server(OK, context=tls_context("server", *protocols))
        send(server.url, "-n", "2", **HTTP, **TLS).all_arrived()


@case
def http_to_a_grpc_server():
    send(Server(good).url, **HTTP, **BRIEF).expect(accepted_requests=0)


# --- environment ------------------------------------------------------------------------------


@case
def endpoint_of_the_environment():
    server = http_server(OK, save="env")
    env = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": server.url + "/base",
           "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
           "OTEL_EXPORTER_OTLP_HEADERS": "x-from=environment",
           "OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION": "none"}
    send("", env=env, headers=None).all_arrived()
    request = server.requests[0]
    must(request.path == "/base/v1development/profiles", request.path)
    must(request.headers.get("x-from") == "environment", str(request.headers))
    must("content-encoding" not in request.headers, "compressed")
    grpc = Server(good)
    send(grpc.url, env=env, protocol="grpc").all_arrived()
    must(grpc.connections == 1, "the option does not win")


sys.exit(bench.run(6))

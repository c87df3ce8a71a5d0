#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds of fuzz_otlp, in a directory. The first byte says what reads the rest."""
import gzip
import struct
import sys

GRPC, HTTP, STATUS, BASE64, GUNZIP, PAIRS, REQUEST, HEADER = range(8)
RETRY = (b"\x08\x0e\x12\x04busy\x1a\x30\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
         b"\x12\x04\x0a\x02\x08\x07")
PARTIAL = b"\x0a\x0c\x08\x02\x12\x08too old!"


def frame(kind, flags, stream, payload=b""):
    return (struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) +
            payload)


def fields(*pairs):
    return b"".join(b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value
                    for name, value in pairs)


def message(body, packed=False):
    body = gzip.compress(body, mtime=0) if packed else body
    return bytes([packed]) + struct.pack(">I", len(body)) + body


def grpc(status, *pairs, body=b"", packed=False):
    start = frame(4, 0, 0) + frame(4, 1, 0)
    head = frame(1, 4, 1, fields((b":status", b"200"), (b"content-type", b"application/grpc")))
    data = frame(0, 0, 1, message(body, packed))
    return start + head + data + frame(1, 5, 1, fields((b"grpc-status", status), *pairs))


SEEDS = {
    "grpc-ok": (GRPC, grpc(b"0")),
    "grpc-partial": (GRPC, grpc(b"0", body=PARTIAL, packed=True)),
    "grpc-busy": (GRPC, grpc(b"8", (b"grpc-message", b"slow%20down"), (
        b"grpc-status-details-bin", b"CA4SBGJ1c3kaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJ"
        b"ldHJ5SW5mbxIECgIIBw=="))),
    "grpc-reset": (GRPC, frame(4, 0, 0) + frame(3, 0, 1, struct.pack(">I", 7))),
    "grpc-goaway": (GRPC, frame(4, 0, 0) + frame(7, 0, 0, struct.pack(">II", 0, 11) + b"calm") +
                    frame(6, 0, 0, b"12345678") + frame(8, 0, 0, struct.pack(">I", 1000))),
    "grpc-trailers-only": (GRPC, frame(4, 0, 0, struct.pack(">HI", 4, 100)) + frame(
        1, 5, 1, fields((b":status", b"503"), (b"content-type", b"text/html")))),
    "http-ok": (HTTP, b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"
                      b"Content-Length: %d\r\n\r\n" % len(PARTIAL) + PARTIAL),
    "http-chunked": (HTTP, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nRetry-After: 7\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n"),
    "http-gzip": (HTTP, b"HTTP/1.0 400 Bad\r\nContent-Encoding: gzip\r\nRetry-After: Wed, 21 Oct "
                        b"2037 07:28:00 GMT\r\n\r\n" + gzip.compress(RETRY, mtime=0)),
    "http-status": (HTTP, b"HTTP/1.1 401 No\r\nContent-Type: application/x-protobuf\r\n"
                          b"Content-Length: 48\r\n\r\n" + RETRY[:48]),
    "status": (STATUS, RETRY),
    "base64": (BASE64, b"CA4SBGJ1c3kaMAoodHlwZS5nb29nbGVhcGlzLmNvbS8"),
    "gunzip": (GUNZIP, gzip.compress(PARTIAL * 50, mtime=0)),
    "pairs": (PAIRS, b"a=b, c = d%20e%,=,k=,service.name=caf\xc3\xa9"),
    "request": (REQUEST, bytes.fromhex(
        "0a660a130a110a0b70726f636573732e7069641202182a124f0a140a0d656270662d70726f66696c6572"
        "1203302e3112370a040801100212180801120203042a10e803000000000000cf0700000000000019e803"
        "00000000000020e8072a04080310043080e1eb17120c0a000a0412020801120022002a002a01783200"
        "3a003a030a0101")),
    "header": (HEADER, b"grpc-message\x00%41%zz\xff"),
}

for name, (kind, data) in SEEDS.items():
    with open(f"{sys.argv[1]}/{name}.bin", "wb") as file:
        file.write(bytes([kind]) + data)

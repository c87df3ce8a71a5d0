# SPDX-License-Identifier: Apache-2.0
"""A receiver of profiles on gRPC's C core (python3-grpcio), which does as it is told.

Each request says in its metadata how it is to be treated: x-case names it (its messages become
DIRECTORY/CASE/N.bin),
x-mode is one of

    accept            gzip              compressed answer
    unavailable:N     the first N times UNAVAILABLE
    throttle:N        the first N times RESOURCE_EXHAUSTED with RetryInfo of 200 ms
    partial           two profiles rejected
    slow:MS           answers so late        goaway         stops the server meanwhile, starts it
                      again
    token:VALUE       UNAUTHENTICATED unless authorization is VALUE

Ports: plain, big (takes 64 MiB), mutable (for goaway), tls, mtls.
"""
import os
import threading
import time
from concurrent import futures

from otlp_test import need

grpc = need("grpc", "python3-grpcio")
METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
# google.rpc.Status {code 8, details: Any of RetryInfo {retry_delay {nanos 200000000}}}
STATUS = b"\x08\x08\x1a\x33\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x07\x0a\x05\x10\x80\x84\xaf\x5f"
PARTIAL = b"\x0a\x0c\x08\x02\x12\x08too old\x21"


class Export(grpc.GenericRpcHandler):
    def __init__(self, peer):
        self.peer = peer
        self.lock = threading.Lock()
        self.counts = {}

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self.export) if details.method == METHOD else None

    def save(self, case, message):
        with self.lock:
            n = self.counts[case] = self.counts.get(case, 0) + 1
        os.makedirs(f"{self.peer.directory}/{case}", exist_ok=True)
        with open(f"{self.peer.directory}/{case}/{n}.bin", "wb") as file:
            file.write(message)
        return n

    def export(self, message, context):
        metadata = dict(context.invocation_metadata())
        mode, _, number = metadata.get("x-mode", "accept").partition(":")
        n = self.save(metadata.get("x-case", "none"), message)
        if mode == "gzip":
            context.set_compression(grpc.Compression.Gzip)
        elif mode == "unavailable" and n <= int(number):
            context.abort(grpc.StatusCode.UNAVAILABLE, "not now, 100 % busy")
        elif mode == "throttle" and n <= int(number):
            context.set_trailing_metadata((("grpc-status-details-bin", STATUS),))
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "slow down")
        elif mode == "token" and metadata.get("authorization") != number:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
        elif mode == "partial":
            return PARTIAL
        elif mode == "slow":
            time.sleep(int(number) / 1000)
        elif mode == "goaway" and n == 1:
            threading.Thread(target=self.peer.restart).start()
            time.sleep(0.3)
        return b""


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Peer:
    def __init__(self, directory, certs):
        self.directory = directory
        self.handler = Export(self)
        pair = (read(f"{certs}/server.key"), read(f"{certs}/server.pem"))
        self.servers, self.ports = {}, {}
        self.start("plain")
        self.start("big", limit=64 << 20)
        self.start("mutable")
        self.start("tls", grpc.ssl_server_credentials([pair]))
        self.start("mtls", grpc.ssl_server_credentials([pair], read(f"{certs}/ca.pem"), True))

    def start(self, name, credentials=None, limit=4 << 20):
        server = grpc.server(futures.ThreadPoolExecutor(8), options=(
            ("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", limit)))
        server.add_generic_rpc_handlers((self.handler,))
        address = f"127.0.0.1:{self.ports.get(name, 0)}"
        self.ports[name] = (server.add_secure_port(address, credentials) if credentials
                            else server.add_insecure_port(address))
        server.start()
        self.servers[name] = server

    def restart(self):
        self.servers["mutable"].stop(5).wait()
        self.start("mutable")

    def url(self, name, host="127.0.0.1"):
        return f"{'https' if 'tls' in name else 'http'}://{host}:{self.ports[name]}"

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A receiver of profiles on gRPC's C core (python3-grpcio), which does as it is told.

    peer_core.py DIRECTORY CERTS

Each request says in its metadata how it is to be treated: x-case names it (its messages become
DIRECTORY/CASE/N.bin), x-mode is one of

    accept            gzip              compressed answer
    unavailable:N     the first N times UNAVAILABLE
    throttle:N        the first N times RESOURCE_EXHAUSTED with RetryInfo of 200 ms
    exhausted         RESOURCE_EXHAUSTED     invalid        INVALID_ARGUMENT
    partial           two profiles rejected  unauthenticated
    slow:MS           answers so late        goaway         stops the server meanwhile, starts it again
    token:VALUE       UNAUTHENTICATED unless authorization is VALUE

Prints a line "NAME PORT" for each port (plain, big: takes 64 MiB, mutable: for goaway, tls, mtls),
then "ready". Ends when its standard input does. The peers in other languages do the same.
"""
import os
import sys
import threading
import time
from concurrent import futures

import grpc

METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
# google.rpc.Status {code 8, details: Any of RetryInfo {retry_delay {nanos 200000000}}}
STATUS = (b"\x08\x08\x1a\x33\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
          b"\x12\x07\x0a\x05\x10\x80\x84\xaf\x5f")
PARTIAL = b"\x0a\x0c\x08\x02\x12\x08too old\x21"


class Export(grpc.GenericRpcHandler):
    def __init__(self, directory):
        self.directory = directory
        self.lock = threading.Lock()
        self.counts = {}
        self.restart = lambda: None

    def service(self, details):
        if details.method != METHOD:
            return None
        return grpc.unary_unary_rpc_method_handler(self.export)

    def save(self, case, message):
        with self.lock:
            n = self.counts[case] = self.counts.get(case, 0) + 1
        os.makedirs(f"{self.directory}/{case}", exist_ok=True)
        with open(f"{self.directory}/{case}/{n}.bin", "wb") as file:
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
        elif mode == "exhausted":
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "quota")
        elif mode == "invalid":
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "unsupported frame kind")
        elif mode == "unauthenticated" or (
                mode == "token" and metadata.get("authorization") != number):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
        elif mode == "partial":
            return PARTIAL
        elif mode == "slow":
            time.sleep(int(number) / 1000)
        elif mode == "goaway" and n == 1:
            threading.Thread(target=self.restart).start()
            time.sleep(0.3)
        return b""


def new_server(handler, options=()):
    server = grpc.server(futures.ThreadPoolExecutor(8), options=(("grpc.so_reuseport", 0),) + options)
    server.add_generic_rpc_handlers((handler,))
    return server


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    directory, certs = sys.argv[1:3]
    handler = Export(directory)
    servers = {"plain": new_server(handler),
               "big": new_server(handler, (("grpc.max_receive_message_length", 64 << 20),)),
               "mutable": new_server(handler)}
    ports = {name: server.add_insecure_port("127.0.0.1:0") for name, server in servers.items()}
    pair = (read(f"{certs}/server.key"), read(f"{certs}/server.pem"))
    for name, credentials in (
            ("tls", grpc.ssl_server_credentials([pair])),
            ("mtls", grpc.ssl_server_credentials([pair], read(f"{certs}/ca.pem"), True))):
        servers[name] = new_server(handler)
        ports[name] = servers[name].add_secure_port("127.0.0.1:0", credentials)

    def restart():
        servers["mutable"].stop(5).wait()
        server = servers["mutable"] = new_server(handler)
        server.add_insecure_port(f"127.0.0.1:{ports['mutable']}")
        server.start()

    handler.restart = restart
    for name, server in list(servers.items()):
        server.start()
        print(name, ports[name])
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)


main()

# SPDX-License-Identifier: Apache-2.0
"""A receiver of profiles on gRPC's C core (python3-grpcio).

Each request says in its metadata, x-case, whose it is: its messages become DIRECTORY/CASE/N.bin.
Ports: plain, tls.
"""
import os
import threading
from concurrent import futures

from otlp_test import need

grpc = need("grpc", "python3-grpcio")
METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"


class Export(grpc.GenericRpcHandler):
    def __init__(self, directory):
        self.directory = directory
        self.lock = threading.Lock()
        self.counts = {}

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self.export) if details.method == METHOD else None

    def export(self, message, context):
        case = dict(context.invocation_metadata()).get("x-case", "none")
        with self.lock:
            n = self.counts[case] = self.counts.get(case, 0) + 1
        os.makedirs(f"{self.directory}/{case}", exist_ok=True)
        with open(f"{self.directory}/{case}/{n}.bin", "wb") as file:
            file.write(message)
        return b""


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Peer:
    def __init__(self, directory, certs):
        self.server = grpc.server(futures.ThreadPoolExecutor(8), options=(("grpc.so_reuseport", 0),))
        self.server.add_generic_rpc_handlers((Export(directory),))
        credentials = grpc.ssl_server_credentials([(read(f"{certs}/server.key"), read(f"{certs}/server.pem"))])
        self.ports = {"plain": self.server.add_insecure_port("127.0.0.1:0"),
                      "tls": self.server.add_secure_port("127.0.0.1:0", credentials)}
        self.server.start()

    def url(self, name):
        return f"{'https' if name == 'tls' else 'http'}://127.0.0.1:{self.ports[name]}"

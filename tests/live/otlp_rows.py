# SPDX-License-Identifier: Apache-2.0
"""A receiver of OTLP profiles over HTTP, and who the samples in them are of.

pprof has no path of a process; OTLP has (process.executable.path). Field numbers: opentelemetry-proto
1.10.0, opentelemetry/proto/{collector/profiles,profiles}/v1development and common/v1.
"""
import collections
import gzip
import http.server
import threading

import stacks

Row = collections.namedtuple("Row", "pid path thread count")


class Receiver:
    """Answers every request well, and keeps the bodies."""

    def __init__(self):
        self.bodies = bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                bodies.append(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Dictionary:
    def __init__(self, data):
        self.raw = stacks.message(data)
        self.strings = [text.decode("utf-8", "replace") for text in self.raw[5]]
        self.attributes = [self.attribute(stacks.message(item)) for item in self.raw[6]]

    def value(self, data):
        """AnyValue: a string or a number; others are nobody's here."""
        message = stacks.message(data)
        if message[8]:
            return self.strings[message[8][0]]
        return message[1][0].decode("utf-8", "replace") if message[1] else stacks.first(message, 3)

    def attribute(self, message):
        return self.strings[stacks.first(message, 1)], self.value(stacks.first(message, 2, b""))

    def pair(self, data):
        """KeyValue, whose key may be a string of the dictionary."""
        message = stacks.message(data)
        key = self.strings[message[3][0]] if message[3] else stacks.first(message, 1, b"").decode()
        return key, self.value(stacks.first(message, 2, b""))


def profile_rows(dictionary, process, profile):
    for data in profile[2]:
        sample = stacks.message(data)
        indices = [i for value in sample[2] for i in stacks.numbers(value)]
        labels = dict(dictionary.attributes[i] for i in indices)
        values = [v for value in sample[4] for v in stacks.numbers(value)]
        times = sum(len(value) // 8 if isinstance(value, bytes) else 1 for value in sample[5])
        yield Row(process.get("process.pid"), process.get("process.executable.path", ""),
                  labels.get("thread.name"), times or sum(values))


def rows(body):
    """Rows of one request."""
    request = stacks.message(body)
    dictionary = Dictionary(stacks.first(request, 2, b""))
    for data in request[1]:
        resource_profiles = stacks.message(data)
        resource = stacks.message(stacks.first(resource_profiles, 1, b""))
        process = dict(dictionary.pair(item) for item in resource[1])
        for scope in map(stacks.message, resource_profiles[2]):
            for profile in scope[2]:
                yield from profile_rows(dictionary, process, stacks.message(profile))

# SPDX-License-Identifier: Apache-2.0
"""A receiver that follows a script, and breaks rules that a real one keeps.

Server       accepts connections, gives each to a function in a thread of its own.
Http2        frames of one HTTP/2 connection (RFC 9113); headers are written as literals and never
             decoded (RFC 7541, 6.2.2), so there is no state.
Grpc, Http   servers whose nth request gets the nth answer, the last one for ever.
Proxy        forwards to a port, and cuts or slows down as it is told.
"""
import gzip
import itertools
import socket
import ssl
import struct
import threading
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Server:
    def __init__(self, serve, context=None, listener=None):
        self.serve, self.context = serve, context
        self.listener = listener or socket.create_server(("127.0.0.1", 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            self.connections += 1
            threading.Thread(target=self.handle, args=(connection, self.connections),
                             daemon=True).start()

    def handle(self, connection, number):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection:
                self.serve(connection, number)
        except (OSError, EOFError, ssl.SSLError):
            pass

    @property
    def url(self):
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"


def read_exactly(connection, n):
    data = bytearray()
    while len(data) < n:
        part = connection.recv(min(n - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


# --- HTTP/2 -----------------------------------------------------------------------------------


def text(string):
    data = string if isinstance(string, bytes) else string.encode()
    if len(data) < 127:
        return bytes([len(data)]) + data
    rest, length = len(data) - 127, b"\x7f"
    while rest >= 128:
        length += bytes([rest & 127 | 128])
        rest >>= 7
    return length + bytes([rest]) + data


def fields(*pairs):
    return b"".join(b"\x00" + text(name) + text(value) for name, value in pairs)


class Http2:
    def __init__(self, connection, settings=b""):
        self.connection = connection
        if read_exactly(connection, len(PREFACE)) != PREFACE:
            raise EOFError
        self.send(SETTINGS, 0, 0, settings)
        self.bodies = {}

    def send(self, kind, flags, stream, payload=b""):
        header = struct.pack(">I", len(payload))[1:] + bytes([kind, flags])
        self.connection.sendall(header + struct.pack(">I", stream) + payload)

    def receive(self):
        header = read_exactly(self.connection, 9)
        length = struct.unpack(">I", b"\0" + header[:3])[0]
        payload = read_exactly(self.connection, length)
        return header[3], header[4], struct.unpack(">I", header[5:])[0], payload

    def handle(self, frame):
        """Keeps the connection going; the stream whose request is complete, else None."""
        kind, flags, stream, payload = frame
        if kind == SETTINGS and not flags & ACK:
            self.send(SETTINGS, ACK, 0)
        if kind == PING and not flags & ACK:
            self.send(PING, ACK, 0, payload)
        if kind == DATA:
            self.bodies[stream] = self.bodies.get(stream, b"") + payload
            if payload:
                for where in (0, stream):
                    self.send(WINDOW_UPDATE, 0, where, struct.pack(">I", len(payload)))
        return stream if kind in (DATA, HEADERS) and flags & END_STREAM else None

    def next_request(self):
        while True:
            stream = self.handle(self.receive())
            if stream:
                return stream

    def next_headers(self):
        """The stream of a request that has only begun."""
        while True:
            frame = self.receive()
            self.handle(frame)
            if frame[0] == HEADERS:
                return frame[2]

    def headers(self, stream, *pairs, end=False, status="200"):
        flags = END_HEADERS | (END_STREAM if end else 0)
        self.send(HEADERS, flags, stream, fields((":status", status), *pairs))

    def trailers(self, stream, *pairs):
        self.send(HEADERS, END_HEADERS | END_STREAM, stream, fields(*pairs))

    def data(self, stream, data, end=False):
        for i in range(0, max(len(data), 1), 16384):
            last = i + 16384 >= len(data)
            self.send(DATA, END_STREAM if end and last else 0, stream, data[i:i + 16384])

    def answer(self, stream, body=b"", status="0", compressed=False):
        self.headers(stream, ("content-type", "application/grpc"))
        self.data(stream, frame(body, compressed))
        self.trailers(stream, ("grpc-status", status))

    def serve(self):
        """Answers all requests well."""
        while True:
            self.answer(self.next_request())

    def swallow(self):
        while True:
            self.receive()


def frame(body, compressed=False):
    body = gzip.compress(body) if compressed else body
    return bytes([compressed]) + struct.pack(">I", len(body)) + body


class Grpc(Server):
    """An answer is a function of the Http2 and the stream, or a number: the code of an answer, 0 is
    good."""

    def __init__(self, *answers, context=None, listener=None, settings=b""):
        self.answers, self.settings = answers, settings
        self.bodies, self.times = [], []
        super().__init__(self.run, context, listener)

    def run(self, connection, _):
        http = Http2(connection, self.settings)
        while True:
            stream = http.next_request()
            answer = self.answers[min(len(self.times), len(self.answers) - 1)]
            self.bodies.append(http.bodies[stream])
            self.times.append(time.monotonic())
            if callable(answer):
                answer(http, stream)
            else:
                http.answer(stream, status=str(answer))


def reset(code):
    return lambda http, stream: http.send(RST_STREAM, 0, stream, struct.pack(">I", code))


def plain_status(status):
    return lambda http, stream: http.headers(stream, ("content-type", "text/html"), end=True,
                                             status=status)


# --- HTTP/1.1 ---------------------------------------------------------------------------------


class HttpRequest:
    """One request, read from a connection."""

    def __init__(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            part = connection.recv(65536)
            if not part:
                raise EOFError
            data += part
        head, self.body = data.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        self.method, self.path, _ = lines[0].split(" ")
        self.headers = {name.lower(): value for name,
                        value in (line.split(": ", 1) for line in lines[1:])}
        left = int(self.headers["content-length"]) - len(self.body)
        if left > 0:
            self.body += read_exactly(connection, left)
        if self.headers.get("content-encoding") == "gzip":
            self.body = gzip.decompress(self.body)


def http_answer(status, body=b"", *headers, kind="application/x-protobuf"):
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


class Http(Server):
    """An answer is bytes; b"" hangs up."""

    def __init__(self, *answers, context=None):
        self.answers, self.requests = answers, []
        super().__init__(self.run, context)

    def run(self, connection, _):
        while True:
            request = HttpRequest(connection)
            answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
            self.requests.append(request)
            if not answer:
                return
            connection.sendall(answer)
            if b"onnection: close" in answer or b"HTTP/1.0" in answer:
                return


# --- on the way -------------------------------------------------------------------------------


class Proxy(Server):
    """up, down: after how many bytes of that direction the first connection, the second, .. ends.
    delay_s: for each KiB."""

    def __init__(self, target, up=(), down=(), delay_s=0.0):
        self.target, self.delay_s = target, delay_s
        self.cuts = list(itertools.zip_longest(up, down))
        super().__init__(self.forward)

    def forward(self, connection, number):
        target = socket.create_connection(("127.0.0.1", self.target))
        up, down = self.cuts[number - 1] if number <= len(self.cuts) else (None, None)
        threads = [threading.Thread(target=self.pump, args=pair, daemon=True)
                   for pair in ((connection, target, up), (target, connection, down))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def pump(self, source, to, left):
        try:
            while left is None or left > 0:
                data = source.recv(1024 if self.delay_s else 65536)
                if not data:
                    break
                if left is not None:
                    data = data[:left]
                    left -= len(data)
                to.sendall(data)
                time.sleep(self.delay_s)
        except OSError:
            pass
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

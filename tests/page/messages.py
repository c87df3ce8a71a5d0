# SPDX-License-Identifier: Apache-2.0
"""Makes OTLP Profiles messages (1.10) and pages of them, for tests of the page and its benchmark: written from the
message definitions, not from our encoder, so that the two judge each other."""
import base64
import gzip
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kit"))
from wire import data, number, packed, varint  # noqa: E402

BASE_NS = 1_790_000_000_000_000_000


def any_value(value):
    if isinstance(value, bool):
        return varint(2 << 3) + varint(int(value))
    if isinstance(value, int):
        return varint(3 << 3) + varint(value)
    return data(1, value)


class Maker:
    """Tables of a dictionary, each with its row 0."""

    def __init__(self):
        self.strings, self.rows = {"": 0}, {name: {b"": 0} for name in ("mapping", "location", "function", "attribute", "stack")}
        self.processes = {}
        self.facts = {}
        self.period = 10_101_010
        self.sample_type = ("samples", "count")
        self.duration = 10_000_000_000
        self.base_ns = BASE_NS

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def row(self, table, body):
        return self.rows[table].setdefault(body, len(self.rows[table]))

    def attribute(self, key, value):
        return self.row("attribute", number(1, self.string(key)) + data(2, any_value(value)))

    def function(self, name, file="", line=0):
        return self.row("function", number(1, self.string(name)) + number(3, self.string(file)) + number(4, line))

    def location(self, kind, lines, module="", address=0, pointer_walk=False, gap=False):
        """lines: (name, file, line[, first line of the function]), innermost first."""
        mapping = self.row("mapping", number(4, self.string(module))) if module else 0
        attributes = [self.attribute("profile.frame.type", kind)]
        if pointer_walk:
            attributes.append(self.attribute("ebpf_profiler.pointer_walk", True))
        if gap:
            attributes.append(self.attribute("ebpf_profiler.gap", True))
        body = number(1, mapping) + number(2, address)
        for name, file, line, *start in lines:
            body += data(3, number(1, self.function(name, file, *start)) + number(2, line))
        return self.row("location", body + packed(4, attributes))

    def stack(self, locations):
        return self.row("stack", packed(1, locations))

    def sample(self, process, tid, thread, cpu, stack, times_ns, values=(), unnamed=""):
        """process: (pid, name, container)."""
        attributes = [self.attribute("thread.name", thread), self.attribute("thread.id", tid), self.attribute("cpu.logical_number", cpu)]
        if unnamed:
            attributes.append(self.attribute("ebpf_profiler.unnamed", unnamed))
        body = number(1, stack) + packed(2, attributes) + packed(4, list(values))
        if times_ns:
            body += data(5, struct.pack(f"<{len(times_ns)}Q", *(BASE_NS + time for time in times_ns)))
        self.processes.setdefault(process, []).append(data(2, body))

    def message(self):
        kind, unit = (self.string(text) for text in self.sample_type)
        cpu, nanoseconds = self.string("cpu"), self.string("nanoseconds")
        facts = [self.attribute(key, value) for key, value in self.facts.items()]
        out = []
        for (pid, name, container), samples in self.processes.items():
            profile = data(1, number(1, kind) + number(2, unit)) + b"".join(samples)
            profile += varint(3 << 3 | 1) + struct.pack("<Q", self.base_ns) + number(4, self.duration)
            if self.period:
                profile += data(5, number(1, cpu) + number(2, nanoseconds)) + number(6, self.period)
            profile += packed(11, facts)
            resource = b""
            for key, value in (("process.pid", pid), ("process.executable.name", name), ("process.executable.path", f"/usr/bin/{name}" if name else ""),
                               ("container.id", container), ("host.name", "testhost"),
                               ("process.owner", "www-data" if name == "server" else ""),
                               ("process.linux.cgroup", f"0::/system.slice/{name}.service/a" if name == "server" else "")):
                if value != "":
                    resource += data(1, data(1, key) + data(2, any_value(value)))
            scope = data(1, data(1, "ebpf-profiler") + data(2, "0.1.0"))
            out.append(data(1, data(1, resource) + data(2, scope + data(2, profile))))
        tables = []
        for field, name in ((1, "mapping"), (2, "location"), (3, "function"), (6, "attribute"), (7, "stack")):
            tables += [data(field, body) for body in self.rows[name]]
        tables.insert(0, data(4, b""))
        tables += [data(5, text) for text in self.strings]
        out.append(data(2, b"".join(tables)))
        return b"".join(out)


def page(head, message, base=None):
    """A page as the exporter writes it; head: what build_page.py makes."""
    out = head + base64.b64encode(gzip.compress(message, 1)).decode() + "\n</script>\n"
    if base is not None:
        out += '<script type="application/octet-stream" id="profile-base">\n'
        out += base64.b64encode(gzip.compress(base, 1)).decode() + "\n</script>\n"
    return out + "</body>\n</html>\n"


def small(scale=1):
    """A recording of 10 s: a server with a slow handler, a shell, the kernel. 100 samples a second."""
    m = Maker()
    m.facts = {"ebpf_profiler.lost_samples": 3, "ebpf_profiler.due_samples": 2000, "ebpf_profiler.cpus": 2,
               "ebpf_profiler.cost.agent_ns": 55_000_000, "ebpf_profiler.cost.bpf_ns": 21_000_000}
    start = m.location("native", [("_start", "", 0)], "/usr/bin/server", 0x1000)
    main = m.location("native", [("main", "/src/server.c", 40)], "/usr/bin/server", 0x1100)
    serve = m.location("speech", [("serve", "/src/app.sp", 10)])
    slow = m.location("speech", [("slow_handler", "/src/app.sp", 77)])
    slow2 = m.location("speech", [("slow_handler", "/src/app.sp", 78)])
    fast = m.location("speech", [("fast_handler", "/src/app.sp", 20)])
    join = m.location("native", [("copy_words", "/src/join.h", 5), ("join_words", "/src/join.c", 33)], "/usr/lib/libjoin.so", 0x2000)
    walked = m.location("native", [("libold.so+0x1234", "", 0)], "/usr/lib/libold.so", 0x1234, pointer_walk=True)
    syscall = m.location("kernel", [("entry_SYSCALL_64", "", 0)], "[kernel.kallsyms]", 0xffffffff81000000)
    read = m.location("kernel", [("vfs_read", "", 0)], "[kernel.kallsyms]", 0xffffffff81100000)
    cut = m.location("abort-marker", [("no unwind rule", "", 0)])
    gap = m.location("abort-marker", [("frames are missing", "", 0)], gap=True)
    server, shell = (100, "server", "c0ffee112233445566"), (200, "sh", "")
    stacks = {
        "slow": m.stack([join, slow, serve, main, start]), "slow2": m.stack([slow2, serve, main, start]),
        "fast": m.stack([fast, serve, main, start]), "read": m.stack([read, syscall, fast, serve, main, start]),
        "cut": m.stack([walked, cut]), "gap": m.stack([read, syscall, gap, main, start]),
    }
    step = 10_000_000 // scale
    for name, first, every in (("slow", 0, 2), ("fast", 1, 4), ("read", 3, 8)):
        m.sample(server, 100, "server", 0, stacks[name], [i * step for i in range(first, 1000 * scale, every)])
    m.sample(server, 101, "worker", 1, stacks["slow2"], [i * step for i in range(7, 1000 * scale, 8)], unnamed="speech: gone before it was named")
    # The shell burns in the last two seconds only.
    m.sample(shell, 200, "sh", 1, stacks["cut"], [i * step for i in range(800 * scale, 1000 * scale, 10)])
    m.sample(shell, 200, "sh", 1, stacks["gap"], [i * step + 5 for i in range(800 * scale, 1000 * scale, 10)])
    return m


HOSTILE = ["<script>window.hacked=1</script>", "</script><script>window.hacked=2</script>", "<img src=x onerror=window.hacked=3>",
           "\x1b[31mred\x1b[0m\x07", "\u202egnp.exe", "\u2066isolate\u2069", "a\u200bb\ufeff", "${window.hacked=4}", "javascript:window.hacked=5",
           "\u05d0\u05d1\u05d2 right to left", "\udc80lone", "tag\U000e0041", "'\"`&lt;&amp;", "__proto__", "constructor", "x" * 1_000_000, "\r\n\t\0nul"]


def hostile():
    """Each name in each place where a name can be."""
    m = Maker()
    for i, name in enumerate(HOSTILE):
        location = m.location(name if len(name) < 100 else "native", [(name, name, 1)], name)
        plain = m.location("native", [(name, name, 1)], name)
        m.sample((i + 1, name, name), i + 1, name, i, m.stack([location, plain]), [i * 1_000_000], unnamed=name)
    return m


def large(samples=1_000_000, frames=200_000, stacks=60_000, depth=32, seed=1):
    """The bar's recording: as many samples, functions and stacks, with call paths that share their beginnings."""
    import random
    rng = random.Random(seed)
    m = Maker()
    m.duration = 60_000_000_000
    kinds = ["native", "kernel", "speech", "smoke"]
    locations = [m.location(kinds[i * 7 % 4], [(f"library::module_{i % 997}::function_number_{i}(int, char const*)", f"/src/file_{i % 5000}.c", i % 3000)],
                            f"/usr/lib/lib{i % 300}.so", 0x1000 + 16 * i) for i in range(frames)]
    rows, used = [], 0
    path = []
    for i in range(stacks):
        keep = rng.randrange(0, len(path) + 1) if path else 0
        path = path[:keep]
        while len(path) < depth - rng.randrange(0, 16):
            # Each function is used once, then those of the past again.
            path.append(locations[used if used < frames else int(frames * rng.random() ** 3)])
            used += 1
        rows.append(m.stack(path[::-1]))
    per_row = 2
    for i in range(samples // per_row):
        pid = rng.randrange(1, 200)
        start = rng.randrange(0, 59_000_000_000)
        m.sample((pid, f"program_{pid % 40}", ""), pid * 10 + rng.randrange(8), f"thread {pid % 50}", rng.randrange(64),
                 rows[int(stacks * rng.random() ** 2)], [start + k * 10_101_010 for k in range(per_row)])
    return m

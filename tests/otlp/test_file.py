#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The file of a whole batch, read by a decoder that is not ours and judged by the rules of the
messages. What
docs/profiles.md says of the file is all that this program knows; it must come to the same text as
the batch that was
written.

    test_file.py TEST_OTLP_FILE

Skips (77) without python3-protobuf.
"""
import collections
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from otlp_rules import Judge  # noqa: E402
from messages import value_of  # noqa: E402

U64 = 0xffffffffffffffff


class File:
    """A ProfilesData message as the text of tests/kit/same_batch.c."""

    def __init__(self, data):
        self.data = data
        self.d = data.dictionary
        self.header = {}
        self.host = ""
        self.samples = collections.defaultdict(lambda: [0, 0, []])

    def attributes(self, indices):
        table = [self.d.attribute_table[index] for index in indices]
        return {self.d.string_table[entry.key_strindex]: value_of(entry.value) for entry in table}

    def mapping(self, index):
        m = self.d.mapping_table[index]
        a = self.attributes(m.attribute_indices)
        own = "ebpf_profiler."
        start = a.get(own + "mapping.start", m.memory_start) & U64
        limit = a.get(own + "mapping.limit", m.memory_limit) & U64
        flags = int(a.get(own + "kernel", False)) | int(a.get("pprof.mapping.has_functions",
                                                              False)) << 1
        ids = [a.get("process.executable.build_id." + kind, "")
               for kind in ("gnu", "go", "htlhash")]
        return (f" in <{self.d.string_table[m.filename_strindex]}> 0x{start:x}-0x{limit:x}+0x{m.file_offset:x}"
                f" gnu <{ids[0]}> go <{ids[1]}> file <{ids[2]}> flags {flags:x}")

    def line(self, line):
        strings, f = self.d.string_table, self.d.function_table[line.function_index]
        return (f" {{<{strings[f.name_strindex]}> <{strings[f.system_name_strindex]}> "
                f"<{strings[f.filename_strindex]}>:{f.start_line} at {line.line}:{line.column}}}")

    def location(self, index):
        location = self.d.location_table[index]
        a = self.attributes(location.attribute_indices)
        kind = a.get("ebpf_profiler.kind", a["profile.frame.type"])
        names = ("pointer_walk", "error", "made_up_name", "gap")
        flags = sum(1 << bit for bit, name in enumerate(names) if a.get("ebpf_profiler." + name))
        return (f" | 0x{location.address:x} {kind} flags {flags:x} unnamed {a.get('ebpf_profiler.unnamed.reason', 0)}"
                + (self.mapping(location.mapping_index) if location.mapping_index else "")
                + "".join(map(self.line, location.lines)))

    def process(self, resource):
        a = {pair.key: value_of(pair.value) for pair in resource.attributes}
        assert len(a) == len(resource.attributes), "a key twice"
        self.host = a.get("host.name", self.host)
        own = "ebpf_profiler.process."
        env = "process.environment_variable."
        return (f"pid {a.get('process.pid', 0)} start {a.get(own + 'start', 0)} image {a.get(own + 'image', 0)} "
                f"comm <{a.get(own + 'comm', '')}> exe <{a.get('process.executable.path', '')}> "
                f"container <{a.get('container.id', '')}> of <{a.get('process.owner', '')}> "
                f"in <{a.get('process.linux.cgroup', '').removeprefix('0::')}>"
                + "".join(f" <{key[len(env):]}>=<{value}>" for key,
                          value in a.items() if key.startswith(env)))

    def sample(self, process, profile, sample):
        a = self.attributes(sample.attribute_indices)
        own = "ebpf_profiler."
        key = (f"{process} tid {a['thread.id']} <{a.get('thread.name', '')}> cpu {a['cpu.logical_number']} "
               f"error {a.get(own + 'stack.error', 0)} <{a.get(own + 'stack.error_text', '')}> "
               f"unnamed {a.get(own + 'unnamed.reason', 0)} <{a.get(own + 'unnamed', '')}>"
               + "".join(map(self.location,
                             self.d.stack_table[sample.stack_index].location_indices)))
        times, values = list(sample.timestamps_unix_nano), list(sample.values)
        count = len(times)
        if profile.HasField("period_type"):  # counted
            count = count or values[0]
            weight = count * profile.period
        else:
            count = count or a[own + "count"]
            weight = sum(values)
        total = self.samples[key, bool(times)]
        total[0] += count
        total[1] += weight
        total[2] += times

    def read(self):
        for resource in self.data.resource_profiles:
            process = self.process(resource.resource)
            for scope in resource.scope_profiles:
                marks = {pair.key: value_of(pair.value) for pair in scope.scope.attributes}
                assert marks == {"ebpf_profiler.file.format": 1,
                                 "ebpf_profiler.file.messages": "opentelemetry-proto 1.10"}, marks
                for profile in scope.profiles:
                    self.header = self.header or self.attributes(profile.attribute_indices)
                    for sample in profile.samples:
                        self.sample(process, profile, sample)

    def lines(self):
        self.read()
        h = {key.removeprefix("ebpf_profiler."): value for key, value in self.header.items()}
        yield (f"start {h['start']} duration {h['duration']} period {h['period']} hz {h['frequency']} "
               f"host <{self.host}> type <{h['sample_type']}> unit <{h['weight_unit']}> lost {h['lost_samples']} "
               f"due {h.get('due_samples', 0)} agent {h.get('cost.agent_ns', 0)} bpf {h.get('cost.bpf_ns', 0)} "
               f"cpus {h.get('cpus', 0)} title <{h.get('title', '')}>")
        for (key, _), (count, weight, times) in sorted(self.samples.items(),
                                                       key=lambda item: item[0][0].encode()):
            yield " ".join(map(str, [count, "x", weight, "at", *sorted(times), key]))


def main():
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.argv[1], "--files", directory], check=True)
        names = sorted(name for name in os.listdir(directory) if name.endswith(".otlp"))
        for name in names:
            message = Judge(os.path.join(directory, name)).data
            with open(os.path.join(directory, name.replace(".otlp", ".txt")),
                      encoding="utf-8") as file:
                should_be = file.read().split("\n")[:-1]
            lines = list(File(message).lines())
            for line, expected in zip(lines, should_be):
                if line != expected:
                    sys.exit(f"{name}: is\n{line}\nshould be\n{expected}")
            assert len(lines) == len(should_be), f"{name}: {len(lines)} lines of {len(should_be)}"
    print(f"{len(names)} files are what was written")


if __name__ == "__main__":
    main()

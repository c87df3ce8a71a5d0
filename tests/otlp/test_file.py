#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The file of a whole batch, read by a decoder that is not ours: Google's, with the messages of
opentelemetry-proto 1.10 described here by their field numbers. What docs/profiles.md says of the file is all
that this program knows; it must come to the same text as the batch that was written.

    test_file.py TEST_OTLP_FILE

Skips (77) without python3-protobuf.
"""
import collections
import os
import subprocess
import sys
import tempfile

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):  # where Debian's packages are
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print("python3-protobuf is not installed")
    sys.exit(77)

# Name: type and number; "*" before a type: repeated, of others a message.
MESSAGES = {
    "AnyValue": "string_value=string:1 bool_value=bool:2 int_value=int64:3 bytes_value=bytes:7 "
                "string_value_strindex=int32:8",
    "KeyValue": "key=string:1 value=AnyValue:2 key_strindex=int32:3",
    "Resource": "attributes=*KeyValue:1 dropped_attributes_count=uint32:2",
    "InstrumentationScope": "name=string:1 version=string:2 attributes=*KeyValue:3 dropped_attributes_count=uint32:4",
    "ProfilesData": "resource_profiles=*ResourceProfiles:1 dictionary=ProfilesDictionary:2",
    "ResourceProfiles": "resource=Resource:1 scope_profiles=*ScopeProfiles:2 schema_url=string:3",
    "ScopeProfiles": "scope=InstrumentationScope:1 profiles=*Profile:2 schema_url=string:3",
    "ValueType": "type_strindex=int32:1 unit_strindex=int32:2",
    "Profile": "sample_type=ValueType:1 samples=*Sample:2 time_unix_nano=fixed64:3 duration_nano=uint64:4 "
               "period_type=ValueType:5 period=int64:6 profile_id=bytes:7 dropped_attributes_count=uint32:8 "
               "original_payload_format=string:9 original_payload=bytes:10 attribute_indices=*int32:11",
    "Sample": "stack_index=int32:1 attribute_indices=*int32:2 link_index=int32:3 values=*int64:4 "
              "timestamps_unix_nano=*fixed64:5",
    "ProfilesDictionary": "mapping_table=*Mapping:1 location_table=*Location:2 function_table=*Function:3 "
                          "link_table=*Link:4 string_table=*string:5 attribute_table=*KeyValueAndUnit:6 "
                          "stack_table=*Stack:7",
    "Mapping": "memory_start=uint64:1 memory_limit=uint64:2 file_offset=uint64:3 filename_strindex=int32:4 "
               "attribute_indices=*int32:5",
    "Stack": "location_indices=*int32:1",
    "Location": "mapping_index=int32:1 address=uint64:2 lines=*Line:3 attribute_indices=*int32:4",
    "Line": "function_index=int32:1 line=int64:2 column=int64:3",
    "Function": "name_strindex=int32:1 system_name_strindex=int32:2 filename_strindex=int32:3 start_line=int64:4",
    "Link": "trace_id=bytes:1 span_id=bytes:2",
    "KeyValueAndUnit": "key_strindex=int32:1 value=AnyValue:2 unit_strindex=int32:3",
}
ONEOF = {"AnyValue"}
U64 = 0xffffffffffffffff


def describe():
    """The class of ProfilesData."""
    types = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="profiles.proto", package="p", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in ONEOF:
            message.oneof_decl.add(name="value")
        for field in fields.split():
            field_name, rest = field.split("=")
            kind, number = rest.split(":")
            entry = message.field.add(name=field_name, number=int(number))
            entry.label = types.LABEL_REPEATED if kind[0] == "*" else types.LABEL_OPTIONAL
            kind = kind.lstrip("*")
            if kind in MESSAGES:
                entry.type, entry.type_name = types.TYPE_MESSAGE, ".p." + kind
            else:
                entry.type = getattr(types, "TYPE_" + kind.upper())
            if name in ONEOF:
                entry.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("p.ProfilesData"))


def value_of(value):
    which = value.WhichOneof("value")
    return getattr(value, which) if which else None


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
        flags = int(a.get(own + "kernel", False)) | int(a.get("pprof.mapping.has_functions", False)) << 1
        ids = [a.get("process.executable.build_id." + kind, "") for kind in ("gnu", "go", "htlhash")]
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
                f"container <{a.get('container.id', '')}>"
                + "".join(f" <{key[len(env):]}>=<{value}>" for key, value in a.items() if key.startswith(env)))

    def sample(self, process, profile, sample):
        a = self.attributes(sample.attribute_indices)
        own = "ebpf_profiler."
        key = (f"{process} tid {a['thread.id']} <{a.get('thread.name', '')}> cpu {a['cpu.logical_number']} "
               f"error {a.get(own + 'stack.error', 0)} <{a.get(own + 'stack.error_text', '')}> "
               f"unnamed {a.get(own + 'unnamed.reason', 0)} <{a.get(own + 'unnamed', '')}>"
               + "".join(map(self.location, self.d.stack_table[sample.stack_index].location_indices)))
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
               f"cpus {h.get('cpus', 0)}")
        for (key, _), (count, weight, times) in sorted(self.samples.items(), key=lambda item: item[0][0].encode()):
            yield " ".join(map(str, [count, "x", weight, "at", *sorted(times), key]))


def main():
    profiles_data = describe()
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.argv[1], "--files", directory], check=True)
        names = sorted(name for name in os.listdir(directory) if name.endswith(".otlp"))
        for name in names:
            message = profiles_data()
            with open(os.path.join(directory, name), "rb") as file:
                message.ParseFromString(file.read())
            with open(os.path.join(directory, name.replace(".otlp", ".txt")), encoding="utf-8") as file:
                should_be = file.read().split("\n")[:-1]
            lines = list(File(message).lines())
            for line, expected in zip(lines, should_be):
                if line != expected:
                    sys.exit(f"{name}: is\n{line}\nshould be\n{expected}")
            assert len(lines) == len(should_be), f"{name}: {len(lines)} lines of {len(should_be)}"
    print(f"{len(names)} files are what was written")


if __name__ == "__main__":
    main()

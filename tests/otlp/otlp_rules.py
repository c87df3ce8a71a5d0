#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges requests of the Profiles signal by the rules of opentelemetry-proto 1.11.0 (profiles.proto), and by more:

    structure   at least one resource, scope and profile each; sample type with type and unit; only fields that exist
    tables      none empty, element 0 is the empty one, no element twice, none that nothing refers to
    attributes  no key twice in a list, nor in a resource; profile.frame.type on each location
    mappings    start and limit 0, or start < limit
    lines       numbers not negative; a function has a name, a system name or a file
    samples     times in [time, time + duration); values and times of equal number, or one of them; one shape in a
                profile; no two of equal identity
    devfiler    frame types of its list, htlhash on a mapping with attributes (if asked for)
    profcheck   whatever profcheck/check.go of github.com/open-telemetry/sig-profiling refuses at commit d2ab6d50401a
                (2026-08-21), with all of its options on: most of the above, and the two rules that say so

    otlp_rules.py TEST_OTLP          what its tests encode (tests/unit/test_otlp.c), and what they expect of it
"""
import collections
import glob
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from messages import parse, value_of  # noqa: E402

DEVFILER = set("native kernel jvm perl cpython php phpjit ruby dotnet v8js beam go abort-marker".split())
TABLES = ("mapping", "location", "function", "link", "string", "attribute", "stack")
INT64_MAX = 2**63 - 1


class Judge:
    """One request: raises AssertionError for what is wrong, and counts."""

    def __init__(self, path, devfiler=False, max_bytes=0):
        self.data = parse(path)
        self.devfiler = devfiler
        assert not max_bytes or os.path.getsize(path) <= max_bytes, f"{os.path.getsize(path)} bytes"
        self.tables = {name: getattr(self.data.dictionary, name + "_table") for name in TABLES}
        self.used = {name: {0} for name in TABLES}
        self.counts = collections.Counter()
        self.samples, self.facts, self.known = [], [], {}
        self.check_tables()
        assert self.data.resource_profiles, "no resources"
        for resource in self.data.resource_profiles:
            self.check_resource(resource)
        for name, used in self.used.items():
            unused = len(self.tables[name]) - len(used)
            assert unused == 0, f"{name}: nothing refers to {unused}"
        self.counts["stacks"] = len(self.tables["stack"])

    def use(self, name, index):
        assert 0 <= index < len(self.tables[name]), f"{name} {index} of {len(self.tables[name])}"
        self.used[name].add(index)
        return self.tables[name][index]

    def check_value(self, value):
        assert value.WhichOneof("value"), "a value without a member"
        if value.WhichOneof("value") == "string_value_strindex":
            self.use("string", value.string_value_strindex)

    def attributes(self, indices):
        """Their values by key; each is there, and no key twice."""
        indices = tuple(indices)
        if indices not in self.known:
            self.known[indices] = self.attributes_of(indices)
        return self.known[indices]

    def attributes_of(self, indices):
        assert 0 not in indices, "attribute 0"
        found = [self.use("attribute", index) for index in indices]
        keys = [self.tables["string"][attribute.key_strindex] for attribute in found]
        assert len(set(keys)) == len(keys), f"a key twice: {keys}"
        return {key: value_of(attribute.value) for key, attribute in zip(keys, found)}

    def check_tables(self):
        for name, table in self.tables.items():
            bodies = [row if name == "string" else row.SerializeToString() for row in table]
            assert bodies and not bodies[0], f"{name}: no empty element 0"
            assert len(set(bodies)) == len(bodies), f"{name}: equal elements"
        mappings = {(m.memory_start, m.memory_limit, m.file_offset, m.filename_strindex, *sorted(m.attribute_indices))
                    for m in self.tables["mapping"]}    # profcheck's CheckDictionaryDuplicates
        assert len(mappings) == len(self.tables["mapping"]), "mappings that differ in the order of their attributes"
        checks = {"mapping": self.check_mapping, "location": self.check_location, "function": self.check_function,
                  "attribute": self.check_attribute, "stack": self.check_stack, "link": self.check_link}
        for name, check in checks.items():
            for row in list(self.tables[name])[1:]:
                check(row)

    def check_attribute(self, attribute):
        assert self.use("string", attribute.key_strindex), "an attribute without key"
        self.use("string", attribute.unit_strindex)
        self.check_value(attribute.value)

    def check_mapping(self, mapping):
        start, limit = mapping.memory_start, mapping.memory_limit
        assert start < limit or start == limit == 0, f"mapping from {start} to {limit}"
        self.use("string", mapping.filename_strindex)
        found = self.attributes(mapping.attribute_indices)
        file_id = found.get("process.executable.build_id.htlhash")
        assert file_id is None or len(file_id) <= 32 and int(file_id, 16) >= 0, file_id
        assert file_id or not found or not self.devfiler, "attributes without htlhash"

    def check_function(self, function):
        texts = [self.use("string", index) for index in (
            function.name_strindex, function.system_name_strindex, function.filename_strindex)]
        assert any(texts) and function.start_line >= 0, f"function {texts}"

    def check_location(self, location):
        self.use("mapping", location.mapping_index)
        for line in location.lines:
            assert line.function_index and line.line >= 0 and line.column >= 0, f"line {line}"
            self.use("function", line.function_index)
        kind = self.attributes(location.attribute_indices).get("profile.frame.type")
        assert kind and (not self.devfiler or kind in DEVFILER), f"frame type {kind}"

    def check_stack(self, stack):
        for index in stack.location_indices:
            assert index and self.use("location", index), "location 0"

    @staticmethod
    def check_link(link):
        assert len(link.trace_id) == 16 and len(link.span_id) == 8, "link"

    # --- what refers to the tables ---

    def check_resource(self, resource_profiles):
        found = {}
        for pair in resource_profiles.resource.attributes:
            key = pair.key
            assert key and key not in found, f"resource: key {key}"
            assert not pair.key_strindex, "profcheck takes strings that resources alone refer to for unused ones"
            self.check_value(pair.value)
            found[key] = value_of(pair.value)
        self.counts["resources"] += 1
        assert resource_profiles.scope_profiles, "no scopes"
        for scope in resource_profiles.scope_profiles:
            assert scope.profiles, "no profiles"
            for profile in scope.profiles:
                self.check_profile(profile,
                                   f"{found.get('process.pid', '?')} {found.get('process.executable.name', '?')}")

    def check_type(self, kind, needed):
        texts = self.use("string", kind.type_strindex), self.use("string", kind.unit_strindex)
        assert all(texts) or not needed, "no sample type"

    def check_profile(self, profile, process):
        self.check_type(profile.sample_type, True)
        self.check_type(profile.period_type, False)
        assert len(profile.profile_id) in (0, 16), "id"
        facts = self.attributes(profile.attribute_indices)
        self.counts["profiles"] += 1
        identities, shapes = set(), set()
        for sample in profile.samples:
            times, values = list(sample.timestamps_unix_nano), list(sample.values)
            end = profile.time_unix_nano + profile.duration_nano
            assert all(profile.time_unix_nano <= time < end for time in times), "a time outside of the profile's"
            assert len(values) == len(times) or not values or (not times and len(values) == 1), "values and times"
            assert values or times, "a sample of nothing"
            shapes.add((bool(values), bool(times)))
            self.use("link", sample.link_index)
            found = self.attributes(sample.attribute_indices)
            identities.add((sample.stack_index, sample.link_index, frozenset(sample.attribute_indices)))
            events = len(times) or 1
            self.counts.update(samples=1, events=events, weight_ns=events * profile.period)
            self.samples.append((f"{process} {found.get('thread.name', '')}", sample.stack_index, events))
            self.use("stack", sample.stack_index)
        assert len(shapes) <= 1, f"samples of several shapes: {shapes}"
        assert len(identities) == len(profile.samples), "two samples of equal identity"
        self.facts.append(f"{process}: " + ", ".join(f"{key} {value}" for key, value in sorted(facts.items())))

    def lines(self):
        """"pid name thread;root;...;leaf <type> EVENTS" of each sample, then what is said of each profile."""
        return [f"{who}{self.text_of(stack)} {events}" for who, stack, events in self.samples] + self.facts

    def text_of(self, stack):
        out = []
        for index in reversed(self.tables["stack"][stack].location_indices):
            location = self.tables["location"][index]
            for line in reversed(location.lines):
                out.append(self.tables["string"][self.tables["function"][line.function_index].name_strindex])
            if not location.lines:
                mapping = self.tables["mapping"][location.mapping_index]
                out.append(f"{self.tables['string'][mapping.filename_strindex]}+0x{location.address:x}")
            out[-1] += f" <{self.attributes(location.attribute_indices)['profile.frame.type']}>"
        return "".join(";" + text.replace(";", "_") for text in out)


def judge_all(paths, **rules):
    """Each of them, and what they count together."""
    counts, judged = collections.Counter(), []
    for path in paths:
        try:
            judged.append(Judge(path, **rules))
        except AssertionError as error:
            raise AssertionError(f"{path}: {error}") from error
        counts.update(judged[-1].counts)
    return counts, judged


def check_group(path):
    """GROUP.expected has a "RULE NUMBER", "COUNT NUMBER" or "line TEXT" a line; requests are GROUP-N.bin."""
    rules, wanted, texts = {}, {}, []
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            key, value = line.split(" ", 1)
            if key == "line":
                texts.append(value)
            else:
                (rules if key in ("devfiler", "max_bytes") else wanted)[key] = int(value)
    counts, judged = judge_all(sorted(glob.glob(path.replace(".expected", "-*.bin"))), **rules)
    lines = [line for one in judged for line in one.lines()] if texts else []
    about = wanted.pop("about_weight_ns", counts["weight_ns"])  # periods are rounded: half a ns for each event
    assert abs(counts["weight_ns"] - about) * 2 <= counts["events"], f"{path}: {counts['weight_ns']} ns, not {about}"
    for key, number in wanted.items():
        assert counts[key] == number, f"{path}: {counts[key]} {key}, expected {number}"
    for text in texts:
        assert any(text in line for line in lines), f"{path}: no {text} in\n" + "\n".join(lines)


def first_of(data):
    return data.resource_profiles[0].scope_profiles[0].profiles[0]


def mapping_twice(data):
    """Its attributes in another order."""
    table = data.dictionary.mapping_table
    row = next(row for row in table if len(row.attribute_indices) > 1)
    table.add().CopyFrom(row)
    indices = reversed(row.attribute_indices)
    del table[-1].attribute_indices[:]
    table[-1].attribute_indices.extend(indices)
    location = data.dictionary.location_table
    location.add().CopyFrom(location[1])
    location[-1].mapping_index = len(table) - 1
    data.dictionary.stack_table[1].location_indices.append(len(location) - 1)


def key_by_index(data):
    """A string that a resource alone refers to."""
    data.dictionary.string_table.append("only here")
    pair = data.resource_profiles[0].resource.attributes.add()
    pair.key_strindex = len(data.dictionary.string_table) - 1
    pair.value.int_value = 1


# What each of these does to a good request must be found.
CHANGES = {
    "unused string": lambda data: data.dictionary.string_table.append("unused"),
    "unused location": lambda data: data.dictionary.location_table.add(address=1),
    "equal functions": lambda data: data.dictionary.function_table.append(data.dictionary.function_table[1]),
    "string twice": lambda data: data.dictionary.string_table.append(data.dictionary.string_table[1]),
    "mapping twice": mapping_twice,
    "mapping upside down": lambda data: setattr(data.dictionary.mapping_table[1], "memory_limit", 1),
    "no frame type": lambda data: data.dictionary.location_table[1].ClearField("attribute_indices"),
    "no resources": lambda data: data.ClearField("resource_profiles"),
    "no scopes": lambda data: data.resource_profiles[0].ClearField("scope_profiles"),
    "no profiles": lambda data: data.resource_profiles[0].scope_profiles[0].ClearField("profiles"),
    "no unit": lambda data: setattr(first_of(data).sample_type, "unit_strindex", 0),
    "type of nowhere": lambda data: setattr(first_of(data).sample_type, "type_strindex", -1),
    "late begin": lambda data: setattr(first_of(data), "time_unix_nano", 2**63),
    "stack of nowhere": lambda data: setattr(first_of(data).samples[0], "stack_index", 1000),
    "link of nowhere": lambda data: setattr(first_of(data).samples[0], "link_index", 9),
    "key twice": lambda data: first_of(data).samples[0].attribute_indices.extend([1, 1]),
    "key by index": key_by_index,
    "value without time": lambda data: first_of(data).samples[0].values.extend([1] * 9),
    "sample of nothing": lambda data: first_of(data).samples[0].ClearField("timestamps_unix_nano"),
    "sample twice": lambda data: first_of(data).samples.append(first_of(data).samples[0]),
    "first string": lambda data: data.dictionary.string_table.__setitem__(0, "text"),
    "first stack": lambda data: data.dictionary.stack_table[0].location_indices.append(1),
    "no links": lambda data: data.dictionary.ClearField("link_table"),
    "short link": lambda data: data.dictionary.link_table.add(trace_id=b"short"),
    "negative line": lambda data: setattr(next(row for row in data.dictionary.location_table if row.lines).lines[0], "line", -1),
    "negative start": lambda data: setattr(data.dictionary.function_table[1], "start_line", -1),
}


def check_judge(path):
    for name, change in CHANGES.items():
        data = parse(path)
        change(data)
        with open(path + ".changed", "wb") as file:
            file.write(data.SerializeToString())
        try:
            Judge(path + ".changed")
        except AssertionError:
            continue
        raise AssertionError(f"{name} was not found")


def main():
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.argv[1], "--requests", directory], check=True, stdout=subprocess.DEVNULL)
        groups = sorted(glob.glob(f"{directory}/*.expected"))
        for group in groups:
            check_group(group)
        check_judge(f"{directory}/0-0.bin")
        requests = len(glob.glob(f"{directory}/*.bin"))
    assert len(groups) > 15, groups
    print(f"{requests} requests keep the rules")


if __name__ == "__main__":
    main()

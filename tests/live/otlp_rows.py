# SPDX-License-Identifier: Apache-2.0
"""Samples of OTLP profiles, by the official field numbers: opentelemetry-proto 1.10.0,
opentelemetry/proto/{collector/profiles,profiles}/v1development and common/v1.
"""
import collections
import struct

import stacks


class Row(collections.namedtuple("Row", "resource labels frames times_ns values period_ns")):
    """frames: [(function, line)], leaf first; resource and labels: attributes by key."""

    @property
    def path(self):
        return self.resource.get("process.executable.path", "")

    @property
    def thread(self):
        return self.labels.get("thread.name")

    @property
    def count(self):
        return len(self.times_ns) or sum(self.values)


def numbers(values):
    return [number for value in values for number in stacks.numbers(value)]


class Dictionary:
    def __init__(self, data):
        self.raw = stacks.message(data)
        self.strings = [text.decode("utf-8") for text in self.raw[5]]
        self.attributes = [self.attribute(stacks.message(row)) for row in self.raw[6]]
        self.functions = [self.strings[stacks.first(stacks.message(row), 1)] for row in self.raw[3]]
        self.locations = [stacks.message(row) for row in self.raw[2]]
        self.stacks = [numbers(stacks.message(row)[1]) for row in self.raw[7]]

    def value(self, data):
        """AnyValue: a string or a number; others are nobody's here."""
        message = stacks.message(data)
        if message[8]:
            return self.strings[message[8][0]]
        return message[1][0].decode("utf-8") if message[1] else stacks.first(message, 3)

    def attribute(self, message):
        return self.strings[stacks.first(message, 1)], self.value(stacks.first(message, 2, b""))

    def pair(self, data):
        """KeyValue, whose key may be a string of the dictionary."""
        message = stacks.message(data)
        key = self.strings[message[3][0]] if message[3] else stacks.first(message, 1, b"").decode("utf-8")
        return key, self.value(stacks.first(message, 2, b""))

    def frames(self, stack):
        for location in self.stacks[stack]:
            for line in map(stacks.message, self.locations[location][3]):
                yield self.functions[stacks.first(line, 1)], stacks.first(line, 2)


def rows(body):
    """Of one message, a request or a file."""
    message = stacks.message(body)
    dictionary = Dictionary(stacks.first(message, 2, b""))
    for by_resource in map(stacks.message, message[1]):
        resource = dict(map(dictionary.pair, stacks.message(stacks.first(by_resource, 1, b""))[1]))
        profiles = (profile for scope in map(stacks.message, by_resource[2]) for profile in map(stacks.message, scope[2]))
        for profile in profiles:
            for sample in map(stacks.message, profile[2]):
                yield Row(resource, dict(dictionary.attributes[i] for i in numbers(sample[2])),
                          list(dictionary.frames(stacks.first(sample, 1))),
                          [ns for data in sample[5] for ns, in struct.iter_unpack("<Q", data)], numbers(sample[4]),
                          stacks.first(profile, 6))

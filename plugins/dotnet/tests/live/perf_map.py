# SPDX-License-Identifier: Apache-2.0
"""Compares names of JIT code with the map that the runtime itself writes (DOTNET_PerfMapEnabled=3).

A line of it is "ADDRESS SIZE RETURNED [MODULE] Type::Method(ARGUMENTS)[TIER]"; stubs have no module.
"""
import re

LINE = re.compile(r"(?:0x)?([0-9a-f]+) [0-9a-f]+ (?:.*? )?\[([^\]]*)\] (.*)\[[A-Za-z0-9]+\]$")

DYNAMIC = "dynamicClass."   # what the runtime says for the type of a method that has none


def bare(name):
    """Without type arguments, which both write in their own way, parameters, and the type of dynamic methods."""
    text, depth = "", 0
    for char in name:
        depth -= char == "]"
        if char == "(" and not depth and text:
            break
        if not depth and char not in "[]":
            text += char
        depth += char == "["
    return text.replace("/", "+").removeprefix(DYNAMIC)


def said(lines):
    """{address: Namespace.Type+Inner.Method}, as the runtime has it."""
    names = {}
    for line in lines:
        match = LINE.match(line.rstrip())
        if match and "::" in match[3]:
            names[int(match[1], 16)] = bare(match[3].replace("::", "."))
    return names


def named(lines):
    """{address: system name}, and {which: (median, 99th percentile)} in ns, of what print_names.c writes."""
    names, costs = {}, {}
    for words in (line.rstrip("\n").split("\t") for line in lines):
        if words[0] == "NAME":
            names[int(words[1], 16)] = words[3] if words[2] else ""
        elif words[0] == "COST":
            costs[words[1]] = int(words[2]), int(words[3])
    return names, costs


def differences(said_names, names):
    """How many were compared, and what differs."""
    both = [addr for addr in said_names if addr in names]
    return len(both), [f"{addr:x}: {names[addr]}, not {said_names[addr]}" for addr in both
                       if bare(names[addr]) != said_names[addr]]

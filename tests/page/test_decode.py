#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the page's decoder makes of messages, and of torn ones: runs test_decode.js under node. Without node it is a
skip; test_page.py runs the same code in a browser."""
import base64
import json
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import messages  # noqa: E402

PERIOD = 10_101_010


def ask(requests):
    node = shutil.which("node")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "test_decode.js")
    coded = [{key: base64.b64encode(value).decode() for key, value in request.items()} for request in requests]
    done = subprocess.run([node, script], input=json.dumps(coded), capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def check_small(found):
    frames = found["frames"]
    assert frames["native copy_words"] == [500 * PERIOD, 500 * PERIOD], frames
    assert frames["speech slow_handler"] == [125 * PERIOD, 625 * PERIOD], frames
    assert frames["kernel vfs_read"] == [145 * PERIOD, 145 * PERIOD], frames
    assert frames["cut no unwind rule"] == [0, 20 * PERIOD], frames
    assert frames["gap frames are missing"] == [0, 20 * PERIOD], frames
    assert found["processes"] == {"server": 1000, "sh": 40}, found["processes"]
    assert found["paths"]["_start;main;serve;slow_handler;join_words;copy_words"] == 500 * PERIOD
    assert found["timed"] == 1040
    # The server all the time, 100 samples a second, the shell in the last two seconds; an event on a border is of one side.
    for i, (weight, samples) in enumerate(found["ranges"]):
        assert abs(samples - (120 if i >= 8 else 100)) <= 3 and weight == samples * PERIOD, (i, weight, samples)
    assert sum(samples for _, samples in found["ranges"]) == 1040
    assert found["facts"]["ebpf_profiler.lost_samples"] == 3


def random_stacks(rng):
    """A message, and the sums that a dictionary makes of it."""
    m = messages.Maker()
    names = [f"f{i}" for i in range(12)]
    locations = [m.location("native", [(name, "", 0)]) for name in names]
    frames = {}
    for i in range(200):
        path = [rng.randrange(12) for _ in range(rng.randrange(1, 9))]
        times = [rng.randrange(10**10) for _ in range(rng.randrange(1, 5))]
        m.sample((i % 5, f"p{i % 5}", ""), i % 7, "t", i % 3, m.stack([locations[at] for at in path]), times)
        weight = len(times) * PERIOD
        for at in set(path):
            own, total = frames.get("native " + names[at], (0, 0))
            frames["native " + names[at]] = (own + (weight if at == path[0] else 0), total + weight)
    return m.message(), {name: list(pair) for name, pair in frames.items()}


def shared_names():
    """Functions of one name: in two files, twice in one, in two directories, of native code, and one that is alone."""
    m = messages.Maker()
    frames = {}
    for kind, name, file, line, label in (
            ("speech", "search", "/srv/a.sp", 12, "search (a.sp:12)"), ("speech", "search", "/srv/b.sp", 3, "search (b.sp:3)"),
            ("speech", "(anonymous)", "/x.sp", 7, "(anonymous) (x.sp:7)"), ("speech", "(anonymous)", "/x.sp", 90, "(anonymous) (x.sp:90)"),
            ("speech", "init", "/one/m.sp", 1, "init (/one/m.sp:1)"), ("speech", "init", "/two/m.sp", 1, "init (/two/m.sp:1)"),
            ("native", "search", "", 0, "search"), ("speech", "alone", "/srv/a.sp", 50, "alone")):
        m.sample((1, "p", ""), 1, "t", 0, m.stack([m.location(kind, [(name, file, line + 1, line)])]), [5])
        frames[f"{kind} {label}"] = [PERIOD, PERIOD]
    return m.message(), frames


def main():
    if not shutil.which("node"):
        print("skip: no node")
        return 77
    rng = random.Random(7)
    message = messages.small().message()
    torn = [message[:size] for size in range(0, len(message) - 1, 211)]
    bent = []
    for _ in range(300):
        data = bytearray(message)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        bent.append(bytes(data))
    made = [random_stacks(rng) for _ in range(5)]
    requests = [{"message": message}, {"message": message, "base": message}]
    requests += [{"message": one} for one, _ in made] + [{"message": one} for one in torn + bent]
    shared, apart = shared_names()
    found = ask(requests + [{"message": shared}, {"message": shared, "base": shared}])
    *answers, alone, compared = found["answers"]
    assert alone["frames"] == apart, alone["frames"]
    assert compared["frames"]["speech search"][0] == 2 * PERIOD, compared["frames"]     # of two sides by names
    check_small(answers[0])
    check_small(answers[1] | {"processes": answers[0]["processes"]})    # the base adds no weight
    for (_, frames), one in zip(made, answers[2:]):
        assert one["frames"] == frames, (one["frames"], frames)
        assert sum(weight for weight, _ in one["ranges"]) == sum(own for own, _ in frames.values()), one["ranges"]
    for one in answers[2 + len(made):2 + len(made) + len(torn)]:
        assert one.get("error") and one["isPlain"], one
    for one in answers[2 + len(made) + len(torn):]:
        assert "error" not in one or one["isPlain"], one
    assert found["shown"].startswith("a\u27e8202E\u27e9b\u27e81B\u27e9[0m\u27e8E0041\u27e9xxx") and len(found["shown"]) < 1000
    assert found["down"] == "99.99 %", found["down"]
    print(f"{len(answers)} messages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/: a page, opened, and what is seen of it as a small PNG.

    pictures.py OUT.png PAGE.html [HASH] [--size WxH] [--do ACTION]...

ACTION: click X,Y; move X,Y; drag X1,Y1,X2,Y2; key K; places are in pixels of the window. The picture has 64 colours
at most, which is what makes it small."""
import argparse
import collections
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402

COLORS = 64


def act(b, action):
    what, _, places = action.partition(" ")
    numbers = [float(part) for part in places.split(",")] if what != "key" else []
    if what == "click":
        b.click_at(*numbers)
    elif what == "move":
        b.move(*numbers)
    elif what == "drag":
        b.drag(*numbers)
    elif what == "key":
        b.key(places)
    else:
        raise SystemExit(f"no action {what}")


def palette_of(picture):
    """The commonest colours, those apart from each other first; and the nearest of them for every colour."""
    counts = collections.Counter()
    for line in picture.rows:
        counts.update(zip(line[0::picture.channels], line[1::picture.channels], line[2::picture.channels]))
    chosen = [color for color, _ in counts.most_common(10)]
    for least in (12, 4, 0):
        for color, _ in counts.most_common(4000):
            if len(chosen) < COLORS and all(max(abs(a - b) for a, b in zip(color, other)) > least for other in chosen):
                chosen.append(color)
    nearest = {color: min(range(len(chosen)), key=lambda i: sum((a - b) ** 2 for a, b in zip(color, chosen[i]))) for color in counts}
    return chosen, nearest


def chunk(kind, payload):
    return struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", zlib.crc32(kind + payload))


def write(picture, path):
    chosen, nearest = palette_of(picture)
    channels = picture.channels
    raw = b"".join(b"\0" + bytes(nearest[color] for color in zip(line[0::channels], line[1::channels], line[2::channels]))
                   for line in picture.rows)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", picture.width, picture.height, 8, 3, 0, 0, 0))
    png += chunk(b"PLTE", b"".join(map(bytes, chosen))) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    with open(path, "wb") as file:
        file.write(png)
    print(f"{path}: {len(png)} bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("page")
    parser.add_argument("hash", nargs="?", default="")
    parser.add_argument("--size", default="1040x600")
    parser.add_argument("--do", action="append", default=[])
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    with browser.Browser(width, height) as b:
        b.open(options.page, options.hash)
        for action in options.do:
            act(b, action)
        write(b.screenshot(), options.out)


if __name__ == "__main__":
    main()

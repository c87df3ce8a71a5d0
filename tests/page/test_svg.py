#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The flame graph of the svg exporter in a headless Chromium: it is drawn, zoomed and searched.

    test_svg.py PROFILER PLUGINS
"""
import os
import subprocess
import sys
import tempfile

import browser

FOLDED = "server;main;handle;parse 60\nserver;main;handle;write 30\nserver;main;idle 5\nshell;run 5\n"
SKIP = 77
# What is seen of each box: {title without its numbers: [x, width, label]}
SEEN = """Object.fromEntries([...document.querySelectorAll('g.box')].filter((box) => box.style.display !== 'none').map((box) => {
    const rect = box.querySelector('rect');
    return [box.querySelector('title').textContent.split(' (')[0],
        [Number(rect.getAttribute('x')) - 10, Number(rect.getAttribute('width')), box.querySelector('text').textContent]];
}))"""


def click(b, title):
    b.js(f"""[...document.querySelectorAll('g.box')].find((box) =>
        box.querySelector('title').textContent.startsWith('{title} (')).dispatchEvent(new MouseEvent('click'))""")


def check(b, expected, what):
    seen = b.js(SEEN)
    assert set(seen) == set(expected), (what, seen)
    for name, (x, width) in expected.items():
        assert abs(seen[name][0] - x) < 0.1 and abs(seen[name][1] - width) < 0.1, (what, name, seen[name])


def run(b):
    whole = {"all": (0, 1180), "server": (0, 1121), "main": (0, 1121), "handle": (0, 1062), "parse": (0, 708),
             "write": (708, 354), "idle": (1062, 59), "shell": (1121, 59), "run": (1121, 59)}
    check(b, whole, "at first")
    click(b, "handle")
    check(b, {"all": (0, 1180), "server": (0, 1180), "main": (0, 1180), "handle": (0, 1180), "parse": (0, 786.67),
              "write": (786.67, 393.33)}, "zoomed")
    assert b.js(SEEN)["write"][2] == "write"
    b.js("window.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    check(b, whole, "all again")
    b.js("window.prompt = () => '^(parse|shell|run)$'")
    b.js("document.getElementById('search').dispatchEvent(new MouseEvent('click'))")
    assert b.js("document.getElementById('status').textContent") == "matched: 65.00 %"
    assert b.js("document.querySelectorAll('.hit').length") == 3
    b.js("window.prompt = () => '('")
    b.js("document.getElementById('search').dispatchEvent(new MouseEvent('click'))")
    assert "regular expression" in b.js("document.getElementById('status').textContent")


def main(profiler, plugins):
    if not browser.find_chromium():
        print("skip: there is no chromium")
        return SKIP
    with tempfile.TemporaryDirectory() as directory, browser.Browser() as b:
        path = os.path.join(directory, "x.svg")
        subprocess.run([profiler, "convert", "-q", "-", "-o", path], input=FOLDED, text=True, check=True,
                       env={**os.environ, "EBPF_PROFILER_PLUGINS_DIR": plugins})
        b.call("Page.navigate", url="file://" + path)
        b.wait("document.querySelectorAll('g.box').length > 0")
        run(b)
    print("OK")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))

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

LONG, CUT = "ns::narrow(anonymous) (int)", "a_function_whose_name_is_cut_at_first"
# 1 of 5000 is a quarter of a pixel.
NARROW = f"server;{LONG} 1\nserver;{CUT} 200\nserver;rest 4799\n"
FOLDED = "server;main;handle;parse 60\nserver;main;handle;write 30\nserver;main;idle 5\nshell;run 5\n"
SKIP = 77
# What is seen of each box: {title without its numbers: [x, width, label]}
SEEN = """Object.fromEntries([...document.querySelectorAll('g.box')].filter((box) => box.style.display !== 'none').map((box) => {
    const rect = box.querySelector('rect');
    return [box.querySelector('title').textContent.split(' (')[0],
        [Number(rect.getAttribute('x')) - 10, Number(rect.getAttribute('width')), box.querySelector('text')?.textContent]];
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
    assert b.js("document.documentElement.firstElementChild.localName") == "title"    # test_svg.c says why
    assert b.js("document.title") == b.js("document.getElementById('title').textContent")
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


def run_narrow(b):
    """What had no label, or a part of one, has the whole name when there is room; and is found by it."""
    labels = f"""Object.fromEntries([...document.querySelectorAll('g.box')].map((box) =>
        [box.querySelector('title').textContent.replace(/ \\([^()]*%\\)$/, ''), box.querySelector('text')?.textContent]))"""
    seen = b.js(labels)
    assert LONG not in seen or seen[LONG] is None, seen
    assert CUT.startswith(seen[CUT][:-1]) and seen[CUT].endswith("…"), seen
    for name in (LONG, CUT):
        click(b, name)
        assert b.js(labels)[name] == name, b.js(labels)
    b.js("window.prompt = () => 'anonymous'")
    b.js("document.getElementById('search').dispatchEvent(new MouseEvent('click'))")
    assert b.js("document.querySelectorAll('.hit').length") == 1


def main(profiler, plugins):
    if not browser.find_chromium():
        print("skip: there is no chromium")
        return SKIP
    with tempfile.TemporaryDirectory() as directory, browser.Browser() as b:
        for text, judge in ((FOLDED, run), (NARROW, run_narrow)):
            path = os.path.join(directory, f"{judge.__name__}.svg")
            subprocess.run([profiler, "convert", "-q", "-", "-o", path], input=text, text=True, check=True,
                           env={**os.environ, "EBPF_PROFILER_PLUGINS_DIR": plugins})
            b.call("Page.navigate", url="file://" + path)
            b.wait("document.querySelectorAll('g.box').length > 0 && document.readyState === 'complete'")
            judge(b)
    print("OK")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))

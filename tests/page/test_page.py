#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: drawn, clicked, searched, dragged, by keys, judged by what its elements say and by
single pixels. Without a Chromium it is a skip.

    test_page.py HEAD.html [CASE...]

HEAD.html is what build_page.py --html makes. Nothing here depends on how fast the machine is."""
import os
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402
import messages  # noqa: E402

SKIP = 77
ROW = 19
SHIFT = 8
CASES = []


def case(function):
    CASES.append(function)
    return function


class Bench:
    """A browser and pages for it."""

    def __init__(self, head, directory):
        self.browser, self.head, self.directory = browser.Browser(), head, directory

    def open(self, message, hash_text="", base=None):
        path = os.path.join(self.directory, "page.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(messages.page(self.head, message, base))
        self.browser.open(path, hash_text)
        return self.browser

    @staticmethod
    def until(condition):
        deadline = time.monotonic() + browser.PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError("never")
            time.sleep(.02)


def near(a, b, most=6):
    return all(abs(x - y) <= most for x, y in zip(a, b))


def rgb(text):
    """'rgb(1, 2, 3)' of a computed style."""
    return tuple(int(part) for part in text[text.index("(") + 1:-1].split(",")[:3])


def legend_color(b, kind):
    return rgb(b.js(f"getComputedStyle(document.querySelector('[data-kind=\"{kind}\"] i')).backgroundColor"))


def is_of_kind(b, pixel, kind, toward=255):
    """A box has the legend's colour or one of its two lighter shades."""
    color = legend_color(b, kind)
    return any(near(pixel, [round(c + (toward - c) * share) for c in color]) for share in (0, .13, .26))


def at_row(b, share, row):
    """A place in the graph: a share of its width, a row from the root that is above."""
    x, y, width, _ = b.box("#graph")
    return x + width * share, y + row * ROW + ROW / 2


def equal(a, b, what=""):
    if a != b:
        raise AssertionError(f"{what}: {a!r} is not {b!r}")


def holds(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"{part!r} is not in {text!r}")


@case
def facts_and_quality(bench):
    b = bench.open(messages.small().message())
    holds(b.text("#title"), "server on testhost")
    holds(b.text("#facts").replace("\u202f", ""), "1040 samples", "99 Hz", "10.51 s of CPU time", "in 10.00 s", "2 CPUs")
    holds(b.text("#quality"), "98.07 % complete", "86.05 % fully named", "3 samples (0.15 %)", "profiler 0.55 %, BPF 0.21 %")
    holds(b.js("document.querySelector('#quality [title]').title"), "1.92 % no unwind rule")
    equal(b.complaints(), [], "complaints")
    for sample_type, time in (("cpu", "CPU time"), ("samples", "time"), ("wall", "wall")):
        said = messages.small()
        said.facts.update({"ebpf_profiler.sample_type": sample_type, "ebpf_profiler.weight_unit": "nanoseconds"})
        holds(bench.open(said.message()).text("#facts").replace("\u202f", ""), f"10.51 s of {time}")


@case
def command_is_the_title(bench):
    m = messages.small()
    m.facts["ebpf_profiler.title"] = "./server --port 80"
    b = bench.open(m.message())
    equal(b.text("#title"), "./server --port 80", "what was typed")
    equal(b.js("document.title"), "./server --port 80: profile", "the window's title")
    holds(b.text("#facts"), "on testhost", "2026-09-21 14:13:20 UTC")
    b = bench.open(messages.small().message())  # of the agent: what ran, where and when
    equal(b.text("#title"), "server on testhost, 2026-09-21 14:13 UTC", "no command")
    m = messages.small()
    m.facts["ebpf_profiler.title"] = "sh -c '<script>\x1b[31m" + "x" * 5000
    b = bench.open(m.message())
    holds(b.text("#title"), "<script>\u27e81B\u27e9[31m")
    equal(b.complaints(), [], "complaints")


@case
def what_has_no_times_has_no_strip(bench):
    m = messages.Maker()
    m.sample_type, m.period, m.duration = ("samples", "count"), 0, 0
    m.base_ns = 0
    m.facts = {"ebpf_profiler.lost_samples": 0}
    m.sample((0, "", ""), 0, "", 0, m.stack([m.location("native", [("main", "", 0)])]), [], values=[1234])
    b = bench.open(m.message())
    equal(b.text("#title"), "testhost", "nobody knows what ran, or when")
    equal(b.text("#facts").replace("\u202f", ""), "1234 samples \u00b7 duration unknown \u00b7 by ebpf-profiler 0.1.0", "no rate")
    equal(b.text("#quality").split("\n"), ["stacks unknown", "names unknown", "lost unknown", "cost unknown"], "quality")
    equal([b.js(f"document.querySelector('{part}').getClientRects().length") for part in ("#strip", "#as-grid")], [0, 0], "no strip")
    holds(b.text("#range"), "this file has no times")
    holds(b.text("#processes"), "unknown program")
    b.key("r")
    b.key("t")
    equal(b.complaints(), [], "complaints")
    b = bench.open(messages.small().message())
    equal([b.js(f"document.querySelector('{part}').getClientRects().length") for part in ("#strip", "#as-grid")], [1, 1], "a strip")


@case
def one_is_not_said_as_many(bench):
    m = messages.Maker()
    m.facts = {"ebpf_profiler.lost_samples": 1, "ebpf_profiler.due_samples": 2, "ebpf_profiler.cpus": 1}
    m.sample((1, "p", ""), 1, "t", 0, m.stack([m.location("native", [("f", "", 0)])]), [1])
    b = bench.open(m.message())
    holds(b.text("#facts"), "1 sample \u00b7", "1 CPU \u00b7")
    holds(b.text("#quality"), "lost 1 sample (50.00 %)")
    b.type("#search", "f")
    holds(b.text("#found"), "100 % in 1 place")
    equal(b.text("#found")[-1], "e", "1 place")
    b.move(*at_row(b, .5, 1))
    holds(b.text("#tip"), "1 sample")
    b.key("Escape")
    b.js("document.querySelector('#view-table').click()")
    b.settle()
    equal(b.text("#more"), "1 function", "below the table")


@case
def functions_have_their_places(bench):
    m = messages.small()
    twice = [m.location("speech", [("search", f"/src/{name}.sp", 5, 4)]) for name in ("one", "two")]
    known = m.location("speech", [("parse", "/src/deep/parse.sp", 31, 30)])
    m.sample((100, "server", ""), 100, "server", 0, m.stack([twice[0], known, twice[1]]), [1])
    b = bench.open(m.message(), "#view=table")
    places = b.js("""Object.fromEntries([...document.querySelectorAll('#table tbody tr')].map((row) =>
        [row.querySelector('bdi').textContent, row.querySelector('.place')?.textContent ?? '']))""")
    equal(places["parse"], "parse.sp:30", "where it begins, not the line that ran")
    equal(places["slow_handler"], "app.sp", "nobody knows where it begins")
    equal(places["search (one.sp:4)"], "", "its name says it")
    equal(places["vfs_read"], "", "no file")
    equal(b.js("[...document.querySelectorAll('.place')].find((place) => place.textContent === 'parse.sp:30').title"), "/src/deep/parse.sp:30", "the whole path")


@case
def graph_has_half_of_a_small_window(bench):
    b = bench.browser
    before, after = messages.small(), messages.small()
    for m, name in ((before, "before.html"), (after, "after.html")):
        m.facts["ebpf_profiler.title"] = f"/a/long/path/to/{name}"
        for i in range(20):
            m.sample((1000 + i, f"program-{i}", ""), 1, "t", 0, m.stack([m.location(f"kind-{i}", [("f", "", 0)])]), [i])
    size = lambda width, height: b.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    size(800, 600)
    try:
        for hash_text in ("", "#keep=a&hide=zzz&q=a&only=!comm:sh&range=0,3000000000&group=thread"):
            for base in (None, before.message()):
                bench.open(after.message(), hash_text, base=base)
                height = b.js("document.querySelector('#graph').clientHeight")
                if height < 300:
                    raise AssertionError(f"the graph has {height} of 600, {hash_text}, {base is not None}")
                equal(b.js("document.documentElement.scrollWidth"), 800, "nothing is beside the window")
                seen = b.js("['#keep', '#hide', '#undo', '#search', '#help', '#save'].filter((id) => { const r = document.querySelector(id).getBoundingClientRect(); return r.left < 0 || r.right > 800 || r.width < 20; })")
                equal(seen, [], "controls out of sight")
    finally:
        size(1280, 800)


@case
def picture_is_saved(bench):
    """As it is shown, by a click and by its key; names of others stay text; the file is searched and zoomed by itself."""
    m = messages.small()
    m.facts["ebpf_profiler.title"] = "./server <80>"
    evil = m.stack([m.location("native", [('</title><script>alert("1")]]>\x1b\u202e', "", 0)])])
    m.sample((300, "evil", ""), 300, "evil", 0, evil, [i * 10_000_000 for i in range(50)])
    b = bench.open(m.message())
    b.js("(() => { const make = URL.createObjectURL; URL.createObjectURL = (blob) => { window.saved = blob; return make.call(URL, blob); }; })()")
    b.js("document.addEventListener('click', (event) => { if (event.target.download) window.savedAs = event.target.download; }, true)")
    b.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=bench.directory)
    def saved(act):
        path = os.path.join(bench.directory, "server-80.svg")
        if os.path.exists(path):
            os.unlink(path)
        act()
        bench.until(lambda: os.path.exists(path) and open(path, encoding="utf-8").read().endswith("</svg>\n"))
        with open(path, encoding="utf-8") as file:
            return xml.etree.ElementTree.fromstring(file.read())
    def boxes(svg):
        return {box.find("{*}title").text.rsplit(" (", 1)[0]: box for box in svg.iterfind(".//{*}g")}
    svg = saved(lambda: b.click("#save"))
    equal(svg.find(".//{*}text[@id='title']").text, "./server <80>, CPU time", "its title")
    equal((svg[0].tag.rsplit("}")[-1], svg[0].text), ("title", "./server <80>, CPU time"), "first of all")
    whole = boxes(svg)
    equal({name for name in whole if "title" in name}, {'</title><script>alert("1")]]>\u27e81B\u27e9\u27e8202E\u27e9'}, "a name is text")
    equal(len(svg.findall(".//{*}script")), 1, "only its own script")
    holds(whole["slow_handler"].find("{*}title").text, "slow_handler (6.31 s, 57.3")
    equal([float(whole["all"].get("data-" + key)) for key in "xwy"], [0, 1180, 0], "the root")
    share = float(whole["slow_handler"].get("data-w")) / 1180
    if abs(share - 625 / 1090) > .001:
        raise AssertionError(f"a box has the width of its time, not {share}")
    # A filter, a zoom and a search.
    b.type("#hide", "alert")
    b.click_at(*at_row(b, .65, 4))
    b.type("#search", "vfs")
    svg = saved(lambda: b.js("document.querySelector('#graph canvas').focus()") or b.key("p"))
    zoomed = boxes(svg)
    if "slow_handler" in zoomed or any("alert" in name for name in zoomed):
        raise AssertionError(f"what is not shown is not in it: {list(zoomed)}")
    equal([float(zoomed["fast_handler"].get("data-" + key)) for key in "xw"], [0, 1180], "what was zoomed to")
    equal([name for name, box in zoomed.items() if "hit" in box.get("class")], ["vfs_read"], "hits")
    holds(svg.find(".//{*}text[@id='title']").text, "hide alert", "hidden: 4.59 %")
    equal(b.complaints(), [], "complaints")
    b.call("Page.navigate", url="file://" + os.path.join(bench.directory, "server-80.svg"))
    b.wait("document.querySelectorAll('g.box').length > 0 && document.readyState === 'complete'")
    b.js("[...document.querySelectorAll('g.box')].find((box) => box.textContent.includes('vfs_read')).dispatchEvent(new MouseEvent('click'))")
    equal(b.js("[...document.querySelectorAll('g.box')].find((box) => box.textContent.includes('vfs_read')).querySelector('rect').getAttribute('width')"), "1180", "it zooms")
    b = bench.open(messages.small().message(), "#view=table")
    equal(b.js("document.querySelector('#save').disabled"), True, "a table is no picture")


@case
def unknown_is_said(bench):
    m = messages.Maker()
    m.sample((1, "p", ""), 1, "t", 0, m.stack([m.location("native", [("f", "", 0)])]), [1])
    b = bench.open(m.message())
    holds(b.text("#quality"), "lost\xa0unknown".replace("\xa0", " "), "cost unknown")


@case
def boxes_have_the_colours_of_their_kinds(bench):
    b = bench.open(messages.small().message())
    picture = b.screenshot()
    for share, row, kind in ((.9, 1, "native"), (.9, 3, "speech"), (.2, 6, "native"), (.65, 5, "kernel")):
        x, y = at_row(b, share, row)
        pixel = picture.pixel(x, y - 7)     # above the text
        if not is_of_kind(b, pixel, kind):
            raise AssertionError(f"{kind} at row {row}: {pixel}, legend {legend_color(b, kind)}")
    x, y = at_row(b, .55, 6)    # below slow_handler's own time is nothing
    equal(picture.pixel(x, y), (255, 255, 255), "no box")


@case
def tooltip_says_what_is_known(bench):
    b = bench.open(messages.small().message())
    b.move(*at_row(b, .3, 4))
    text = b.text("#tip")
    holds(text, "slow_handler", "/src/app.sp:77", "lines: 77 (80.00 %), 78 (20.00 %)", "speech", "6.31 s, 60.10 %", "1.26 s itself", "625 samples")
    b.move(*at_row(b, .2, 6))
    holds(b.text("#tip"), "copy_words", "/src/join.h:5 in /usr/lib/libjoin.so", "native, inlined", "5.05 s")
    b.move(*at_row(b, .99, 2))
    holds(b.text("#tip"), "libold.so+0x1234", "found by frame pointer only")
    b.move(5, 5)
    equal(b.js("document.querySelector('#tip').hidden"), True, "the tooltip goes")


@case
def click_zooms_and_escape_leaves(bench):
    b = bench.open(messages.small().message())
    b.click_at(*at_row(b, .65, 5))
    holds(b.text("#said"), "entry_SYSCALL_64")
    picture = b.screenshot()
    x, y = at_row(b, .02, 5)
    if not is_of_kind(b, picture.pixel(x, y - 6), "kernel"):
        raise AssertionError("the frame that was clicked fills the width")
    holds(b.js("location.hash"), "zoom=")
    address = b.js("location.hash")
    b.key("Escape")
    equal(b.js("location.hash"), "", "all is shown again")
    b = bench.open(messages.small().message(), address)
    if not is_of_kind(b, b.screenshot().pixel(x, y - 6), "kernel"):
        raise AssertionError("an address that was sent shows the same")


@case
def search_has_a_share_and_hits(bench):
    b = bench.open(messages.small().message())
    b.type("#search", "handler$")
    holds(b.text("#found"), "96.15 % in 2 places")
    x, y = at_row(b, .3, 4)
    equal(b.screenshot().pixel(x, y - 7), (0xc2, 0x18, 0x7a), "a hit's colour")
    b.click("#next")
    holds(b.text("#found"), "at 1")
    holds(b.text("#said"), "slow_handler")
    b.key("n")
    holds(b.text("#said"), "fast_handler")
    b.key("N")
    holds(b.text("#said"), "slow_handler")
    b.type("#search", "(")
    holds(b.text("#found"), "not a regular expression")
    b.type("#search", "nowhere")
    holds(b.text("#found"), "0 % in 0 places")


@case
def range_filters_every_view(bench):
    b = bench.open(messages.small().message())
    x, y, width, _ = b.box("#strip")
    b.drag(x + width * .81, y + 40, x + width * .999, y + 40)
    holds(b.text("#range"), "8.1")
    b.key("2")
    holds(b.text("#table"), "copy_words", "libold.so+0x1234")
    b.js("document.querySelector('#strip').focus()")
    b.key("Home")
    text = b.text("#table")
    if "libold" in text:
        raise AssertionError("the shell did not run in the first two seconds")
    b.click_at(x + width * .5, y + 40)
    holds(b.text("#table"), "libold.so+0x1234")


@case
def grid_shows_rows_of_20_ms(bench):
    m = messages.Maker()
    burst = m.stack([m.location("native", [("burst", "", 0)])])
    # From .5 s to .6 s of each second, and now and then.
    m.sample((1, "burst", ""), 1, "t", 0, burst, [s * 10**9 + 500_000_000 + i * 5_000_000 + 1 for s in range(10) for i in range(20)])
    b = bench.open(m.message())
    b.key("t")
    x, y, _, height = b.box("#strip")
    equal(height, 150, "height")
    picture = b.screenshot()
    for second in (0, 5, 9):
        if near(picture.pixel(x + second * 24 + 10, y + 77), (255, 255, 255), 20):
            raise AssertionError(f"second {second} has no burst at .51 s")
        equal(picture.pixel(x + second * 24 + 10, y + 30), (255, 255, 255), "nothing at .2 s")
    b.click_at(x + 5 * 24 + 10, y + 77)
    holds(b.text("#range"), "5.50 s to 5.52 s")
    holds(b.text("#facts"), "200 samples")


@case
def legend_switches_kinds_off(bench):
    b = bench.open(messages.small().message())
    b.click('[data-kind="speech"]')
    equal(b.js("document.querySelector('[data-kind=\"speech\"]').getAttribute('aria-pressed')"), "false", "pressed")
    b.key("2")
    text = b.text("#table")
    if "handler" in text:
        raise AssertionError("frames of a kind that is off are gone")
    holds(text, "main", "3.79 s")     # with its callees' own time, as its own
    holds(b.js("location.hash"), "off=speech")
    b.key("u")
    holds(b.text("#table"), "slow_handler")


@case
def hide_and_keep(bench):
    b = bench.open(messages.small().message())
    b.type("#hide", "vfs_read")
    holds(b.text("#hidden"), "hidden: 13.94 %")
    b.type("#keep", "slow")
    holds(b.text("#hidden"), "hidden: 39.90 %")
    b.type("#keep", "")
    b.type("#hide", "")
    equal(b.text("#hidden"), "", "nothing is hidden")
    b.click_at(*at_row(b, .3, 4))
    b.key("h")
    equal(b.js("document.querySelector('#hide').value"), "^slow_handler$", "hidden by its name")
    holds(b.text("#hidden"), "60.10 %")


@case
def groups(bench):
    b = bench.open(messages.small().message())
    for by, expect in (("program", "server"), ("process", "server (100)"), ("thread", "server (100): server (100)"), ("user", "user www-data"), ("unit", "server.service"), ("container", "container c0ffee112233"), ("cpu", "CPU 0")):
        b.js(f"(() => {{ const s = document.querySelector('#group'); s.value = '{by}'; s.dispatchEvent(new Event('change')); }})()")
        b.settle()
        b.move(*at_row(b, .2, 1))
        holds(b.text("#tip"), expect)


@case
def groups_are_kept_and_hidden(bench):
    b = bench.open(messages.small().message(), "#group=thread")
    b.click_at(*at_row(b, .2, 1))
    holds(b.text("#said"), "server (100): server (100)")
    b.key("k")
    holds(b.text("#only"), "only server (100): server (100)")
    holds(b.text("#hidden"), "15.87 %")
    b.key("h")
    holds(b.text("#only"), "without server (100): server (100)")
    holds(b.text("#hidden"), "84.13 %")


@case
def only_one_process(bench):
    b = bench.open(messages.small().message())
    b.click('[data-process="sh"]')
    holds(b.text("#hidden"), "hidden: 96.15 %")
    b.key("2")
    holds(b.text("#table"), "libold.so+0x1234", "50.00 %")


@case
def callers_and_callees(bench):
    b = bench.open(messages.small().message())
    b.click_at(*at_row(b, .65, 4))
    b.key("c")
    equal(b.text("#around-name"), "fast_handler", "the function")
    x, y, width, height = b.box("#callers")
    b.move(x + 30, y + height - ROW - ROW / 2)
    holds(b.text("#tip"), "serve", "3.79 s")
    x, y, width, height = b.box("#callees")
    b.move(x + 30, y + ROW + ROW / 2)
    holds(b.text("#tip"), "entry_SYSCALL_64", "1.26 s")
    b.click_at(x + 30, y + ROW + ROW / 2)
    equal(b.text("#around-name"), "entry_SYSCALL_64", "a click goes there")


@case
def keys_alone(bench):
    b = bench.open(messages.small().message())
    b.js("document.querySelector('#graph canvas').focus()")
    for key, expect in (("ArrowDown", "all: 10.51 s"), ("ArrowDown", "_start"), ("ArrowDown", "main"), ("ArrowDown", "serve"), ("ArrowDown", "slow_handler"),
                        ("ArrowRight", "fast_handler"), ("ArrowDown", "entry_SYSCALL_64"), ("ArrowUp", "fast_handler"), ("ArrowLeft", "slow_handler")):
        b.key(key)
        holds(b.text("#said"), expect)
    b.key("Enter")
    holds(b.js("location.hash"), "zoom=")
    b.key("i")
    holds(b.js("location.hash"), "up=true")
    b.key("?")
    equal(b.js("document.querySelector('#sheet').open"), True, "the sheet")
    holds(b.text("#sheet"), "next, previous hit")
    b.key("Escape")
    equal(b.js("document.querySelector('#sheet').open"), False, "the sheet is closed")
    b.key("/")
    equal(b.js("document.activeElement.id"), "search", "the field")
    # Every key of the sheet does something, and every action is in the sheet.
    b.key("Escape")
    for key in "123igtu0+-srld":
        b.key(key)
    equal(b.complaints(), [], "complaints")


@case
def light_and_dark(bench):
    b = bench.open(messages.small().message())
    equal(b.screenshot().pixel(20, 790), (0xf6, 0xf7, 0xf8), "light")
    b.key("d")
    equal(b.screenshot().pixel(20, 790), (0x1b, 0x1f, 0x24), "dark")
    x, y = at_row(b, .9, 3)
    if not is_of_kind(b, b.screenshot().pixel(x, y - 7), "speech", toward=0):
        raise AssertionError("boxes are dark, too")


@case
def hostile_names_are_text(bench):
    for view in ("", "#view=table", "#view=around&frame=0", "#group=process", "#group=container", "#grid=true&group=thread"):
        b = bench.open(messages.hostile().message(), view)
        equal(b.js("document.documentElement.dataset.state"), "drawn", view)
        equal(b.js("window.hacked"), None, "nothing runs")
        equal(b.js("document.scripts.length + ' ' + document.images.length"), "2 0", "no element is made")
        equal(b.complaints(), [], "complaints")
    b = bench.open(messages.hostile().message(), "#view=table")
    text = b.js("document.body.innerText")
    holds(text, "<script>window.hacked=1</script>", "\u27e81B\u27e9[31mred", "\u27e8202E\u27e9gnp.exe", "\u27e8E0041\u27e9", "\u27e80D\u27e9\u27e80A\u27e9")
    for char in text:
        if char in "\x1b\u202e\u2066\x07\0" or 0xe0000 <= ord(char) < 0xe1000:
            raise AssertionError(f"{char!r} is shown raw")
    equal(b.js("Math.max(...[...document.querySelectorAll('#table bdi')].map((e) => e.textContent.length)) < 1000"), True, "a name of 1 MB is cut")
    for row in range(0, 40):
        b.move(20 + row * 31, b.box("#table")[1] + 20)
    for name in ("__proto__", "constructor", "x" * 2000):
        b.type("#search", name)
    b.js("location.hash = '#group=__proto__&view=constructor&zoom=1e99&frame=-5&range=9,1&off=toString'")
    b.settle()
    equal(b.complaints(), [], "complaints")


@case
def address_cannot_run_anything(bench):
    b = bench.open(messages.small().message(), "#q=<img src=x onerror=window.hacked=1>&keep=<script>&theme=\"><script>")
    equal(b.js("window.hacked"), None, "nothing runs")
    equal(b.js("document.querySelector('#search').value"), "<img src=x onerror=window.hacked=1>", "only text")
    equal(b.complaints(), [], "complaints")


@case
def policy_holds(bench):
    b = bench.open(messages.small().message())
    equal(b.js("(() => { try { document.body.innerHTML = '<b>x</b>'; return 'set'; } catch (e) { return e.name; } })()"), "TypeError", "trusted types")
    equal(b.js("new Promise((done) => { const s = document.createElement('script'); try { s.append('window.hacked=1'); document.body.append(s); } catch {} setTimeout(() => done(window.hacked ?? 'no'), 50); })"), "no", "an inline script")
    equal(b.js("fetch('data:,x').then(() => 'fetched', () => 'refused')"), "refused", "no request")
    equal(b.js("new Promise((done) => { const i = new Image(); i.onload = () => done('loaded'); i.onerror = () => done('refused'); i.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='; })"), "refused", "no image")


@case
def torn_files_are_one_sentence(bench):
    message = messages.small().message()
    for size in (0, 1, 100, len(message) // 2, len(message) - 1):
        b = bench.open(message[:size])
        equal(b.js("document.documentElement.dataset.state"), "failed", f"{size} bytes")
        holds(b.text("#message"), "This page's profile cannot be shown: ")


@case
def difference_is_red_and_blue(bench):
    before, after = messages.small(), messages.small()
    added = after.stack([after.location("native", [("added", "", 0)])])
    gone = before.stack([before.location("native", [("gone", "", 0)])])
    after.sample((100, "server", "c0ffee112233445566"), 100, "server", 0, added, [i * 10_000_000 for i in range(800)])
    before.sample((100, "server", "c0ffee112233445566"), 100, "server", 0, gone, [i * 10_000_000 for i in range(400)])
    before.facts["ebpf_profiler.title"], after.facts["ebpf_profiler.title"] = "old.html", "new.html"
    # Three of 1 440 samples may well be none of 1 840.
    chance = before.stack([before.location("native", [("by_chance", "", 0)])])
    before.sample((100, "server", "c0ffee112233445566"), 100, "server", 0, chance, [i * 10_000_000 for i in range(3)])
    b = bench.open(after.message(), base=before.message())
    equal(b.text("#title"), "new.html compared with old.html", "both by name")
    a_line, b_line = b.text("#facts").replace("\u202f", "").split("\n")
    holds(a_line, "A old.html", "1443 samples", "14.58 s of CPU time", "in 10.00 s")
    holds(b_line, "B new.html", "1840 samples", "18.59 s of CPU time", "in 10.00 s")
    holds(b.text("#legend"), "less in B", "chance explains it", "more in B", "by share")
    shades = [rgb(b.js(f"getComputedStyle(document.querySelectorAll('#legend i')[{i}]).backgroundColor")) for i in range(3)]
    if not (shades[0][2] > shades[0][0] and shades[2][0] > shades[2][2] and max(shades[1]) == min(shades[1])):
        raise AssertionError(f"the legend's colours are {shades}")
    holds(b.text("#gone"), "and 1 that chance explains")
    holds(b.text("#gone"), "Vanished: 1 function", "27.72 %", "gone")
    if "by_chance" in b.text("#gone"):
        raise AssertionError("chance makes nothing vanish")
    picture = b.screenshot()
    red = next(picture.pixel(*at_row(b, share, 1)) for share in (.7,))
    x, y = at_row(b, .7, 1)
    red = picture.pixel(x, y - 7)
    if not red[0] > red[2] + 60:
        raise AssertionError(f"what was added is {red}")
    x, y = at_row(b, .05, 4)
    blue = picture.pixel(x, y - 7)
    if not blue[2] > blue[0] + 30:
        raise AssertionError(f"what has less of all is {blue}")
    b.move(*at_row(b, .7, 1))
    holds(b.text("#tip"), "added", "+43.48 points", "before 0 %")
    b = bench.open(after.message(), base=after.message())
    picture = b.screenshot()
    x, y = at_row(b, .1, 3)
    pixel = picture.pixel(x, y - 7)
    equal(max(pixel) - min(pixel), 0, "no difference has no colour")
    equal(b.complaints(), [], "complaints")


@case
def many_shapes(bench):
    m = messages.Maker()
    m.sample_type, m.period = ("alloc_space", "bytes"), 0
    for i in range(3):
        m.sample((1, "p", ""), 1, "t", 0, m.stack([m.location("native", [(f"f{i}", "", 0)])]), [], values=[1000 * (i + 1)])
    b = bench.open(m.message(), "#view=table")
    holds(b.text("#table").replace("\u202f", " "), "3 000 bytes", "50.00 %")
    holds(b.text("#range"), "this file has no times")
    m = messages.Maker()
    m.sample_type = ("cpu", "nanoseconds")
    stack = m.stack([m.location("native", [("timed", "", 0)])])
    m.sample((1, "p", ""), 1, "t", 0, stack, [1000, 2_000_000_000], values=[5_000_000, 7_000_000])
    b = bench.open(m.message(), "#view=table")
    holds(b.text("#table"), "12.0 ms")
    b = bench.open(messages.Maker().message())      # nothing at all
    holds(b.text("#facts"), "0 samples")
    equal(b.complaints(), [], "complaints")


def main(arguments):
    if not browser.find_chromium():
        print("skip: no chromium (Debian: apt install chromium)")
        return SKIP
    with open(arguments[0], encoding="utf-8") as file:
        head = file.read()
    chosen = [one for one in CASES if not arguments[1:] or one.__name__ in arguments[1:]]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="page-") as directory:
        bench = Bench(head, directory)
        with bench.browser:
            for one in chosen:
                try:
                    one(bench)
                    print(f"ok   {one.__name__}")
                except Exception as error:  # pylint: disable=broad-except
                    failed += 1
                    print(f"FAIL {one.__name__}: {type(error).__name__}: {error}")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of 1 million samples and 200 000 functions: what writing it costs, beside pprof, and how fast it is in a
headless Chromium: drawn, then a zoom, a search and a range, and the memory of the process that shows it."""
import os
import subprocess
import sys
import tempfile
import time

import measure

sys.path.insert(0, os.path.join(measure.ROOT, "tests", "page"))
import browser  # noqa: E402
import messages  # noqa: E402

BARS = {"draw": 2000, "action": 100, "memory": 600, "cpu": 2000, "peak": 96}


def page_head():
    path = os.path.join(measure.BUILD, "exporters", "html", "page_head.html")
    with open(path, encoding="utf-8") as file:
        return file.read()


def bench_writing(directory):
    writer = os.path.join(measure.BUILD, "tests", "page", "page_write")
    if not os.access(writer, os.X_OK):
        measure.skip_row("writing the page", "not built")
        return
    found = {}
    for line in subprocess.check_output([writer, os.path.join(directory, "written.html")], text=True).splitlines():
        words = line.split()
        found[tuple(words[:-1])] = float(words[-1])
    measure.row("writing the page of 1 million samples: CPU", found["cpu_ms", "html"], "ms", "<= 2000", BARS["cpu"])
    measure.row("writing the page: memory beside the batch", found["peak_kib", "html"] / 1024, "MiB", "<= 96", BARS["peak"])
    measure.row("writing the page: file", found["bytes", "html"] / 1e6, "MB")
    measure.row("writing pprof of the same: CPU", found["cpu_ms", "pprof"], "ms")


def timed(b, name, action):
    """Milliseconds of the page's own work for an action, its drawing with it: the slowest of what it did."""
    b.js("performance.clearMeasures()")
    action()
    spans = b.js("performance.getEntriesByName('page:update').map((span) => span.duration)")
    if spans:
        measure.row(name, max(spans), "ms", "<= 100", BARS["action"])
    else:
        measure.skip_row(name, "nothing was done")


def resident(b):
    """MB of the process that shows the page, its share of what is shared: the largest renderer."""
    most = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                command = file.read()
            if "--type=renderer" not in command or b.dir.name not in command and os.getpgid(int(pid)) != b.process.pid:
                continue
            with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
                most = max([most] + [int(line.split()[1]) for line in file if line.startswith("Pss:")])
        except OSError:
            continue
    return most / 1000


def bench_reading(directory):
    path = os.path.join(directory, "large.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(messages.page(page_head(), messages.large().message()))
    with browser.Browser() as b:
        b.open(path)
        measure.row("1 million samples, 200 000 functions: drawn", b.js("performance.getEntriesByName('page:drawn')[0].startTime"), "ms",
                    "<= 2000", BARS["draw"])
        time.sleep(5)       # names are decoded while nothing is done
        x, y, _, _ = b.box("#strip")
        timed(b, "a range is dragged", lambda: b.drag(x + 200, y + 40, x + 500, y + 40))
        timed(b, "a search", lambda: b.type("#search", "number_12"))
        x, y, _, _ = b.box("#graph")
        timed(b, "a zoom", lambda: b.click_at(x + 300, y + 110))
        timed(b, "the table of functions", lambda: b.key("2"))
        measure.row("memory of the page's process", resident(b), "MB", "<= 600", BARS["memory"])


def main():
    with tempfile.TemporaryDirectory(prefix="bench-page-") as directory:
        bench_writing(directory)
        if browser.find_chromium():
            bench_reading(directory)
        else:
            measure.skip_row("the page in a browser", "no chromium")
    return 0


if __name__ == "__main__":
    sys.exit(main())

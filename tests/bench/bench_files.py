#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of 1 million samples, 200 000 functions and 100 000 stacks of 30: what writing them costs, and reading them.

`report` is the reader: CPU time, the best of some runs, and peak memory. A page is read by a headless Chromium, too:
how fast it is drawn, then a zoom, a search and a range, and the memory of the process that shows it. A picture, too,
with scripts and without.
"""
import gzip
import os
import subprocess
import sys
import tempfile
import time

import measure

sys.path.insert(0, os.path.join(measure.ROOT, "tests", "page"))
import browser  # noqa: E402
import messages  # noqa: E402

WRITER = os.path.join(measure.BUILD, "tests", "page", "write_files")
RUNS = int(os.environ.get("EBPF_PROFILER_BENCH_RUNS", "3"))
DRAW_MS, ACTION_MS, MEMORY_MB = 2000, 100, 600
WRITE_MS, PEAK_MIB = 2000, 96       # of a page
READ_S, READ_TIMES = 2, 3           # of pprof that is not compressed; times the file


def page_head():
    path = os.path.join(measure.BUILD, "exporters", "html", "page_head.html")
    with open(path, encoding="utf-8") as file:
        return file.read()


def bench_writing(directory):
    for line in subprocess.check_output([WRITER, directory], text=True).splitlines():
        name, milliseconds, kib, size = line.split()
        is_page = name == "x.html"
        measure.row(f"writing {name}: CPU", float(milliseconds), "ms", f"<= {WRITE_MS}" if is_page else "",
                    WRITE_MS if is_page else None)
        measure.row("memory beside the batch", int(kib) / 1024, "MiB", f"<= {PEAK_MIB}" if is_page else "",
                    PEAK_MIB if is_page else None)
        measure.row("file", int(size) / 1e6, "MB")


def read(path):
    """CPU seconds and bytes of memory that `report` takes."""
    os.chmod(path, 0o644)       # report is nobody by then
    process = subprocess.Popen([measure.BINARY, "report", path, "-n", "5"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    measure.check_status(process.returncode, path)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def bench_reading(directory):
    for name in "x.pprof", "x.pb.gz", "x.otlp.gz", "x.html":
        path = os.path.join(directory, name)
        found = [read(path) for _ in range(RUNS)]
        seconds, most = min(took for took, _ in found), max(size for _, size in found)
        is_plain = name == "x.pprof"
        measure.row(f"report of {name}: CPU time, best of {RUNS}", seconds, "s", f"<= {READ_S}" if is_plain else "",
                    READ_S if is_plain else None)
        if is_plain:
            measure.row("peak memory, times the file", most / os.path.getsize(path), "x", f"<= {READ_TIMES}", READ_TIMES)
        else:
            measure.row("peak memory", most / 1e6, "MB")


def timed(b, name, action):
    """Milliseconds of the page's own work for an action, its drawing with it: the slowest of what it did."""
    b.js("performance.clearMeasures()")
    action()
    spans = b.js("performance.getEntriesByName('page:update').map((span) => span.duration)")
    if spans:
        measure.row(name, max(spans), "ms", f"<= {ACTION_MS}", ACTION_MS)
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


def bench_browser(directory):
    path = os.path.join(directory, "large.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(messages.page(page_head(), messages.large().message()))
    with browser.Browser() as b:
        b.open(path)
        drawn = b.js("performance.getEntriesByName('page:drawn')[0].startTime")
        measure.row("1 million samples, 200 000 functions: drawn", drawn, "ms", f"<= {DRAW_MS}", DRAW_MS)
        time.sleep(5)       # names are decoded while nothing is done
        x, y, _, _ = b.box("#strip")
        timed(b, "a range is dragged", lambda: b.drag(x + 200, y + 40, x + 500, y + 40))
        timed(b, "a search", lambda: b.type("#search", "number_12"))
        x, y, _, _ = b.box("#graph")
        timed(b, "a zoom", lambda: b.click_at(x + 300, y + 110))
        timed(b, "the table of functions", lambda: b.key("2"))
        measure.row("memory of the page's process", resident(b), "MB", f"<= {MEMORY_MB}", MEMORY_MB)


def bench_picture(directory):
    """A recording that EBPF_PROFILER_BENCH_PROFILE names, as SVG: with scripts and without."""
    profile, picture = os.environ.get("EBPF_PROFILER_BENCH_PROFILE"), os.path.join(directory, "large.svg")
    if not profile:
        measure.skip_row("a picture in a browser", "EBPF_PROFILER_BENCH_PROFILE names no recording: record -a -F 4999 -d 105")
        return
    subprocess.run([measure.BINARY, "convert", "-q", "--force", profile, "-o", picture], check=True)
    os.chmod(picture, 0o644)
    with browser.Browser(1280, 800) as b:
        for name, is_off in (("a picture: drawn", False), ("the same without scripts", True)):
            b.call("Page.navigate", url="about:blank")
            b.call("Emulation.setScriptExecutionDisabled", value=is_off)
            b.call("Page.navigate", url="file://" + picture)
            b.wait("location.protocol === 'file:' && document.readyState === 'complete'")
            if not is_off:
                b.settle()
            measure.row(name, b.js("performance.now()"), "ms", f"<= {DRAW_MS}", DRAW_MS)
            if b.screenshot().pixel(600, 70) == (255, 255, 255):
                measure.row("the box of all is not there", 0, "")
        measure.row("its boxes", b.js("document.querySelectorAll('g.box').length"), "")


def main():
    with tempfile.TemporaryDirectory(prefix="bench-files-") as directory:
        os.chmod(directory, 0o755)
        if os.access(WRITER, os.X_OK):
            bench_writing(directory)
            bench_reading(directory)
        else:
            measure.skip_row("writing and reading files", "the writer is not built")
        if browser.find_chromium():
            bench_browser(directory)
            bench_picture(directory)
        else:
            measure.skip_row("the page in a browser", "no chromium")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Processes as machines have them: interpreters, runtimes and small tools, idle or nearly so."""
import os
import shutil
import sys

SLEEPERS = [  # what is not installed is left out
    ["sleep", "1000"],
    ["bash", "-c", "while :; do read -t 5; done <> <(:)"],
    [sys.executable, "-c", "import time, json, re\nwhile True: time.sleep(1)"],
    ["perl", "-e", "sleep 1 while 1"],
    ["tail", "-f", "/dev/null"],
    [sys.executable, "-c", "import threading, ssl, socket; threading.Event().wait()"],
    ["node", "-e", "setInterval(() => {}, 1000)"],
    ["cat", "/dev/zero"],
]
BUSY = [
    [sys.executable, "-c", "import re\nwhile True: re.sub('a+', str, 'xaaay' * 50)"],
    ["perl", "-e", "while (1) { $_ = 'xaaay' x 50; s/a+/b/g }"],
]
JAVA = """public class Idle { public static void main(String[] a) throws Exception {
    while (true) Thread.sleep(1000); } }"""


def installed(command):
    return bool(shutil.which(command[0]))


def start_java(procs, directory):
    """One JVM, from source."""
    if not shutil.which("java"):
        return
    path = os.path.join(directory, "Idle.java")
    with open(path, "w", encoding="utf-8") as file:
        file.write(JAVA)
    procs.start(["java", "-Xmx64m", path])


def start_sleepers(procs, number, directory):
    kinds = [command for command in SLEEPERS if installed(command)]
    start_java(procs, directory)
    read_end, write_end = os.pipe()  # cat blocks on its full output
    while len(procs.all) < number:
        command = kinds[len(procs.all) % len(kinds)]
        procs.start(command, stdout=write_end if command[0] == "cat" else -3)
    os.close(write_end)
    return read_end


def start_busy(procs):
    for command in filter(installed, BUSY):
        procs.start(command)

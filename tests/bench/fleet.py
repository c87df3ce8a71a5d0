# SPDX-License-Identifier: Apache-2.0
"""Processes as machines have them: interpreters, runtimes and small tools, idle or nearly so, or coming and going."""
import os
import shutil
import subprocess
import sys

import loads

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


# --- coming and going -----------------------------------------------------------------------------

# A program of some tenths of a second, and one that runs on with new functions and mostly sleeps.
CHURN = {
    "python3": ("import json, re, decimal\nfor i in range(300): json.dumps([re.sub('a', str(i), 'xay')] * 99)", """
import itertools, time
for i in itertools.count():
    exec(f"def made_{i}(n):\\n    return sum(x * x for x in range(n))")
    globals()[f"made_{i}"](200000)
    del globals()[f"made_{i}"]
    time.sleep(0.2)
"""),
    "perl": ("use POSIX; for (1..30000) { $_ = 'xaaay' x 50; s/a+/b/g }", """
for (my $i = 0; ; $i++) {
    eval "sub made_$i { my \\$s = 0; \\$s += \\$_ * 3 for 1 .. 200000; \\$s } made_$i(); undef &made_$i;";
    select(undef, undef, undef, 0.2);
}
"""),
    "ruby": ("require 'json'; 3000.times { |i| JSON.dump([i.to_s * 9] * 9) }", """
i = 0
loop do
  i += 1
  eval "def made_#{i}(n) (1..n).sum { |x| x * x } end; made_#{i}(100000)"
  sleep 0.2
end
"""),
    "php": ("for ($i = 0; $i < 100000; $i++) { preg_replace('/a+/', 'b', str_repeat('xaaay', 9)); }", """
for ($i = 0; ; $i++) {
    $f = eval("return function (\\$n) { \\$s = 0; for (\\$j = 0; \\$j < \\$n; \\$j++) \\$s += \\$j; return \\$s; };");
    $f(1000000);
    usleep(200000);
}
"""),
    "node": ("for (let i = 0; i < 3000; i++) JSON.stringify(Array(99).fill(`${i}`.repeat(9)))", """
let i = 0;
setInterval(() => {
    i++;
    const made = new Function("n", `let made_${i} = 0; for (let j = 0; j < n; j++) made_${i} += j * ${i}; return made_${i}`);
    made(2000000);
}, 200);
"""),
}
CHURN_JAVA = """public class Churn { public static void main(String[] a) throws Exception {
    for (int i = 0; a.length == 0 || i < 30; i++) {
        java.util.TreeMap<String, Integer> m = new java.util.TreeMap<>();
        for (int j = 0; j < 20000; j++) m.merge("k" + j % 999, 1, Integer::sum);
        if (a.length == 0) Thread.sleep(200); } } }"""
CHURN_GO = """package main
import ("fmt"; "sort"; "time")
func main() { for i := 0; i < 30; i++ { x := []string{}
    for j := 0; j < 20000; j++ { x = append(x, fmt.Sprint(j * 7919 % 20000)) }
    sort.Strings(x); time.Sleep(time.Millisecond) } }"""


def again(command, pause):
    return f"while :; do {command}; sleep {pause}; done"


def churn(directory):
    """Shell texts that run until they are killed: of each language that is installed short programs, and a long one."""
    for name, texts in CHURN.items():
        if not shutil.which(name):
            continue
        for kind, text in zip(("short", "long"), texts):
            loads.write(os.path.join(directory, f"{kind}-{name}"), ("<?php " if name == "php" else "") + text)
        yield again(f"{name} {directory}/short-{name}", 1)
        yield f"exec {name} {directory}/long-{name}"
    if shutil.which("javac"):
        loads.write(os.path.join(directory, "Churn.java"), CHURN_JAVA)
        subprocess.run(["javac", "-d", directory, os.path.join(directory, "Churn.java")], check=True)
        yield again(f"java -Xmx64m -cp {directory} Churn short", 3)
        yield f"exec java -Xmx64m -cp {directory} Churn"
    if shutil.which("go"):
        loads.write(os.path.join(directory, "churn.go"), CHURN_GO)
        os.environ.setdefault("GOCACHE", os.path.join(directory, "cache"))
        yield again(f"go build -o {directory}/churn {directory}/churn.go && {directory}/churn", 3)

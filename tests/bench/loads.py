# SPDX-License-Identifier: Apache-2.0
"""Short-lived work as machines have it: sources to compile, and the names of who does it."""
import functools
import glob
import os
import random
import shutil
import subprocess

STATEMENTS = [
    "\ts->sum += (s->at[{i} & 15] ^ {n}u) * (x | 1);",
    "\tif (x % {m} == {r})\n\t\ts->count++;\n\telse\n\t\ts->sum -= s->at[x & 15];",
    "\tfor (unsigned int i = 0; i < {m}; i++)\n\t\ts->at[(i + x) & 15] += i * {n}u;",
    "\tswitch (x & 7) {{\n\tcase 0: s->sum += {n}u; break;\n\tcase {r}: s->count += {i}; break;\n"
    "\tdefault: s->at[{i} & 15] ^= x; break;\n\t}}",
    "\twhile (s->sum > {n}u && s->count < {m})\n\t\ts->sum >>= 1, s->count++;",
]
HEAD = """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {{
	uint64_t sum;
	unsigned int count, at[16];
}};

"""


def c_function(source, name, callee):
    body = []
    for _ in range(source.randint(4, 8)):
        body.append(source.choice(STATEMENTS).format(
            i=source.randint(0, 15), n=source.randint(1, 1 << 20), m=source.randint(3, 40),
            r=source.randint(1, 2)))
    call = f"\t{callee}(s, x >> 1);\n" if callee else ""
    return (f"void {name}(struct state *s, unsigned int x);\n"
            f"void {name}(struct state *s, unsigned int x)\n{{\n" + "\n".join(body) + f"\n{call}}}\n\n")


def c_file(number):
    """The text of a C file of some 150 to 300 lines; the same for the same number."""
    source = random.Random(number)
    text, callee = HEAD.format(), None
    for i in range(source.randint(7, 11)):
        name = f"file{number}_function{i}"
        text += c_function(source, name, callee)
        callee = name
    return text + (f"void file{number}_print(struct state *s);\nvoid file{number}_print(struct state *s)\n"
                   f"{{\n\t{callee}(s, 12345);\n\tprintf(\"%llu\\n\", (unsigned long long)s->sum);\n}}\n")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_c_files(directory, number):
    for i in range(number):
        write(os.path.join(directory, f"file{i}.c"), c_file(i))


def write_project(directory, number=30):
    """A C project with a library and a program, and its Makefile."""
    write_c_files(directory, number)
    calls = "".join(f"\tfile{i}_print(&s);\n" for i in range(number))
    write(os.path.join(directory, "main.c"), HEAD.format()
          + "".join(f"void file{i}_print(struct state *s);\n" for i in range(number))
          + f"int main(void)\n{{\n\tstruct state s = {{0}};\n\n{calls}\treturn 0;\n}}\n")
    write(os.path.join(directory, "Makefile"), f"""CC = gcc
CFLAGS = -O1
objects = $(patsubst %,file%.o,{" ".join(map(str, range(number)))})

program: main.o libfiles.a
	$(CC) -o $@ main.o -L. -lfiles

libfiles.a: $(objects)
	rm -f $@ && ar rc $@ $(objects)

clean:
	rm -f *.o libfiles.a program
""")


def write_rust(path, number=24):
    """A Rust program that takes its compiler a second: traits, generics, collections."""
    source = random.Random(1)
    text = "use std::collections::{BTreeMap, HashMap};\ntrait Step { fn step(&mut self, x: u64) -> u64; }\n"
    for i in range(number):
        a, b = source.randint(1, 1 << 30), source.randint(2, 30)
        text += f"""
#[derive(Debug, Clone, Default)]
struct Part{i} {{ seen: HashMap<u64, Vec<u64>>, order: BTreeMap<String, u64> }}
impl Step for Part{i} {{
    fn step(&mut self, x: u64) -> u64 {{
        let key = x.wrapping_mul({a}) % {b};
        self.seen.entry(key).or_default().push(x);
        *self.order.entry(format!("{{:x}}", x % {b})).or_insert(0) += key;
        self.seen.values().flat_map(|v| v.iter()).filter(|y| **y % 2 == key % 2).sum::<u64>()
            + self.order.values().rev().take({b}).map(|y| y ^ key).max().unwrap_or(0)
    }}
}}
"""
    text += "fn main() {\n    let mut all: Vec<Box<dyn Step>> = Vec::new();\n"
    text += "".join(f"    all.push(Box::<Part{i}>::default());\n" for i in range(number))
    write(path, text + "    let mut x = 1;\n    for _ in 0..100 { for p in all.iter_mut() { x = p.step(x); } }\n"
          "    println!(\"{}\", x);\n}\n")


# --- who does it -----------------------------------------------------------------------------------

def executable(tool):
    """Base name of the file that runs when one says `tool`; None when it is not installed."""
    path = shutil.which(tool)
    return path and os.path.basename(os.path.realpath(path))


@functools.lru_cache(None)
def gcc_part(name):
    """gcc's own programs: cc1, collect2."""
    run = subprocess.run(["gcc", "-print-prog-name=" + name], capture_output=True, text=True, check=True)
    return os.path.basename(os.path.realpath(run.stdout.strip()))


def build_tools():
    """{comm: executables} of a build in C."""
    files = {tool: {executable(tool)} for tool in ("gcc", "as", "ld", "make", "ar", "rm", "sh") if executable(tool)}
    files.update({name: {gcc_part(name)} for name in ("cc1", "collect2")})
    return files


# --- a large compiler that nobody has seen before --------------------------------------------------

def rust_sysroot():
    if not shutil.which("rustc"):
        return None
    run = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else None


def copy_rustc(directory):
    """Copies rustc, its driver and its LLVM; the command of the copy."""
    sysroot = rust_sysroot()
    top = os.path.join(directory, "rust")
    shutil.rmtree(top, ignore_errors=True)
    os.makedirs(top + "/bin")
    os.makedirs(top + "/lib")
    shutil.copy(sysroot + "/bin/rustc", top + "/bin/rustc")
    for path in glob.glob(sysroot + "/lib/lib*.so*"):
        shutil.copy(path, top + "/lib/")
    os.symlink(sysroot + "/lib/rustlib", top + "/lib/rustlib")
    return [top + "/bin/rustc"]


def copy_cc1plus(directory):
    """Copies the C++ compiler proper; 30 MB, where there is no rustc."""
    copy = os.path.join(directory, "driver-cc1plus")
    path = subprocess.run(["gcc", "-print-prog-name=cc1plus"], capture_output=True, text=True,
                          check=True).stdout.strip()
    if not os.path.isabs(path):
        return None
    if os.path.exists(copy):
        os.unlink(copy)  # a new inode each time
    shutil.copy(path, copy)
    return [copy]

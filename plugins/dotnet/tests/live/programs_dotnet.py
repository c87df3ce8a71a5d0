# SPDX-License-Identifier: Apache-2.0
"""Programs of .NET that others wrote, and one of ASP.NET, and what they do for check_dotnet_real.py: each gives its
command. Those of NuGet are installed once, into the cache of runtimes; what cannot be had raises Skipped.

As a program it runs a server and asks it until that has used so much CPU time. Then it is idle for a while, so that
what was sampled is named before it ends: programs_dotnet.py SECONDS PORT KIND COMMAND...
"""
import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import time

import check_dotnet     # and with it where the kit is
import burner
import runs
import runtimes
import programs
from programs import WALL, cpu_seconds, driven, named, write

TOOLS = os.path.join(runtimes.CACHE, "dotnet-tools")
VERSIONS = {"csharpier": "1.3.0", "fantomas": "8.1.1", "garnet-server": "2.2.8"}
BICEP = "azure.bicep.commandline.linux-x64", "0.49.2"
PORT = 18399            # and the next ones
INSTALL_SECONDS = 280
IDLE_SECONDS = 2
PAGES = "/sorted", "/matched", "/thrown", "/awaited"
PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><TargetFramework>net10.0</TargetFramework>{more}</PropertyGroup>
  <ItemGroup>{items}</ItemGroup>
</Project>
"""
SETTINGS = {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", "MSBUILDDISABLENODEREUSE": "1",
            "DOTNET_SKIP_FIRST_TIME_EXPERIENCE": "1"}
# No server is left, and nobody else's is used.
BUILD = "-m:1", "-nodeReuse:false", "-p:UseSharedCompilation=false"
CSHARP = """using System;
using System.Linq;
namespace Files{n} {{
    /// <summary>Number {n}</summary>
    public class Of{n}<T> where T : struct {{
        private readonly int[] values = new int[] {{ {values} }};
{methods}
    }}
}}
"""
CSHARP_METHOD = """        public async System.Threading.Tasks.Task<int> Method{i}(int first, string second = "{i}") {{
            if (first > {i} && second?.Length == {n}) {{ return values.Where(v => v > first).Select(v => v * {i}).Sum(); }}
            foreach (var value in values) {{ switch (value) {{ case {i}: first += value; break; default: first--; break; }} }}
            await System.Threading.Tasks.Task.Delay(first); return first + $"{{second}} and {i}".Length;
        }}
"""


def dotnet():
    found = shutil.which("dotnet")
    if not found:
        raise runs.Skipped("skip: no dotnet here")
    return found


def have(path, command, directory=None):
    """What a command of the SDK makes, once."""
    if os.path.exists(path):
        return path
    try:
        done = subprocess.run([dotnet(), *command], cwd=directory, check=False, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=INSTALL_SECONDS,
                              env={**os.environ, **SETTINGS})
    except subprocess.TimeoutExpired:
        raise runs.Skipped(f"skip: dotnet {command[0]} took more than {INSTALL_SECONDS} s") from None
    if done.returncode or not os.path.exists(path):
        raise runs.Skipped(f"skip: dotnet {command[0]}: " + (done.stdout.strip().splitlines() or ["no word"])[-1])
    return path


def tool(name):
    directory = os.path.join(TOOLS, f"{name}-{VERSIONS[name]}")
    return have(os.path.join(directory, name),
                ["tool", "install", "--tool-path", directory, name, "--version", VERSIONS[name]])


def web():
    sources = [os.path.join(burner.PROGRAMS, name) for name in ("Web.cs", "Web.csproj")]
    directory = os.path.join(runtimes.CACHE, "dotnet-web-" + check_dotnet.digest(sources))
    if not os.path.exists(directory + "/out/Web"):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        for path in sources:
            shutil.copy(path, directory)
    return have(directory + "/out/Web", ["publish", "-c", "Release", "-o", "out", *BUILD, "Web.csproj"], directory)


def program_build(check, directory):
    """One project, and the compiler's process."""
    for path in burner.SOURCES:
        shutil.copy(path, directory)
    project = directory + "/Burner.csproj"
    return driven([dotnet(), "build", "--no-incremental", *BUILD, project], check.options.seconds)


def program_bicep(check, directory):
    package, version = BICEP
    packages = os.path.join(TOOLS, "bicep")
    write(packages + "/get.csproj", PROJECT.format(more=f"<RestorePackagesPath>{packages}</RestorePackagesPath>",
                                                   items=f'<PackageDownload Include="{package}" Version="[{version}]" />'))
    path = have(f"{packages}/{package}/{version}/tools/bicep", ["restore", "get.csproj"], packages)
    os.chmod(path, 0o755)
    properties = "".join(f"  p{i}: '${{toUpper('a{i}')}}-${{length('{{n}}-{i}')}}-${{n{i} + {{n}}}}'\n" for i in range(20))
    write(directory + "/b.bicep", "".join(f"param n{i} int = {i}\n" for i in range(20)) +
          "".join(f"var v{n} = {{\n" + properties.replace("{n}", str(n)) + "}\n" for n in range(400)) +
          "".join(f"output o{i} array = [{', '.join(f'v{n}' for n in range(i, 400, 20))}]\n" for i in range(20)))
    return driven([path, "build", directory + "/b.bicep", "--stdout"], check.options.seconds)


def program_csharpier(check, directory):
    for n in range(400):
        write(f"{directory}/files/{n}.cs", CSHARP.format(
            n=n, values=", ".join(str(i * n) for i in range(100)),
            methods="".join(CSHARP_METHOD.format(i=i, n=n) for i in range(12))))
    return driven([tool("csharpier"), "format", "--no-cache", "--skip-write", directory + "/files"], check.options.seconds)


def program_fantomas(check, directory):
    line = "let f{n} x y=if x>{n} then x+y*{n} else (List.map (fun z->z+{n}) [x;y])|>List.sum\n"
    write(directory + "/big.fs", "module Big\n" + "".join(line.format(n=n) for n in range(4000)))
    return driven([tool("fantomas"), directory + "/big.fs", "--out", directory + "/out.fs"], check.options.seconds)


def asked(check, port, kind, *command):
    return [sys.executable, os.path.realpath(__file__), str(check.options.seconds), str(port), kind, *command]


def program_garnet(check, directory):
    return asked(check, PORT, "resp", tool("garnet-server"), "--port", str(PORT), "--bind", "127.0.0.1", "--logger-level",
                 "Error", "--checkpointdir", directory)


def program_web(check, _directory):
    return asked(check, PORT + 1, "http", web(), str(PORT + 1))


ALL = named(globals())
FILES = {"libcoreclr.so", "dotnet", "csc", "Web", "bicep", *VERSIONS}


# --- who asks a server ----------------------------------------------------------------------------

def resp(*words):
    """A command of the Redis protocol."""
    return f"*{len(words)}\r\n".encode() + b"".join(f"${len(word)}\r\n{word}\r\n".encode() for word in words)


def requests(turn):
    key, hashed = f"key{turn % 1000}", f"hash{turn % 50}"
    return [resp("SET", key, "v" * (turn % 200)), resp("GET", key), resp("INCR", "count"), resp("HSET", hashed, key, "1"),
            resp("HGETALL", hashed), resp("ZADD", "sorted", str(turn % 977), key), resp("ZRANGE", "sorted", "0", "20"),
            resp("LPUSH", "list", key), resp("LPOP", "list"), resp("EXPIRE", key, "100"), resp("PING")]


def ask_resp(connection, turn):
    """Sends some commands at once, and waits for the last one's answer."""
    connection.sendall(b"".join(requests(turn)))
    answer = b""
    while not answer.endswith(b"+PONG\r\n"):
        more = connection.recv(65536)
        if not more:
            raise ConnectionError("closed")
        answer += more
    return True


def ask_some(kind, port, first):
    """How many answers."""
    if kind == "http":
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            return sum(programs.ask(connection, PAGES[(first + i) % len(PAGES)], {}) for i in range(100))
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            return sum(ask_resp(connection, first + i) for i in range(500))
    except OSError:
        time.sleep(0.1)
        return 0


def main(seconds, port, kind, *command):
    end, answers = time.monotonic() + WALL * float(seconds), 0
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        while time.monotonic() < end and process.poll() is None and cpu_seconds(process.pid) < float(seconds):
            answers += ask_some(kind, int(port), answers)
        time.sleep(IDLE_SECONDS)
        process.terminate()
    print(f"{answers} answers")
    return 0 if answers else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

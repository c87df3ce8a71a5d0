#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent and `record` may do themselves: their system calls, and the rights that a command keeps.
Needs root and bpf().

    test_security.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one
"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import whole  # and with it where the kit is
import refused_calls
from whole import BINARY, Case, run

LIVE = os.path.dirname(os.path.realpath(__file__))
SECONDS = 90    # to wait for a line, at most: a busy machine takes its time
STATUS = "CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp"


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def kept(mine):
    """Of these capabilities, what `record` keeps: linux/capability.h has their numbers."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as file:
        admin = int(file.read()) >= 3
    agents, commands = (39, 38, 19, 2, 34, 40) + ((21,) if admin else ()), (0, 1, 3, 5)
    return int(mine["CapEff"], 16) & sum(1 << bit for bit in agents + commands)


def filtered():
    """Whether this kernel and this container let a process filter its system calls."""
    rows = json.loads(run("doctor", "--json").stdout)
    return any(row["check"] == "system calls" and row["status"] == "ok" for row in rows)


class Agent:
    """Until it has said everything that it was waited for; then ended by SIGTERM."""

    def __init__(self, config, **environment):
        self.process = subprocess.Popen([BINARY, "--config", config], stderr=subprocess.PIPE, text=True, errors="replace",
                                        env={**os.environ, **environment})
        self.log = ""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.log += line

    def wait(self, condition):
        end = time.monotonic() + SECONDS
        while not condition() and self.reader.is_alive() and time.monotonic() < end:
            time.sleep(0.05)
        return condition()

    def has_said(self, *texts):
        return self.wait(lambda: all(text in self.log for text in texts))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
        self.reader.join(SECONDS)
        self.process.stderr.close()
        return self.process.returncode


class SecurityCase(Case):
    def setUp(self):
        super().setUp()
        if not filtered():
            self.skipTest("system calls cannot be filtered here")
        self.start(whole.burner(600))   # there is something to export

    def config(self, exporters, more=""):
        path = os.path.join(self.dir, "profiler.toml")
        names = ", ".join(f'"{name}"' for name in exporters)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[sampling]\nfreq = 99\n[plugins]\nenable = [{names}]\n')
            file.write(more)
            for name, options in exporters.items():
                file.write(f'[[exporter]]\ntype = "{name}"\ninterval = "1s"\n{options}\n')
        return path

    @contextlib.contextmanager
    def agent(self, config, **environment):
        agent = Agent(config, **environment)
        try:
            yield agent
        finally:
            result = agent.end()
        self.assertEqual(result, 0, agent.log)


class Refused(SecurityCase):
    def forbidden(self):
        """A directory of plugins with one that does what it may not."""
        plugins = os.path.join(self.dir, "plugins")
        os.mkdir(plugins, 0o755)
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-shared", "-fPIC", "-fvisibility=hidden",
                        "-I" + os.path.join(LIVE, "..", "..", "include"), os.path.join(LIVE, "programs", "forbidden.c"),
                        "-o", os.path.join(plugins, "forbidden.so")], check=True)
        return plugins

    def test_a_call_outside_the_list_is_refused_counted_and_said_once(self):
        with self.agent(self.config({"forbidden": ""}), EBPF_PROFILER_PLUGINS_DIR=self.forbidden()) as agent:
            self.assertTrue(agent.has_said("forbidden: fork is not there", "system call umount2"), agent.log)
        log = agent.log
        self.assertEqual([name.split()[0] for name in refused_calls.said_in(log)], ["personality", "umount2"])
        for name in "personality", "umount":
            self.assertIn(f"forbidden: {name} is not there", log)
        self.assertNotIn("worked", log)
        self.assertEqual(len(re.findall(r"system call personality", log)), 1)
        self.assertEqual(len(re.findall(r"system call umount2", log)), 1)
        self.assertEqual(re.search(r"(\d+)  personality: calls refused", log)[1], "1")
        of_umount = int(re.search(r"(\d+)  umount2: calls refused", log)[1])
        self.assertGreaterEqual(of_umount, 1)
        self.assertEqual(int(re.search(r"(\d+)  system calls refused", log)[1]), 1 + of_umount)

    def test_the_configuration_switches_it_off(self):
        more = "[security]\nfilter_system_calls = false\n"
        with self.agent(self.config({"forbidden": ""}, more), EBPF_PROFILER_PLUGINS_DIR=self.forbidden()) as agent:
            self.assertTrue(agent.has_said("forbidden: fork worked"), agent.log)
            self.assertEqual(status(agent.process.pid)["Seccomp"], status("self")["Seccomp"])
        self.assertEqual(refused_calls.said_in(agent.log), [])
        self.assertIn("forbidden: personality worked", agent.log)

    def test_doctor_tries_it(self):
        rows = {row["check"]: row["detail"] for row in json.loads(run("doctor", "--json").stdout)}
        self.assertRegex(rows["system calls"], r"filtered \(seccomp mode 2\).* no_new_privs 1, dumpable 0, 0 capabilities in")


class Allowed(SecurityCase):
    def test_exporters_make_no_call_outside_the_list(self):
        own = {name: f'directory = "{self.dir}/{name}"\nkeep = 2'
               for name in ("pprof", "folded", "html", "perf", "firefox", "otlp_file")
               if os.path.exists(os.path.join(os.environ["EBPF_PROFILER_PLUGINS_DIR"], name + ".so"))}
        for name in own:
            os.mkdir(os.path.join(self.dir, name), 0o700)
        with self.agent(self.config(own)) as agent:
            self.assertTrue(agent.wait(lambda: all(len(os.listdir(os.path.join(self.dir, name))) >= 2 for name in own)),
                            agent.log)
            for number in signal.SIGHUP, signal.SIGUSR1:
                agent.process.send_signal(number)
            self.assertTrue(agent.has_said("samples taken"), agent.log)
        self.assertEqual(refused_calls.said_in(agent.log), [])

    def certificate(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl")
        key, certificate = (os.path.join(self.dir, name) for name in ("key.pem", "certificate.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        return key, certificate

    def test_neither_do_names_and_tls(self):
        """A request to a server by its name, over TLS: what is read of it is its beginning."""
        if not os.path.exists(os.path.join(os.environ["EBPF_PROFILER_PLUGINS_DIR"], "otlp.so")):
            self.skipTest("no otlp in this build")
        key, certificate = self.certificate()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        got = threading.Event()

        def serve(listener):
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                with contextlib.suppress(OSError), peer, context.wrap_socket(peer, server_side=True) as secure:
                    secure.settimeout(SECONDS)
                    if secure.recv(4):
                        got.set()

        try:
            family = socket.getaddrinfo("localhost", None)[0][0]
        except socket.gaierror:
            self.skipTest("no name to ask for: localhost has no address here")
        with socket.create_server(("localhost", 0), family=family) as listener:
            thread = threading.Thread(target=serve, args=(listener,), daemon=True)
            thread.start()
            port = listener.getsockname()[1]
            options = (f'endpoint = "https://localhost:{port}"\nprotocol = "http/protobuf"\nca_file = "{certificate}"\n'
                       'flush_timeout = "1s"\njitter = "0s"')
            with self.agent(self.config({"otlp": options})) as agent:
                self.assertTrue(got.wait(SECONDS), agent.log)
            listener.shutdown(socket.SHUT_RDWR)
        self.assertEqual(refused_calls.said_in(agent.log), [])


class Record(SecurityCase):
    def test_it_is_filtered_and_its_command_is_not(self):
        """The command's parent waits for it; the parent of that is the profiler."""
        code = ("import json\n"
                "def status(pid):\n"
                "    with open(f'/proc/{pid}/status') as file:\n"
                "        return dict(line.rstrip('\\n').split(':\\t', 1) for line in file if ':\\t' in line)\n"
                "mine = status('self')\n"
                f"json.dump([mine, status(status(mine['PPid'])['PPid'])], open({self.dir + '/said'!r}, 'w'))\n")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SUDO_")}
        result = run("record", "-q", "-o", self.out, "--", sys.executable, "-c", code, env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(os.path.join(self.dir, "said"), encoding="utf-8") as file:
            command, profiler = json.load(file)
        mine = status("self")
        for key in STATUS:
            self.assertEqual(command[key], mine[key], key)
        self.assertEqual(profiler["Name"], "ebpf-profiler")
        for key, value in (("CapEff", kept(mine)), ("CapPrm", kept(mine)), ("CapInh", 0), ("CapBnd", 0), ("CapAmb", 0)):
            self.assertEqual(int(profiler[key], 16), value, key)
        self.assertEqual((profiler["Seccomp"], profiler["NoNewPrivs"]), ("2", "1"))


if __name__ == "__main__":
    whole.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A profiler whose file has capabilities, as doctor advises, in the hands of a user who has none.

    test_elevated.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one

That user brings a plugin whose constructor leaves a mark, by each way to say where plugins are: it must
not run. Nor does a file that only root may read reach him or a server by any option that names files. With
root's plugins the profiler works.
"""
import glob
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import whole

SKIP = 77
BINARY, PLUGINS = os.environ["EBPF_PROFILER_BINARY"], os.environ["EBPF_PROFILER_PLUGINS_DIR"]
NOBODY = 65534
# include/uapi/linux/capability.h: BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG, CHECKPOINT_RESTORE
CAPABILITIES = sum(1 << bit for bit in (39, 38, 19, 2, 34, 40))
VFS_CAP_REVISION_2, VFS_CAP_EFFECTIVE = 0x02000000, 1
CONSTRUCTOR = """#include <fcntl.h>
__attribute__((constructor)) static void leave_a_mark(void) { (void)open("%s", O_CREAT | O_WRONLY, 0644); }
"""


def give_capabilities(path):
    """What setcap does (struct vfs_cap_data)."""
    low, high = CAPABILITIES & 0xffffffff, CAPABILITIES >> 32
    os.setxattr(path, "security.capability",
                struct.pack("<5I", VFS_CAP_REVISION_2 | VFS_CAP_EFFECTIVE, low, 0, high, 0))


class Listener:
    """A server that keeps what it is sent, until it is closed."""
    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.got = self.socket.getsockname()[1], b""
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(2)
                try:
                    while data := peer.recv(65536):
                        self.got += data
                except OSError:
                    pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(30)


class Elevated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.mkdtemp(prefix="ebpf-profiler-test-")
        os.chmod(cls.top, 0o755)
        cls.binary = shutil.copy(BINARY, cls.top)
        cls.roots = shutil.copytree(PLUGINS, os.path.join(cls.top, "plugins"))
        cls.mine = os.path.join(cls.top, "mine")
        os.mkdir(cls.mine)
        cls.mark = os.path.join(cls.mine, "ran")
        cls.plugin = os.path.join(cls.mine, "evil.so")
        source = os.path.join(cls.mine, "evil.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(CONSTRUCTOR % cls.mark)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", cls.plugin, source], check=True)
        for path in (cls.mine, cls.plugin):
            os.chown(path, NOBODY, NOBODY)
        busy = subprocess.Popen(whole.burner(600))    # there is something to export
        cls.addClassCleanup(busy.wait)
        cls.addClassCleanup(busy.kill)
        try:
            give_capabilities(cls.binary)
        except OSError as error:
            raise unittest.SkipTest(f"{cls.top} takes no capabilities of files: {error.strerror}")
        if "may do what who starts it may" in cls.run_as_nobody("doctor").stdout:
            raise unittest.SkipTest(f"capabilities of files are not given in {cls.top}: it is mounted nosuid")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.top)

    @classmethod
    def run_as_nobody(cls, *args, **environment):
        return subprocess.run([cls.binary, *args], user=NOBODY, group=NOBODY, extra_groups=[],
                              env={**os.environ, **environment},
                              cwd=cls.mine, capture_output=True, text=True, timeout=60, check=False)

    def config(self, plugins):
        path = os.path.join(self.mine, "profiler.toml")
        name = "evil" if plugins == self.mine else "pprof"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[sampling]\nfreq = 99\n[plugins]\ndir = "{plugins}"\nenable = ["{name}"]\n'
                       f'[[exporter]]\ntype = "{name}"\ninterval = "1s"\ndirectory = "{self.mine}"\n')
        return path

    def no_mark(self, result):
        self.assertFalse(os.path.exists(self.mark), f"the plugin's constructor ran: {result.args}")

    def test_the_constructor_runs_without_capabilities(self):
        """Or else this test shows nothing."""
        plain = shutil.copyfile(self.binary, os.path.join(self.mine, "plain"))
        os.chmod(plain, 0o755)
        result = subprocess.run([plain, "plugins"], user=NOBODY, group=NOBODY, extra_groups=[],
                                env=dict(os.environ, EBPF_PROFILER_PLUGINS_DIR=self.mine),
                                capture_output=True, timeout=60, check=False)
        self.assertTrue(os.path.exists(self.mark), result)
        os.unlink(self.mark)

    def test_environment_is_ignored(self):
        for args in (["plugins"], ["record", "-d", "1s", "-a", "-o", os.path.join(self.mine, "o.pb.gz")],
                     ["doctor"]):
            result = self.run_as_nobody(*args, **{"EBPF_PROFILER_PLUGINS_DIR": self.mine})
            self.no_mark(result)
            self.assertIn("in the environment is ignored", result.stderr)

    def test_a_users_plugin_is_refused(self):
        for args in (["plugins", "--check", self.plugin], ["--config", self.config(self.mine)],
                     ["--config", self.config(self.mine), "--check"]):
            result = self.run_as_nobody(*args)
            self.no_mark(result)
            self.assertNotEqual(result.returncode, 0, args)
            self.assertIn("this program may do more than that user", result.stdout + result.stderr)

    def test_a_file_that_the_user_may_not_read_is_no_configuration(self):
        path = os.path.join(self.roots, "secret")
        with open(path, "w", encoding="utf-8") as file:
            file.write("root:secret:1:0\n")
        os.chmod(path, 0o600)
        for args in (["--config", path], ["--config", path, "--check"]):
            result = self.run_as_nobody(*args)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("cannot be read: Permission denied", result.stderr)
            self.assertNotIn("secret:1", result.stdout + result.stderr)
        os.unlink(path)

    def secret(self):
        path = os.path.join(self.roots, "secret")
        with open(path, "w", encoding="utf-8") as file:
            file.write("root:secret:1:0\n")
        os.chmod(path, 0o600)
        self.addCleanup(os.unlink, path)
        return path

    def run_agent_until(self, config, text):
        """Ended when its log has that text; the log. Without it after two minutes: a failure."""
        with subprocess.Popen([self.binary, "--config", config], user=NOBODY, group=NOBODY, extra_groups=[],
                              stderr=subprocess.PIPE, text=True) as agent:
            timer = threading.Timer(120, agent.kill)
            timer.start()
            log = []
            for line in agent.stderr:
                log.append(line)
                if text in line:
                    break
            agent.terminate()
            log += agent.stderr.readlines()
            timer.cancel()
        self.assertIn(text, "".join(log))
        return "".join(log)

    def exporter(self, name, options):
        path = os.path.join(self.mine, name + ".toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[sampling]\nfreq = 99\n[plugins]\ndir = "{self.roots}"\nenable = ["{name}"]\n'
                       f'[[exporter]]\ntype = "{name}"\ninterval = "1s"\n{options}')
        return path

    def needs(self, name):
        if not os.path.exists(os.path.join(self.roots, name + ".so")):
            self.skipTest(f"no {name} in this build")

    def test_a_header_is_no_way_to_roots_files(self):
        self.needs("otlp")
        server = Listener()
        config = self.exporter("otlp", f'endpoint = "http://127.0.0.1:{server.port}"\njitter = "0s"\n'
                               f'flush_timeout = "1s"\nheader_files = "x-secret={self.secret()}"\n')
        self.run_agent_until(config, "secret: Permission denied")
        server.close()
        self.assertNotIn(b"root:secret", server.got)

    def test_a_page_is_no_way_to_roots_files(self):
        self.needs("html")
        config = self.exporter("html", f'directory = "{self.mine}"\nbase = "{self.secret()}"\n')
        self.run_agent_until(config, "secret: Permission denied")
        self.assertEqual(glob.glob(os.path.join(self.mine, "profile-*.html")), [])

    def test_certificates_are_the_callers(self):
        self.needs("otlp")
        path = self.secret()
        for option in ("ca_file", "cert_file"):
            config = self.exporter("otlp", f'endpoint = "https://127.0.0.1:1"\n{option} = "{path}"\n')
            self.run_agent_until(config, "secret: Permission denied")

    def test_profiles_are_the_callers(self):
        path = os.path.join(self.mine, "whole.pb.gz")
        self.run_agent_until(self.exporter("pprof", f'path = "{path}"\n'), "pprof: wrote")
        self.assertEqual((os.stat(path).st_uid, os.stat(path).st_mode & 0o777), (NOBODY, 0o600))

    def test_a_users_plugin_in_roots_directory_is_refused(self):
        path = shutil.copy(self.plugin, self.roots)
        os.chown(path, NOBODY, NOBODY)
        result = self.run_as_nobody("plugins", "--check", path)
        os.unlink(path)
        self.no_mark(result)
        self.assertIn("this program may do more than that user", result.stdout)

    def test_roots_plugins_work(self):
        agent = subprocess.Popen([self.binary, "--config", self.config(self.roots)], user=NOBODY,
                                 group=NOBODY, extra_groups=[], stderr=subprocess.PIPE, text=True)
        self.addCleanup(agent.kill)
        whole.wait_until(lambda: glob.glob(os.path.join(self.mine, "profile-*.pb.gz")))
        agent.send_signal(signal.SIGTERM)
        log = agent.communicate(timeout=120)[1]
        self.assertEqual(agent.returncode, 0, log)
        self.assertTrue(glob.glob(os.path.join(self.mine, "profile-*.pb.gz")), log)

    def test_doctor_tells_that_everybody_may_run_it(self):
        result = self.run_as_nobody("doctor").stdout
        self.assertRegex(result, r"warn  who may run it +everybody may run it")
        self.assertIn("chmod 750", result)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skip: not root")
        sys.exit(SKIP)
    unittest.main(verbosity=2)

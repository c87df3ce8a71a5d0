#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A profiler whose file has capabilities, as doctor advises, in the hands of a user who has none.

    test_elevated.py [NAME...]       EBPF_PROFILER_BINARY and EBPF_PROFILER_PLUGINS_DIR say which one

That user brings a plugin whose constructor leaves a mark, by each way to say where plugins are: it must
not run. With root's plugins the profiler works.
"""
import glob
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

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
        time.sleep(3.5)
        agent.send_signal(signal.SIGTERM)
        log = agent.communicate(timeout=30)[1]
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

# SPDX-License-Identifier: Apache-2.0
"""An agent that profiles the machine into one file, for a test."""
import glob
import os
import signal
import subprocess
import threading

import whole  # and with it where the kit is
import stacks


def write_config(directory, more="", interval="1h", keep=9, freq=99, into=None):
    path = os.path.join(directory, "profiler.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'[sampling]\nfreq = {freq}\n[plugins]\nenable = ["pprof"]\n{more}[[exporter]]\ntype = "pprof"\n'
                   f'interval = "{interval}"\ndirectory = "{into or directory}"\nkeep = {keep}\n')
    return path


def files_in(directory):
    return sorted(glob.glob(os.path.join(directory, "profile-*.pb.gz")))


class Agent:
    """It has begun when this returns; what it says is read all the time."""

    def __init__(self, case, more="", interval="1h", keep=9, words=(), **options):
        config = write_config(case.dir, more, interval, keep, 49)
        self.said = []
        self.process = subprocess.Popen([whole.BINARY, "--config", config, *words], stderr=subprocess.PIPE, text=True,
                                        **options)
        case.addCleanup(self.process.kill)
        for line in self.process.stderr:
            self.said.append(line)
            if "sampling at" in line:
                break
        else:
            raise AssertionError(f"the agent did not begin: exit status {self.process.wait()}: {self.log()}")
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr))
        self.reader.start()

    def log(self):
        return "".join(self.said)

    def signal(self, number, said):
        """And waits until it has said this once more."""
        before = self.log().count(said)
        self.process.send_signal(number)
        return whole.wait_until(lambda: self.log().count(said) > before)

    def stop(self, last_counters=True):
        """Its counters come with the end of what it says. The exit status."""
        if last_counters:
            self.signal(signal.SIGUSR1, "ms of CPU used by the agent")
        self.process.terminate()
        status = self.process.wait(120)
        self.reader.join()
        self.process.stderr.close()
        return status

    def check_stop(self, case):
        case.assertEqual(self.stop(False), 0, self.log())
        whole.check_calls(self.log())

    def profile(self, case):
        """All that it recorded, after it has ended."""
        path, = glob.glob(os.path.join(case.dir, "profile-*.pb.gz"))
        return stacks.read_profile(path)

    def count(self, what):
        return max((int(line.split()[0]) for line in self.said if line.strip().endswith(what)), default=0)

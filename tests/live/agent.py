# SPDX-License-Identifier: Apache-2.0
"""An agent that profiles the machine into one file, for a test."""
import glob
import os
import signal
import subprocess
import threading
import time

import whole  # and with it where the kit is
import stacks


class Agent:
    """It has begun when this returns; what it says is read all the time."""

    def __init__(self, case, more="", **options):
        config = os.path.join(case.dir, "profiler.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'[sampling]\nfreq = 49\n[plugins]\nenable = ["pprof"]\n{more}[[exporter]]\ntype = "pprof"\n'
                       f'interval = "1h"\ndirectory = "{case.dir}"\n')
        self.said = []
        self.process = subprocess.Popen([whole.BINARY, "--config", config], stderr=subprocess.PIPE, text=True, **options)
        case.addCleanup(self.process.kill)
        for line in self.process.stderr:
            self.said.append(line)
            if "sampling at" in line:
                break
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr))
        self.reader.start()

    def stop(self):
        """Its counters come with the end of what it says. The exit status."""
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        self.process.terminate()
        status = self.process.wait(120)
        self.reader.join()
        self.process.stderr.close()
        return status

    def profile(self, case):
        """All that it recorded, after it has ended."""
        path, = glob.glob(os.path.join(case.dir, "profile-*.pb.gz"))
        return stacks.read_profile(path)

    def count(self, what):
        return max((int(line.split()[0]) for line in self.said if line.strip().endswith(what)), default=0)

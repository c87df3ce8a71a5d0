# SPDX-License-Identifier: Apache-2.0
"""Workloads of short processes, run under the agent or `record` until there are enough samples of them.

A *session* is one life of a profiler. The first pass of a workload in it is counted apart from the
later ones: in these its programs are known.
"""
import dataclasses
import glob
import os
import resource
import time

import measure  # it knows where the modules of the live tests are
import judge
import passes
import stacks

MAX_PASSES = 400
SETTLE = 1.5  # seconds: the agent's start is another bench's
TRIES = 8  # sessions at most


@dataclasses.dataclass
class Load:
    """What is run. The bars are percents of whole stacks; None: for information."""

    name: str
    freq: int
    body: str  # shell text of a pass
    programs: judge.Programs
    agent: bool = False  # the agent with its configuration file, else `record -- sh`
    rooted: tuple = ()
    bar: float = None  # of later passes
    first_bar: float = None
    command: list = None  # `record -- COMMAND` itself, one pass a session
    prepare: object = None  # called before each session


class NotHere(Exception):
    """A load that this machine cannot run, for want of a program: a skip of that load."""


class Found:
    """What the sessions of a load had in common."""

    def __init__(self, load):
        self.load = load
        self.first, self.later = judge.Tally(load.rooted), judge.Tally(load.rooted)
        self.images = {"frames": judge.collections.Counter(), "name": judge.collections.Counter()}
        self.samples, self.asked = 0, 0

    def add(self, session):
        self.first.add(session.first)
        self.later.add(session.later)
        self.samples += sum(sample.count for sample in session.own)
        for kind, wrong in self.load.programs.wrong_images(session.own).items():
            self.images[kind].update(wrong)

    def wanted(self):
        """The tallies that need samples for a bar."""
        return ([self.first] if self.load.first_bar is not None or self.load.command else []) + (
            [self.later] if not self.load.command else [])

    def missing(self, samples):
        return max(samples - tally.all for tally in self.wanted())


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def pass_seconds(load, directory):
    """CPU time of a pass without a profiler; it also fills the caches."""
    before = cpu_of_children()
    passes.run_pass(passes.write_script(directory, load.body))
    return max(0.001, cpu_of_children() - before)


def read_directory(directory):
    return [sample for path in sorted(glob.glob(os.path.join(directory, "*.pb.gz")))
            for sample in stacks.read_profile(path).samples]


def agent_session(load, number, directory):
    """So many passes under one agent; samples of other programs on the machine are left out."""
    script = passes.write_script(directory, load.body)
    with measure.Procs() as procs, measure.Agent(procs, load.freq) as agent:
        agent.wait_sampling()
        time.sleep(SETTLE)
        roots = [passes.run_pass(script) for _ in range(number)]
        time.sleep(0.5)
        text = agent.stop()
        samples = read_directory(agent.directory.name)
    return passes.Session(list(filter(load.programs.has, samples)), roots, None, text)


def record_session(load, number, directory):
    if load.command:
        profile, _, text = passes.run_record(load.freq, load.command, directory)
        return passes.Session(profile.samples, [], None, text)
    return passes.record(load.freq, load.body, number, directory)


def passes_for(load, samples, seconds):
    """A little more than enough in one session; three, where many first passes are wanted."""
    if load.first_bar is not None:
        return 3
    return min(MAX_PASSES, 2 + int(1.1 * samples / (load.freq * seconds)))


def run(load, samples, directory):
    """Sessions of a load until each share with a bar is of enough samples."""
    found = Found(load)
    found.asked = samples
    seconds = pass_seconds(load, directory) if not load.command else 1
    for _ in range(TRIES if not load.command else 10 * TRIES):
        missing = found.missing(samples)
        if missing <= 0:
            break
        if load.prepare:
            load.prepare()
        session = agent_session if load.agent else record_session
        found.add(session(load, passes_for(load, missing, seconds), directory))
    return found


# --- rows ------------------------------------------------------------------------------------------

def print_tally(name, tally, bar=None, asked=1):
    """A bar is for so many samples as were asked for; of fewer the share is told, and judged as a skip."""
    text = f">= {bar}" if bar is not None else ""
    if tally.all == 0:
        measure.row(name + ": samples", 0, "", text, 1 if bar is not None else None, True)
        return
    if bar is not None and tally.all < asked:
        measure.skip_row(f"{name}: complete, bar {text}", f"{tally.all} samples came of {asked}")
        bar = None
    measure.row(f"{name}, {tally.all} samples: complete", tally.percent, "%", text, bar, True)
    for why, count in tally.reasons.most_common():
        measure.row(f"{name}: {why}", 100.0 * count / tally.all, "%")
    for state, count in tally.states.most_common():
        measure.row(f"{name}: complete with {state}", 100.0 * count / tally.all, "%")
    for why, sample in tally.examples.items():
        measure.note(f"  {name}: {why}: {judge.text_of(sample)}")


def print_images(name, images, samples):
    """Samples on the wrong image: there is no excuse for one."""
    if samples == 0:
        measure.row(name + ": samples to judge the image of", 0, "", ">= 1", 1, True)
        return
    for kind, text in (("frames", "with code of another program"), ("name", "with another's name")):
        wrong = images[kind]
        measure.row(f"{name}, {samples} samples: {text}", sum(wrong.values()), "samples", "0", 0)
        for what, count in wrong.most_common(5):
            measure.note(f"  {name}: {count} samples: {what}")


def report(found):
    load = found.load
    if load.command:
        print_tally(load.name, found.first, load.first_bar, found.asked)
    else:
        print_tally(f"{load.name}, first pass", found.first, load.first_bar, found.asked)
        print_tally(f"{load.name}, later passes", found.later, load.bar, found.asked)
    if load.programs.files:
        print_images(load.name, found.images, found.samples)

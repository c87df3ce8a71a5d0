# SPDX-License-Identifier: Apache-2.0
"""Judges samples of any program without knowing its stacks: is one whole, is it booked on the right image?

*Whole*: no frame of it is an error. A stack without a user part is whole only when the task had none:
a kernel thread, a worker thread of io_uring, a task in exec behind the point of no return or in exit.
Such a stack is kernel frames alone, or behind them one frame [exec] or [exit] and no other; and its
kernel frames must say that it was in exec or exit, the label alone is no proof. Of executables that
are given as *rooted* (test programs, which have symbols) a stack must also reach where a program starts.

*Right image*: a process row has a name, comm; each name has executables whose code may be in its user
frames. Code of another program under that name, or a task that had the name of one program and goes
by that of another, is a sample on the wrong image.
"""
import collections
import os
import re

import stacks

# Where a task has no user part. Before load_*_binary an exec still has its old memory, and whoever is
# there has a user stack: fs/exec.c, exec_binprm; fs/binfmt_elf.c. Exit: kernel/exit.c, kernel/fork.c.
STATES = {
    "[exec]": re.compile(r"^load_\w+_binary|^begin_new_exec|^exec_binprm|^bprm_execve"
                         # cut at our own program in the tracepoint of an exec
                         r"|^bpf_prog_\w+_ep_exec"),
    "[exit]": re.compile(r"^(do_exit|do_group_exit|__(x64|arm64)_sys_exit(_group)?|exit_mmap|__?mmput)$"),
}
# Below ret_from_fork of a task that never was in user space: kernel/kthread.c, io_uring/io-wq.c,
# io_uring/sqpoll.c, kernel/vhost_task.c
WORKERS = {"kthread", "io_wq_worker", "io_sq_thread", "vhost_task_fn"}
# What a shell is called and what it is: a table for Programs.
SHELLS = {"sh": {os.path.basename(os.path.realpath("/bin/sh"))}, "dash": {"dash"}}
COMM_CHARS = 15  # TASK_COMM_LEN - 1, include/linux/sched.h


def is_state(frame):
    return frame.name in STATES


def reason_without_user_part(kernel):
    """A task that has kernel frames only: None when it has no others."""
    names = [stacks.bare(frame.name) for frame in kernel]
    if WORKERS.intersection(names):
        return None
    if any(state.search(name) for state in STATES.values() for name in names):
        return None
    return "kernel frames alone, and neither exec nor exit nor a kernel thread"


def reason_of_state(frames, at):
    """A stack with the frame [exec] or [exit] at `at`."""
    label = frames[at].name
    if at != len(frames) - 1 or not all(map(stacks.is_kernel, frames[:at])):
        return f"{label} beside user frames"
    if not any(STATES[label].search(stacks.bare(frame.name)) for frame in frames[:at]):
        return f"{label} of a task that is not in {label.strip('[]')}"
    return None


def reason(frames, rooted=()):
    """Why a stack is not whole; None when it is."""
    for frame in frames:
        if stacks.is_error(frame):
            return frame.name.removeprefix("[truncated: ").removesuffix("]")
    for at, frame in enumerate(frames):
        if is_state(frame):
            return reason_of_state(frames, at)
    user = stacks.without_kernel(frames)
    if not user:
        return reason_without_user_part(frames)
    if any(frame.file in rooted for frame in user) and not stacks.is_root(user[-1]):
        return "ends before its root, without a word"
    return None


class Tally:
    """Samples, and why those that are not whole are not."""

    def __init__(self, rooted=()):
        self.rooted, self.reasons, self.states = rooted, collections.Counter(), collections.Counter()
        self.examples, self.all = {}, 0

    def add(self, samples):
        for sample in samples:
            why = reason(sample.frames, self.rooted)
            self.all += sample.count
            self.states.update({f.name: sample.count for f in sample.frames if is_state(f)})
            if why is not None:
                self.reasons[why] += sample.count
                self.examples.setdefault(why, sample)
        return self

    @property
    def whole(self):
        return self.all - sum(self.reasons.values())

    @property
    def percent(self):
        return 100.0 * self.whole / self.all if self.all else 0.0


class Programs:
    """Which executables may be seen under which name.

    files: {comm: base names of executables}; only these names, and only executables that some name
    has, are judged: libraries are anybody's. functions: {function: executable}, for frames whose
    file is not known.
    """

    def __init__(self, files, functions=None):
        self.files = {comm[:COMM_CHARS]: set(names) for comm, names in files.items()}
        self.owned = set().union(*self.files.values())
        self.functions = functions or {}

    def executable_of(self, frame):
        return frame.file or self.functions.get(stacks.bare(frame.name), "")

    def wrong_frame(self, sample):
        """A user frame of another program than the process row says, or None."""
        allowed = self.files.get(sample.labels.get("comm"))
        if allowed is None:
            return None
        others = self.owned - allowed
        return next((f for f in stacks.without_kernel(sample.frames)
                     if self.executable_of(f) in others), None)

    def wrong_name(self, sample):
        """The kernel had one of these names for the main thread, and its process goes by another."""
        comm, thread = sample.labels.get("comm"), sample.labels.get("thread_name")
        return (sample.labels.get("pid") == sample.labels.get("tid") and thread in self.files
                and self.files.get(comm) != self.files[thread])

    def has(self, sample):
        """Whether a sample is of one of these programs, by any sign."""
        return (sample.labels.get("comm") in self.files or sample.labels.get("thread_name") in self.files
                or any(self.executable_of(f) in self.owned for f in sample.frames))

    def wrong_images(self, samples):
        """{"frames": Counter, "name": Counter}: what is booked on another image, in words."""
        found = {"frames": collections.Counter(), "name": collections.Counter()}
        for sample in samples:
            frame = self.wrong_frame(sample)
            comm = sample.labels.get("comm")
            if frame:
                found["frames"][f"{comm} has {frame.name} of {self.executable_of(frame)}"] += sample.count
            if self.wrong_name(sample):
                found["name"][f"{sample.labels['thread_name']} goes by {comm}: {text_of(sample)}"] += sample.count
        return found


def text_of(sample, limit=12):
    """A sample in one line, leaf first."""
    names = [frame.name for frame in sample.frames]
    if len(names) > limit:
        names[limit // 2:-limit // 2] = ["..."]
    labels = sample.labels
    return f"{labels.get('comm')} {labels.get('pid')} ({labels.get('thread_name')}): " + " < ".join(names)

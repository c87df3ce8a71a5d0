#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of samples must find what is wrong, and nothing else."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "kit"))
import judge  # noqa: E402
import passes  # noqa: E402
from stacks import Frame, Sample  # noqa: E402


def kernel(*names):
    return [Frame(name, "[kernel.kallsyms]") for name in names]


def user(file, *names):
    return [Frame(name, file) for name in names]


SYSCALL = kernel("do_syscall_64", "entry_SYSCALL_64_after_hwframe")
IN_EXEC = kernel("elf_load", "load_elf_binary", "bprm_execve") + SYSCALL
BEFORE_EXEC = kernel("copy_strings", "do_execveat_common.isra.0") + SYSCALL
IN_EXIT = kernel("unmap_vmas", "exit_mmap", "__mmput", "do_exit") + SYSCALL
READ = kernel("vfs_read") + SYSCALL
WORKER = kernel("io_wq_worker", "ret_from_fork", "ret_from_fork_asm")
EXEC, EXIT = [Frame("[exec]", "")], [Frame("[exit]", "")]
MAIN = user("prog", "leaf", "main") + user("libc.so.6", "__libc_start_main") + user("prog", "_start")
CUT = [Frame("[truncated: stack memory unreadable]", "")]


class Whole(unittest.TestCase):
    CASES = [  # label, frames, whole
        ("to its root", MAIN, True),
        ("from the kernel to its root", READ + MAIN, True),
        ("an error", user("prog", "leaf") + CUT, False),
        ("an error below the kernel", READ + CUT, False),
        ("no root", user("prog", "leaf", "main"), False),
        ("no root, of a stranger without symbols", user("other", "other+0x10"), True),
        ("kernel frames of a task that has a user part", READ, False),
        ("nothing at all", [], False),
        ("a worker thread", WORKER, True),
        ("a new task on its way to user space", kernel("schedule_tail", "ret_from_fork"), False),
        ("exec, without a word", IN_EXEC, True),
        ("exec", IN_EXEC + EXEC, True),
        ("exec before its point of no return", BEFORE_EXEC + EXEC, False),
        ("the same, with its user part", BEFORE_EXEC + MAIN, True),
        ("the same, without it", BEFORE_EXEC, False),
        ("exit", IN_EXIT + EXIT, True),
        ("exit as exec", IN_EXIT + EXEC, False),
        ("exec as exit", IN_EXEC + EXIT, False),
        ("a system call as exit", READ + EXIT, False),
        ("exit without kernel frames", EXIT, False),
        ("exit behind user frames", IN_EXIT + MAIN + EXIT, False),
        ("exit before an error", IN_EXIT + EXIT + CUT, False),
    ]

    def test_each(self):
        for label, frames, whole in self.CASES:
            with self.subTest(label):
                self.assertEqual(judge.reason(frames, ("prog",)) is None, whole)

    def test_tally(self):
        tally = judge.Tally().add([Sample(MAIN, 3, {}), Sample(CUT, 1, {}), Sample(IN_EXIT + EXIT, 4, {})])
        self.assertEqual((tally.all, tally.whole, tally.percent), (8, 7, 87.5))
        self.assertEqual(tally.reasons, {"stack memory unreadable": 1})
        self.assertEqual(tally.states, {"[exit]": 4})

    def test_no_samples_are_not_whole(self):
        self.assertEqual(judge.Tally().percent, 0)


class Images(unittest.TestCase):
    PROGRAMS = judge.Programs({"sh": {"dash"}, "dash": {"dash"}, "a_name_longer_than_15": {"prog"}},
                              {"leaf": "prog"})
    CASES = [  # label, comm, thread name, tid, frames, wrong frames, wrong name
        ("right", "sh", "sh", 1, user("dash", "x"), 0, 0),
        ("right, a library", "sh", "sh", 1, user("libc.so.6", "x"), 0, 0),
        ("right, the other name of a shell", "sh", "dash", 1, user("dash", "x"), 0, 0),
        ("the child's frames on the shell", "sh", "sh", 1, user("prog", "x"), 1, 0),
        ("by a function whose file is not known", "sh", "sh", 1, user("", "leaf"), 1, 0),
        ("the shell's frames on the child", "a_name_longer_t", "a_name_longer_t", 1, user("dash", "x"), 1, 0),
        ("the shell's name", "sh", "a_name_longer_t", 1, user("", "0x1"), 0, 1),
        ("somebody's name", "python3", "a_name_longer_t", 1, user("", "0x1"), 0, 1),
        ("a thread has a name of its own", "sh", "worker", 2, user("dash", "x"), 0, 0),
        ("a thread that is called as a program", "sh", "a_name_longer_t", 2, user("dash", "x"), 0, 0),
        ("strangers", "python3", "python3", 1, user("dash", "x"), 0, 0),
    ]

    def test_each(self):
        for label, comm, thread, tid, frames, wrong_frames, wrong_name in self.CASES:
            sample = Sample(frames, 2, {"pid": 1, "tid": tid, "comm": comm, "thread_name": thread})
            with self.subTest(label):
                found = self.PROGRAMS.wrong_images([sample])
                self.assertEqual(sum(found["frames"].values()), 2 * wrong_frames)
                self.assertEqual(sum(found["name"].values()), 2 * wrong_name)

    def test_samples_of_strangers_are_not_had(self):
        sample = Sample(user("bash", "x"), 1, {"comm": "bash", "thread_name": "bash"})
        self.assertFalse(self.PROGRAMS.has(sample))
        self.assertTrue(self.PROGRAMS.has(sample._replace(frames=user("prog", "x"))))


class Passes(unittest.TestCase):
    def test_the_first_pass_by_pid(self):
        top = passes.pid_max()
        for roots, first, later in [([500, 600], [500, 501, 599], [600, 700, 499]),
                                    ([top - 10, 400], [top - 10, top - 1, 301, 399], [400, 500])]:
            samples = [Sample([], 1, {"pid": pid, "thread_name": "sh"}) for pid in first + later + [7]]
            session = passes.Session(samples, roots, 7)
            with self.subTest(roots):
                self.assertEqual([s.labels["pid"] for s in session.first], first)
                self.assertEqual([s.labels["pid"] for s in session.later], later)

    def test_the_profiler_itself_is_left_out(self):
        samples = [Sample([], 1, {"pid": 9, "comm": "sh", "thread_name": "ebpf-profiler"})]
        self.assertEqual(passes.Session(samples, [1]).own, [])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""BPF programs of the machine by the bpf() system call: which are new, how often did they run.

linux/bpf.h: enum bpf_cmd, union bpf_attr, struct bpf_prog_info. run_cnt counts while
kernel.bpf_stats_enabled is 1 (bench: measure.bpf_stats).
"""
import ctypes
import os
import platform
import struct

import measure

SYS_BPF = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
PROG_GET_NEXT_ID, PROG_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD = 11, 13, 15
TYPE_PERF_EVENT = 7
INFO_BYTES = 232
RUN_CNT_OFF = 200  # of bpf_prog_info, behind run_time_ns


def bpf(command, attributes):
    """The call's result, or None when it failed; `attributes` is written by the kernel."""
    result = measure.LIBC.syscall(SYS_BPF, command, attributes, len(attributes))
    return None if result < 0 else result


def next_id(after):
    attributes = ctypes.create_string_buffer(struct.pack("=III", after, 0, 0))
    return None if bpf(PROG_GET_NEXT_ID, attributes) is None else struct.unpack_from("=I", attributes, 4)[0]


def newest_id():
    last, found = 0, 0
    while found is not None:
        last, found = found, next_id(found)
    return last


def info(fd):
    """(type, run count)"""
    data = ctypes.create_string_buffer(INFO_BYTES)
    attributes = ctypes.create_string_buffer(struct.pack("=IIQ", fd, INFO_BYTES, ctypes.addressof(data)))
    if bpf(OBJ_GET_INFO_BY_FD, attributes) is None:
        raise OSError("BPF_OBJ_GET_INFO_BY_FD failed")
    return struct.unpack_from("=I", data, 0)[0], struct.unpack_from("=Q", data, RUN_CNT_OFF)[0]


def ids_of(pid):
    """Programs that a process holds."""
    return {int(about["prog_id"]) for about in measure.fdinfo(pid) if "prog_jited" in about}


class Watch:
    """Sampling programs that were loaded since this was made."""

    def __init__(self):
        self.last, self.fds = newest_id(), {}

    def close(self):
        for fd in self.fds.values():
            os.close(fd)
        self.fds = {}

    def take_new(self):
        number = next_id(self.last)
        while number is not None:
            self.last = number
            fd = bpf(PROG_GET_FD_BY_ID, ctypes.create_string_buffer(struct.pack("=III", number, 0, 0)))
            if fd is not None:  # else it is gone already
                self.fds[number] = fd
            number = next_id(self.last)

    def ran(self):
        """Ids of those that have run."""
        self.take_new()
        about = {number: info(fd) for number, fd in self.fds.items()}
        return {number for number, (kind, runs) in about.items() if kind == TYPE_PERF_EVENT and runs > 0}

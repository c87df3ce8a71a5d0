#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads BPF programs, runs each for a while and unloads it, so that the next one may take its place.

    kernel_programs.py DIR [NAME...]

While NAME runs, that is the name of the thread, and the program's is zk_NAME. Prints a line for each: NAME, its
address. First it says in DIR/started that it is there and waits for DIR/go. It is a module for its test, too.
"""
import ctypes
import os
import platform
import struct
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_BPF = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
PROG_LOAD, PROG_TEST_RUN, OBJ_GET_INFO_BY_FD = 5, 10, 15
SOCKET_FILTER = 1
PR_SET_NAME = 15
ROUNDS = 3000  # of its loop: some microseconds
REPEAT = 5000
CPU_SECONDS = 0.3


def call(command, attr):
    buf = ctypes.create_string_buffer(attr.ljust(152, b"\0"), 152)
    return LIBC.syscall(SYS_BPF, command, buf, 152), buf


def address(buf):
    return ctypes.addressof(buf)


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, src << 4 | dst, off, imm)


# r0 = r1 = 0; do r1 += 1 while r1 < ROUNDS; return r0
CODE = b"".join([insn(0xb7, 0), insn(0xb7, 1), insn(0x07, 1, imm=1), insn(0xa5, 1, off=-2, imm=ROUNDS), insn(0x95)])


def load(name):
    """A descriptor."""
    insns, text = ctypes.create_string_buffer(CODE, len(CODE)), ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQIIQII16s", SOCKET_FILTER, len(CODE) // 8, address(insns), address(text), 0, 0, 0, 0, 0,
                       f"zk_{name}".encode()[:15])
    fd, _ = call(PROG_LOAD, attr)
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def code_address(fd):
    """Where it is, 0 when the kernel does not say. bpf_prog_info: jited_ksyms and their number."""
    info, addrs = ctypes.create_string_buffer(256), ctypes.create_string_buffer(8)
    struct.pack_into("<I", info, 104, 1)
    struct.pack_into("<Q", info, 112, address(addrs))
    if call(OBJ_GET_INFO_BY_FD, struct.pack("<IIQ", fd, 256, address(info)))[0] < 0:
        return 0
    return struct.unpack("<Q", addrs.raw)[0]


def run(fd):
    data = ctypes.create_string_buffer(64)
    attr = struct.pack("<IIIIQQI", fd, 0, 64, 0, address(data), 0, REPEAT)
    end = time.thread_time() + CPU_SECONDS
    while time.thread_time() < end:
        if call(PROG_TEST_RUN, attr)[0] < 0 and ctypes.get_errno() != 4:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def wait_for(path, seconds=60):
    end = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > end:
            sys.exit(f"nobody made {path}")
        time.sleep(0.02)


def main():
    directory, names = sys.argv[1], sys.argv[2:]
    with open(os.path.join(directory, "started"), "w", encoding="ascii"):
        pass
    wait_for(os.path.join(directory, "go"))
    for name in names:
        fd = load(name)
        LIBC.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)
        run(fd)
        print(name, hex(code_address(fd)), flush=True)
        LIBC.prctl(PR_SET_NAME, b"between", 0, 0, 0)
        os.close(fd)
        time.sleep(0.2)  # its memory is free after a grace period


if __name__ == "__main__":
    main()

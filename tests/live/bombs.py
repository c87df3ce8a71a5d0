#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ELF files that cost whoever reads them more than they look like, and a process that maps them.

    bombs.py map FILE...        maps their code, runs that of the last one, and prints READY before

What is in them is zeros, or one record over and over, so that they are written in a moment and take little of a disk.
"""
import array
import ctypes
import lzma
import mmap
import os
import struct
import sys
import zlib

PAGE = 4096
FDE_BYTES = 24
CODE_VA, FRAME_VA = 1 << 30, 2 << 30
CODE_OFF = PAGE
LOOP = bytes([0xeb, 0xfe])  # jmp to itself
PROGBITS, STRTAB, DYNSYM, GNU_HASH = 1, 3, 11, 0x6ffffff6
COMPRESSED = 0x800
ZLIB, ZSTD = 1, 2

# Version 1, "zR", pc-relative signed pointers of 4 bytes; CFA rsp + 8, the return address below it.
CIE = struct.pack("<II", 20, 0) + b"\x01zR\0\x01\x78\x10\x01\x1b" + b"\x0c\x07\x08\x90\x01" + bytes(2)


def fdes(n, descending=False):
    """An .eh_frame of n functions of FDE_BYTES, which push a register and pop it again."""
    assert len(CIE) == 24
    insns = struct.pack("<II", 0x100e4100, 0x00080e44)  # no augmentation; CFA rsp + 16 and back
    words = array.array("I", struct.pack("<IIII", FDE_BYTES - 4, 0, 0, FDE_BYTES) + insns) * n
    words[1::6] = array.array("I", range(len(CIE) + 4, len(CIE) + 4 + n * FDE_BYTES, FDE_BYTES))
    first = CODE_VA - (FRAME_VA + len(CIE) + 8)
    if descending:
        first += (n - 1) * FDE_BYTES
        starts = range(first, first - 2 * n * FDE_BYTES, -2 * FDE_BYTES)
    else:
        starts = [first] * n
    words[2::6] = array.array("I", array.array("i", starts).tobytes())
    return CIE + words.tobytes()


def zlib_zeros(n, claim=None):
    """Of n zeros, an SHF_COMPRESSED section that says there are `claim`."""
    return struct.pack("<IIQQ", ZLIB, 0, n if claim is None else claim, 1) + zlib.compress(bytes(n), 9)


def zstd_zeros(n):
    """A frame of blocks that are one byte each, RFC 8878."""
    header = struct.pack("<IBB", 0xfd2fb528, 0, (17 - 10) << 3)  # windows of 128 KiB
    sizes = [1 << 17] * (n >> 17)
    blocks = b"".join(struct.pack("<I", (i + 1 == len(sizes)) | 1 << 1 | size << 3)[:3] + b"\0" for i, size in enumerate(sizes))
    return struct.pack("<IIQQ", ZSTD, 0, n, 1) + header + blocks


def xz_zeros(n):
    return lzma.compress(bytes(n), format=lzma.FORMAT_XZ, preset=6)


def write(path, code_bytes, sections, has_code=False):
    """`sections`: (name, type, flags, what is in it[, and its bytes with a hole behind that], or how large a hole).
    What has no code is a hole too."""
    names = b"\0.shstrtab\0"
    headers = [struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)]
    at = CODE_OFF + (code_bytes + PAGE - 1) // PAGE * PAGE
    loads = []
    with open(path, "wb") as file:
        file.seek(CODE_OFF)
        file.write(LOOP * (code_bytes // 2 if has_code else 1))
        for name, kind, flags, data, *more in sections:
            size = more[0] if more else data if isinstance(data, int) else len(data)
            va = FRAME_VA if name == ".eh_frame" else 0
            headers.append(struct.pack("<IIQQQQIIQQ", len(names), kind, flags, va, at, size, len(sections) + 1 if kind == DYNSYM
                                       else 1, 0, 8, 24 if kind == DYNSYM else 0))
            names += name.encode() + b"\0"
            if va:
                loads.append(struct.pack("<IIQQQQQQ", 1, 4, at, va, va, size, size, PAGE))
            if not isinstance(data, int):
                file.seek(at)
                file.write(data)
            at += (size + PAGE - 1) // PAGE * PAGE
        headers.append(struct.pack("<IIQQQQIIQQ", 1, STRTAB, 0, 0, at, len(names), 0, 0, 1, 0))
        file.seek(at)
        file.write(names)
        at += (len(names) + 7) // 8 * 8
        file.seek(at)
        file.write(b"".join(headers))
        loads.append(struct.pack("<IIQQQQQQ", 1, 5, CODE_OFF, CODE_VA, CODE_VA, code_bytes, code_bytes, PAGE))
        file.seek(0)
        file.write(b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, CODE_VA, 64, at, 0, 64, 56,
                                                                  len(loads), 64, len(headers), len(headers) - 1))
        file.write(b"".join(loads))


def write_all(directory):
    """The paths of files that would take gigabytes, alone or together."""
    mib = 1 << 20
    million, bytes_of_code = 10**6, 10**6 * FDE_BYTES
    zeros = zstd_zeros(64 * mib)
    files = {
        "sparse": (mib, [(".eh_frame", PROGBITS, 2, 1 << 30)]),
        "large": (100 * mib, [(".eh_frame", PROGBITS, 2, fdes(100 * mib // FDE_BYTES))]),
        "claims": (mib, [(".debug_frame", PROGBITS, COMPRESSED, zlib_zeros(mib, claim=4 << 30))]),
        "zlib": (mib, [(".debug_frame", PROGBITS, COMPRESSED, zlib_zeros(64 * mib))]),
        "zstd": (mib, [(".debug_frame", PROGBITS, COMPRESSED, zeros)]),
        "xz": (mib, [(".gnu_debugdata", PROGBITS, 0, xz_zeros(256 * mib))]),
        "one": (bytes_of_code, [(".eh_frame", PROGBITS, 2, fdes(million))]),
        "two": (bytes_of_code, [(".eh_frame", PROGBITS, 2, fdes(million, descending=True))]),
        "three": (bytes_of_code, [(".eh_frame", PROGBITS, 2, fdes(million, descending=True))]),
        "names": (mib, [(f".debug_{name}", PROGBITS, COMPRESSED, zeros)
                        for name in ("info", "abbrev", "line", "str", "ranges")]),
    }
    for name, (code_bytes, sections) in files.items():
        write(os.path.join(directory, name), code_bytes, sections)
    return [os.path.join(directory, name) for name in files]


def hash_chain(path):
    """Whoever looks a name up reads 16 GiB of zeros: the chain has no end."""
    header = struct.pack("<IIIIQI", 1, 1, 1, 0, (1 << 64) - 1, 1)  # one bucket, and a filter that lets all pass
    write(path, PAGE, [(".dynsym", DYNSYM, 2, 24 << 30), (".gnu.hash", GNU_HASH, 2, header + bytes(4), 16 << 30)])


def map_all(paths):
    maps = []
    for path in paths:
        with open(path, "rb") as file:
            maps.append(mmap.mmap(file.fileno(), PAGE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE |
                                  mmap.PROT_EXEC, offset=CODE_OFF))
    code = ctypes.addressof(ctypes.c_char.from_buffer(maps[-1]))
    print("READY", flush=True)
    ctypes.CFUNCTYPE(None)(code)()


if __name__ == "__main__":
    assert sys.argv[1] == "map"
    map_all(sys.argv[2:])

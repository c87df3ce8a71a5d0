# SPDX-License-Identifier: Apache-2.0
"""A FUSE file system with one directory of files, whose server stops answering when it is told to, and goes on when it is.

The protocol is spoken without a library (include/uapi/linux/fuse.h). A request that was read and is not answered
holds its caller in the kernel, where not even SIGKILL ends it; the end of the server, whatever ends it, aborts the
connection (fs/fuse/dev.c, fuse_dev_release), and everybody gets an error. The server ends after LIFE_S by itself.
"""
import ctypes
import os
import shutil
import signal
import stat
import struct
import sys
import tempfile
import time

LIFE_S = 480
ROOT = 1
ENOENT, ENOSYS = 2, 38
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, BATCH_FORGET = 27, 28, 29, 34, 36, 42
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)


def cannot():
    """Why there cannot be one here, or None."""
    if os.geteuid() != 0:
        return "only root may mount"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse: {error.strerror}"
    return None


class Server:
    """Of files, name: bytes. Nothing that it says is remembered by the kernel but pages of files."""

    def __init__(self, fd, files):
        self.fd = fd
        self.files = list(files.items())
        self.is_stopped = False
        self.unanswered = []

    def attributes(self, node):
        if node == ROOT:
            mode, size = stat.S_IFDIR | 0o755, 0
        else:
            mode, size = stat.S_IFREG | 0o755, len(self.files[node - ROOT - 1][1])
        return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        """The body of an answer, or an error's number."""
        if opcode == INIT:
            major, _, readahead, _ = struct.unpack_from("<4I", body)
            return struct.pack("<4IHHIIHHI7I", major, 31, readahead, 0, 16, 12, 1 << 17, 1, 32, 0, 0, *[0] * 7)
        if opcode == LOOKUP:
            name = body.split(b"\0")[0].decode()
            for number, (known, _) in enumerate(self.files):
                if known == name:
                    node = ROOT + 1 + number
                    return struct.pack("<4Q2I", node, 0, 0, 0, 0, 0) + self.attributes(node)
            return ENOENT
        if opcode == GETATTR:
            return struct.pack("<Q2I", 0, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            return struct.pack("<Q2I", 0, 0, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.files[node - ROOT - 1][1][offset:offset + size]
        if opcode == STATFS:
            return struct.pack("<5Q10I", *[0] * 15)
        if opcode in (READDIR, RELEASE, RELEASEDIR, FLUSH, ACCESS):
            return b""
        return ENOSYS

    def handle(self, request):
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return
        if self.is_stopped:
            self.unanswered.append(request)
            return
        answer = self.answer(opcode, node, request[40:])
        code, body = (-answer, b"") if isinstance(answer, int) else (0, answer)
        try:
            os.write(self.fd, struct.pack("<IiQ", 16 + len(body), code, unique) + body)
        except OSError:
            pass  # who asked has gone

    def stop(self, *_):
        self.is_stopped = True

    def resume(self, *_):
        self.is_stopped = False
        while self.unanswered:
            self.handle(self.unanswered.pop())

    def run(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 18)
            except OSError as error:  # unmounted, or it was aborted
                if error.errno == ENOENT:
                    continue
                return
            self.handle(request)


def serve(point, files, ready):
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
    if libc.mount(b"hung", point.encode(), b"fuse.hung", 0, options.encode()) < 0:
        os._exit(1)
    server = Server(fd, files)
    signal.signal(signal.SIGUSR1, server.stop)
    signal.signal(signal.SIGUSR2, server.resume)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIFE_S)
    os.write(ready, b"r")
    os.close(ready)
    server.run()


class HungMount:
    """with HungMount({"name": bytes}) as mount: mount.path("name"), mount.stop(), ..."""

    def __init__(self, files):
        self.files = files
        self.point = self.pid = None

    def __enter__(self):
        self.point = tempfile.mkdtemp(prefix="ep-hung-")
        ready, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(ready)
                for standard in (0, 1, 2):
                    os.dup2(os.open(os.devnull, os.O_RDWR), standard)
                serve(self.point, self.files, theirs)
            finally:
                os._exit(0)
        os.close(theirs)
        is_ready = os.read(ready, 1) == b"r"
        os.close(ready)
        if not is_ready:
            self.__exit__()
            raise OSError("the mount did not come about")
        return self

    def path(self, name):
        return os.path.join(self.point, name)

    def stop(self):
        """From here on nothing is answered."""
        os.kill(self.pid, signal.SIGUSR1)
        time.sleep(0.2)

    def resume(self):
        """All that waits is answered."""
        os.kill(self.pid, signal.SIGUSR2)

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        libc.umount2(self.point.encode(), MNT_DETACH)
        shutil.rmtree(self.point, ignore_errors=True)


if __name__ == "__main__":
    print(cannot() or "there can be one", file=sys.stderr)

# SPDX-License-Identifier: Apache-2.0
"""The pthread keys of thread_storage_program.c, for C libraries that we have an interpreter of, and no compiler."""
import ctypes
import sys
import threading

N_KEYS, N_THREADS = 40, 3
ARCH_GET_FS, SYS_arch_prctl = 0x1003, 158  # x86-64: asm/prctl.h, asm/unistd_64.h

libc = ctypes.CDLL("libc.so.6")
pthread = ctypes.CDLL("libpthread.so.0")
pthread.pthread_setspecific.argtypes = [ctypes.c_uint, ctypes.c_void_p]
keys = [ctypes.c_uint() for _ in range(N_KEYS)]
barrier = threading.Barrier(N_THREADS + 1)
lock = threading.Lock()


def run(value):
    base = ctypes.c_ulong()
    libc.syscall(SYS_arch_prctl, ARCH_GET_FS, ctypes.byref(base))
    with lock:
        for i, key in enumerate(keys):
            pthread.pthread_setspecific(key, value + i)
            print(f"key {base.value:#x} {key.value} - {value + i:#x}")
    barrier.wait()
    barrier.wait()


for key in keys:
    pthread.pthread_key_create(ctypes.byref(key), None)
for i in range(N_THREADS):
    threading.Thread(target=run, args=(0x10000000 * (i + 1),), daemon=True).start()
barrier.wait()
print("ready", flush=True)
sys.stdin.read()

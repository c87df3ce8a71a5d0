# SPDX-License-Identifier: Apache-2.0
"""Stays in a stack with one of each: method, property, lambda, generator, coroutine, C code between
Python code, and two more threads that wait. For CPython 3.6 and newer."""
import asyncio
import functools
import re
import signal
import threading
import time


def stand():
    while True:
        for _ in range(1000):
            pass


def generate(n):
    yield n
    stand()
    yield n + 1


class Shelf:
    class Box:
        @property
        def contents(self):
            return list(generate(1))

    @staticmethod
    def open_box(box):
        return box.contents

    @classmethod
    def sort(cls, boxes):
        return sorted(boxes, key=lambda box: cls.open_box(box))


async def inner():
    return Shelf.sort([Shelf.Box(), Shelf.Box()])


async def outer():
    return await inner()


def replace(_match):
    loop = asyncio.new_event_loop()
    return loop.run_until_complete(outer())


def sleeper():
    time.sleep(100)


def locked(lock):
    with lock:
        pass


def main():
    signal.alarm(60)
    lock = threading.Lock()
    lock.acquire()
    for target in (sleeper, functools.partial(locked, lock)):
        threading.Thread(target=target, daemon=True).start()
    time.sleep(0.2)
    re.sub("a", replace, "cat")


main()

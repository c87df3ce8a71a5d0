# SPDX-License-Identifier: Apache-2.0
"""Burns CPU in greenlets whose C stacks were copied away and back, and says which stacks it had.

    greenlets.py SECONDS

A line "RESULT {json}": `chains`: of each place where CPU is burnt, in its greenlet, the names of the Python
frames from the root to it, as the interpreter says, and whether the greenlet is the thread's main one; `cpu`: what
each scenario burnt.

Those that begin deep in one chain of calls go on from another one, so behind their first frame is what others have left
on the stack.
"""
import json
import sys
import threading
import time

import greenlet

try:
    import gevent
except ImportError:
    gevent = None

CHAINS = set()
CPU = {}
END = 0.0


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def names_to(frame):
    names = []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return tuple(reversed(names))


def burn(name, ms):
    CHAINS.add((names_to(sys._getframe()), greenlet.getcurrent().parent is None))
    begin = time.thread_time()
    while time.thread_time() < begin + ms / 1000:
        spin(3000)
    CPU[name] = CPU.get(name, 0) + time.thread_time() - begin


def goes_on():
    return time.monotonic() < END


def descend(n, function):
    """Through C at each level, so that the C stack is deep, too."""
    if n == 0:
        return function()
    return list(map(lambda _: descend(n - 1, function), [0]))[0]


# --- two that begin deep, and are resumed from a shallow place and from another deep one -----------

def red():
    burn("red", 5)


def red_body():
    while True:
        red()
        greenlet.getcurrent().parent.switch()


def blue():
    list(map(lambda n: burn("blue", n), [5]))


def blue_body(_first):
    while True:
        blue()
        greenlet.getcurrent().parent.switch()


def other_chain(n, function):
    return sorted([0], key=lambda _: other_chain(n - 1, function) if n else function())


def resumed():
    one, two = greenlet.greenlet(red_body), greenlet.greenlet(blue_body)
    descend(20, one.switch)
    descend(5, lambda: two.switch(1))
    while goes_on():
        one.switch()
        other_chain(12, lambda: burn("main", 5))
        two.switch()
        other_chain(7, two.switch)


# --- many that end, each started by the one before it ------------------------------------------------

def short_body(n):
    burn("short", 1)
    if n:
        greenlet.greenlet(short_body).switch(n - 1)     # its parent is this one
    burn("after", 1)
    return n


def short():
    while goes_on():
        descend(3, lambda: greenlet.greenlet(short_body).switch(4))


# --- what is thrown into one that has begun ---------------------------------------------------------

class Thrown(Exception):
    pass


def catching_body():
    while True:
        try:
            greenlet.getcurrent().parent.switch()
        except Thrown:
            burn("caught", 2)


def thrown():
    one = greenlet.greenlet(catching_body)
    descend(9, one.switch)
    while goes_on():
        one.throw(Thrown())
        other_chain(3, lambda: one.throw(Thrown))


# --- gevent ------------------------------------------------------------------------------------------

def parse():
    while goes_on():
        burn("parse", 4)
        gevent.sleep(0)


def render():
    while goes_on():
        descend(4, lambda: burn("render", 2))
        gevent.sleep(0)


def hub():
    tasks = []
    descend(10, lambda: tasks.append(gevent.spawn(parse)))
    descend(3, lambda: tasks.append(gevent.spawn(render)))
    gevent.joinall(tasks)


def main(seconds):
    global END
    END = time.monotonic() + seconds
    # Stacks are copied within a thread: the others have scenarios of their own.
    threads = [threading.Thread(target=function) for function in (short, thrown)]
    for thread in threads:
        thread.start()
    resumed()
    for thread in threads:
        thread.join()
    if gevent:
        END = time.monotonic() + seconds / 2
        hub()
    print("RESULT " + json.dumps({"chains": sorted(CHAINS), "cpu": CPU, "version": sys.version.split()[0],
                                  "greenlet": greenlet.__version__, "gevent": getattr(gevent, "__version__", None)}))
    sys.stdout.flush()
    time.sleep(0.3)     # what it did last has names as long as it lives


if __name__ == "__main__":
    main(float(sys.argv[1]))

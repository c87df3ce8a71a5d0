# SPDX-License-Identifier: Apache-2.0
"""Burns CPU in Python stacks of many kinds, and says which it can have. CPython 3.6 and newer.

    workload.py trace 0 [SCENARIO...]          every stack it can have: a line "TRUTH {json}"
    workload.py burn SECONDS [SCENARIO...]     runs; CPU time by scenario, that of its threads' starts
                                               and ends: a line "RESULT {json}"
    workload.py fork SECONDS [SCENARIO...]     the same in a child process

A scenario does the same calls each time it runs. So tracing two rounds of it (sys.setprofile) gives
all of its stacks: at each call, the frames from the callee to the root, each with name, file and
the line it is at. What is burnt is not traced. Both run the same code on the same threads, so a
chain of callers that is in a profile but not in the truth is wrong.

A line that ends in "# long" is nearly all of its time in the Python function it calls: a stack
whose leaf is there lacks its real leaf.
"""
import asyncio
import contextlib
import dis
import functools
import gc
import hashlib
import itertools
import json
import operator
import os
import re
import sys
import threading
import time
import weakref
import zlib

TRACED_ROUNDS = 2
SETTLE_SECONDS = 0.6
LINGER_SECONDS = 0.3
BLOB = bytes(range(256)) * 1500


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


# --- calls ----------------------------------------------------------------------------------------

def descend(n):
    if n == 0:
        return spin(2000)  # long
    below = descend(n - 1)
    return below + 1


def recursion():
    for depth in (0, 1, 2, 3, 5, 8, 13, 21, 34, 47, 60):
        descend(depth)


def fibonacci(n):
    if n < 2:
        return n
    one = fibonacci(n - 1)
    two = fibonacci(n - 2)
    return one + two


def calls():
    fibonacci(13)
    spin(20000)  # long


def dive(n):
    if n == 0:
        return spin(150000)  # long
    return dive(n - 1)


def deep():
    dive(900)


def closures():
    factor = 3

    def scale(n):
        def inner(m):
            return spin(m * factor)  # long
        return inner(n) + factor

    for n in (500, 1000, 2000):
        scale(n)
    (lambda n: spin(n + factor))(3000)


def defaults(a, *rest, b=2000, **more):
    return spin(a + b + len(rest) + len(more))  # long


def arguments():
    defaults(1)
    defaults(1, 2, 3)
    defaults(1, b=3000)
    defaults(*[1, 2], **{"b": 2500, "c": 1})


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


@logged
@logged
def decorated(n):
    return spin(n)  # long


def decorators():
    decorated(4000)


# --- classes --------------------------------------------------------------------------------------

class Meta(type):
    def __call__(cls, *args):
        instance = super().__call__(*args)
        return instance


class Base:
    def __init__(self, n):
        self.n = n
        spin(n)

    def work(self):
        return spin(self.n)


class Shape(Base):
    class Part:
        def turn(self, n):
            return spin(n)

    def __init__(self, n):
        super().__init__(n)
        self.part = self.Part()

    def work(self):
        return super().work() + self.part.turn(self.n)

    @property
    def area(self):
        return spin(self.n)

    @staticmethod
    def still(n):
        return spin(n)

    @classmethod
    def of_class(cls, n):
        return spin(n)

    def __call__(self, n):
        return spin(n)

    def __getitem__(self, n):
        return spin(n)

    def __getattr__(self, name):
        return spin(1500)

    def __len__(self):
        return spin(1200) & 3

    def __eq__(self, other):
        return spin(900) == other

    def __add__(self, n):
        return spin(n)

    def __contains__(self, n):
        return spin(n) == 1

    def __iter__(self):
        return iter([spin(700)])

    def __hash__(self):
        return spin(800)


class Made(metaclass=Meta):
    def __init__(self, n):
        spin(n)


def classes():
    shape = Shape(800)
    shape.work()
    shape.still(1000)
    shape.of_class(1100)
    Made(900)


def specials():
    shape = Shape(500)
    shape(1000)
    shape[1100]
    shape.area
    shape.absent
    len(shape)
    shape == 3
    shape + 1300
    1400 in shape
    hash(shape)
    for _ in shape:
        pass


# --- generators and coroutines --------------------------------------------------------------------

def count_up(n):
    for i in range(n):
        yield spin(i * 100)


def delegate(n):
    yield spin(100)
    yield from count_up(n)


def generators():
    for _ in delegate(12):
        pass
    sum(value + spin(300) for value in count_up(8))
    next(delegate(3))
    first, *_ = count_up(4)
    sent = delegate(5)
    sent.send(None)
    sent.close()


class Pause:
    def __await__(self):
        spin(400)
        yield
        return spin(500)


async def wait_once(n):
    await Pause()
    return spin(n)


async def numbers(n):
    for i in range(n):
        await Pause()
        yield spin(i * 50)


class Guard:
    async def __aenter__(self):
        return spin(600)

    async def __aexit__(self, *_):
        await Pause()


async def chain(n):
    if n:
        return await chain(n - 1)
    async with Guard():
        await wait_once(1000)
    found = [value async for value in numbers(3)]
    async for value in numbers(3):
        spin(value % 100)
    return len(found)


def coroutines():
    coroutine = chain(5)
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


async def task(n):
    await asyncio.sleep(0)
    spin(n)
    await wait_once(n)


async def gather():
    await asyncio.gather(task(2000), task(3000), task(4000))


def event_loop():
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(gather())
    finally:
        loop.close()


# --- C between Python and Python ------------------------------------------------------------------

def by_remainder(n):
    return spin(n % 7 * 100)


def descending(a, b):
    return spin(100) * 0 + b - a


def add(a, b):
    return spin(300) + a + b


def upper(match):
    return match.group(0).upper() * (spin(500) % 2 + 1)


def callbacks():
    sorted(range(14), key=by_remainder)
    list(map(by_remainder, range(10)))
    sum(map(by_remainder, range(10)))
    list(filter(by_remainder, range(10)))
    max(range(10), key=by_remainder)
    functools.reduce(add, range(6))
    functools.partial(add, 3)(4)
    sorted([3, 1, 2, 5], key=functools.cmp_to_key(descending))
    re.sub("[a-c]", upper, "abcxyz")
    for _ in itertools.takewhile(lambda n: spin(n * 100) >= 0, range(5)):
        pass
    operator.methodcaller("work")(Shape(300))


def nested_key(n):
    return sum(sorted(range(3), key=by_remainder)) + n


def nested_callbacks():
    """Python, C, Python, C, Python."""
    sorted(range(4), key=nested_key)
    list(map(lambda n: max(map(by_remainder, range(n + 1))), range(4)))


def comprehensions():
    [spin(n * 100) for n in range(10)]
    {spin(n * 100): n for n in range(8)}
    {spin(n * 90) for n in range(8)}
    [[spin(m * 30) for m in range(n)] for n in range(6)]


# --- exceptions, with, exec -----------------------------------------------------------------------

class Trouble(Exception):
    pass


def fail(n):
    if n == 0:
        spin(800)
        raise Trouble("deep down")
    try:
        fail(n - 1)
    finally:
        spin(200)


def exceptions():
    try:
        fail(6)
    except Trouble:
        spin(1500)
        try:
            fail(2)
        except Trouble as error:
            spin(len(error.args))


class Doomed:
    def __init__(self):
        self.other = None

    def __del__(self):
        spin(900)


def forget():
    doomed = Doomed()
    return spin(300) + (doomed is None)


def called_back(_reference):
    spin(1100)


def destructors():
    forget()
    Doomed()
    one, other = Doomed(), Doomed()
    one.other, other.other = other, one
    del one, other
    gc.collect(0)
    kept = Doomed()
    reference = weakref.ref(kept, called_back)
    kept = None
    del reference


class Context:
    def __enter__(self):
        return spin(900)

    def __exit__(self, *_):
        return spin(800) < 0


@contextlib.contextmanager
def managed():
    spin(700)
    yield
    spin(600)


def contexts():
    with Context():
        spin(500)
        with managed():
            spin(1000)


DYNAMIC = """
def made(n):
    def within(m):
        return spin(m)
    return within(n)

class Fresh:
    def method(self):
        return made(1500)

made(1200)
Fresh().method()
"""
DYNAMIC_CODE = compile(DYNAMIC, "<dynamic>", "exec")
NAMED_CODE = compile("[spin(n) for n in (500, 600)]", "<élève>", "eval")


def dynamic():
    exec(DYNAMIC_CODE, {"spin": spin, "__name__": "dynamic"})
    eval(NAMED_CODE)


def transient():
    """Code that is gone before anybody can ask its name."""
    eval("spin(3000)")
    exec(DYNAMIC, {"spin": spin, "__name__": "transient"})


def añadir(n):
    return spin(n)


def names():
    """Strings of more than one byte a character, and long ones."""
    añadir(2000)
    globals()["long_name_" * 20](1500)


exec("def {0}(n):\n    return spin(n)\n".format("long_name_" * 20))


# --- the GIL given away ---------------------------------------------------------------------------

def compress_blob():
    return zlib.compress(BLOB, 6)


def hash_blob():
    return hashlib.sha256(BLOB).digest()


def released():
    compress_blob()
    hash_blob()


# --- another interpreter --------------------------------------------------------------------------

SUB_SCRIPT = """
def sub_inner(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total

def sub_outer(n, inner=sub_inner):
    return inner(n)  # long

for n in range(1500):
    sub_outer(3000)
"""
SUB_FILE = "<script>" if sys.version_info >= (3, 14) else "<string>"
RUN_SUB = []  # a C function, which has no frame of its own, and what it is to run


def make_subinterpreter():
    """What runs a script in a new interpreter, or None."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        return functools.partial(module.run_string, module.create())
    return None


def subinterpreter():
    RUN_SUB[0](RUN_SUB[1])


SCENARIOS = {function.__name__: function for function in (
    recursion, calls, closures, arguments, decorators, classes, specials, generators, coroutines,
    event_loop, callbacks, nested_callbacks, comprehensions, exceptions, contexts, dynamic, names,
    destructors, released, transient, deep, subinterpreter)}
OPTIONAL = ("transient", "deep", "subinterpreter")  # run when they are named


# --- the truth ------------------------------------------------------------------------------------

def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def lines_of(code):
    """0: it has instructions of no line."""
    if hasattr(code, "co_lines"):  # 3.10
        lines = {line or 0 for _, _, line in code.co_lines()}
    else:
        lines = {line for _, line in dis.findlinestarts(code)}
    return sorted(lines | {code.co_firstlineno})


def back_to_root(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back


class Truth:
    """Every stack that was traced, as a tree: a node is a function at a line, below its caller."""

    def __init__(self):
        self.functions = {}     # code -> id
        self.nodes = {}         # (parent node, function, line, via) -> id
        self.leaves = set()     # (parent node, function, via)
        self.local = threading.local()
        self.lock = threading.Lock()

    def function_id(self, code):
        return self.functions.setdefault(code, len(self.functions))

    def profile(self, frame, event, _arg):
        """For sys.setprofile. via: name of the C function between a frame and its caller."""
        local = self.local
        if not hasattr(local, "calls"):
            local.calls, local.c_calls = [], []
        if event == "call":
            caller = frame.f_back
            via = local.c_calls[-1][1] if local.c_calls and local.c_calls[-1][0] is caller else None
            local.calls.append((frame, via))
            self.record(frame, dict((id(f), v) for f, v in local.calls))
        elif event == "return":
            while local.calls and local.calls.pop()[0] is not frame:
                pass
        elif event == "c_call":
            local.c_calls.append((frame, getattr(_arg, "__name__", "?")))
        elif local.c_calls:
            local.c_calls.pop()

    def record(self, leaf, vias):
        with self.lock:
            parent = -1
            for frame in reversed(list(back_to_root(leaf.f_back))):
                function = self.function_id(frame.f_code)
                via = vias.get(id(frame))
                self.leaves.add((parent, function, via))  # before it calls, and after
                key = (parent, function, frame.f_lineno or 0, via)
                parent = self.nodes.setdefault(key, len(self.nodes))
            self.leaves.add((parent, self.function_id(leaf.f_code), vias.get(id(leaf))))

    def as_json(self):
        functions = [[name_of(code), code.co_filename, code.co_firstlineno, lines_of(code)]
                     for code in self.functions]
        return {"functions": functions, "nodes": list(self.nodes),
                "leaves": sorted(self.leaves, key=str)}


# --- running --------------------------------------------------------------------------------------

def thread_cpu():
    return time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)


class Plan:
    """Who runs what, how long, and what it took. Each thread has scenarios of its own."""

    def __init__(self, rounds, seconds):
        self.rounds = rounds
        self.end = time.monotonic() + seconds
        self.cpu = {}
        self.inside = []  # CPU seconds of each thread's worker()

    def goes_on(self, done):
        if self.rounds:
            return done < self.rounds
        return time.monotonic() < self.end


def worker(plan, names):
    done, entered = 0, thread_cpu()
    while plan.goes_on(done):
        for name in names:
            begin = thread_cpu()
            SCENARIOS[name]()
            plan.cpu[name] = plan.cpu.get(name, 0) + thread_cpu() - begin
        done += 1
    inside = thread_cpu() - entered
    plan.inside.append(inside)
    return inside


def settle(seconds):
    """Time for a profiler that has just seen this process; it costs little CPU time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        spin(10000)
        time.sleep(0.02)


def main(mode, seconds, names):
    if mode != "trace":
        settle(SETTLE_SECONDS)
    plan = Plan(TRACED_ROUNDS if mode == "trace" else 0, seconds)
    truth = Truth()
    shares = [names[i::3] for i in range(3)]
    threads = [threading.Thread(target=worker, args=(plan, share)) for share in shares[1:] if share]
    start_cpu, own_start = time.process_time(), thread_cpu()
    if mode == "trace":
        threading.setprofile(truth.profile)
        sys.setprofile(truth.profile)
    for thread in threads:
        thread.start()
    own_inside = worker(plan, shares[0])
    for thread in threads:
        thread.join()
    total_cpu = time.process_time()
    own_outside = thread_cpu() - own_start - own_inside
    sys.setprofile(None)
    if mode == "trace":
        return "TRUTH " + json.dumps(truth.as_json())
    return "RESULT " + json.dumps({
        "version": sys.version, "cpu_start": start_cpu, "cpu_total": total_cpu,
        "cpu_threads": total_cpu - start_cpu - own_outside - sum(plan.inside),
        "cpu": plan.cpu})


def run(mode, seconds, names):
    sys.setrecursionlimit(5000)
    if mode == "fork" and os.fork():
        os.wait()
        os._exit(0)
    names = names or [name for name in SCENARIOS if name not in OPTIONAL]
    if "subinterpreter" in names:
        made = make_subinterpreter()
        if not made:
            print("skip: this Python has no sub-interpreters")
            sys.exit(77)
        traced = exec, compile(SUB_SCRIPT, SUB_FILE, "exec")
        RUN_SUB.extend(traced if mode == "trace" else (made, SUB_SCRIPT))
    text = main(mode, float(seconds), names)
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.flush()
    if mode != "trace":
        time.sleep(LINGER_SECONDS)  # what it did last has names as long as it lives
    os._exit(0)  # what an interpreter does to end is not what is tested


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3:])

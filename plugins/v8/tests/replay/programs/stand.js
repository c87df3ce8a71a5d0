// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * stand.js SECONDS KIND...: threads that stay where they are, each in another kind of code. The kernel knows
 * them by their kinds. Prints "ready". One kind: on the main thread, as Node 8 has no other.
 */
const fs = require('fs');

const WARM = 20000;     // calls until a function is optimized
const EVER = -1;
const DEEP = 20;
let threads = null;
try {
    threads = require('worker_threads');
} catch (error) {
    threads = null;
}

const state = {count: 0};

function spin(turns) {
    do {
        for (let i = 0; i < 10; i++)
            state.count = (state.count + i) | 0;
    } while (turns === EVER);
    return state.count;
}

function ever() {
    spin(EVER);
}

// In C++.
function rest() {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

// Called once: a constructor, a getter, a static method, a generator, a closure, recursion.
class Shape {
    constructor(next) {
        this.next = next;
        this.area;
    }
    get area() {
        return Shape.measure(this.next);
    }
    static measure(next) {
        return Array.from(steps(next));
    }
}

function* steps(next) {
    const inner = (depth) => depth > 0 ? inner(depth - 1) : next();

    yield inner(3);
}

function plain(next) {
    new Shape(next);
}

// Called often; what is small is inlined.
function low(turns, next) {
    if (turns & 1)
        next();
    return turns & 3;
}

function middle(turns, next) {
    return low(turns, next) + low(turns & 7, next);
}

function outer(turns, next) {
    let sum = 0;

    for (let i = 0; i < 3; i++)
        sum += middle(turns, next);
    return sum;
}

const NEXT = [() => spin(0), () => state.count++, () => middle, () => outer, () => low];

function optimized(next) {
    for (let i = 0; i < WARM; i++)
        state.count += outer(i & 7, NEXT[i % NEXT.length]) + spin(0);
    outer(1, next);
}

// What it calls was never called before: the code of all three is given up, and they go on in the interpreter.
function seldom(turns, next) {
    return turns === EVER ? next() : turns;
}

function above(turns, next) {
    return seldom(turns, next) + 1;
}

function deoptimized(next) {
    for (let i = 0; i < WARM; i++)
        state.count += above(i & 7, next) + spin(0);
    above(EVER, next);
}

// C++ and builtins call them.
function compared(next) {
    return (a, b) => {
        JSON.parse('{"a": 1}', () => {
            'one two'.replace(/tw./g, () => {
                [1].forEach(function each() {
                    next();
                });
            });
        });
        return a - b;
    };
}

function callbacks(next) {
    [2, 1].sort(compared(next));
}

// JavaScript and builtins in turns.
function descend(depth, next) {
    return depth > 0 ? [depth].map(() => descend(depth - 1, next)) : next();
}

function deep(next) {
    descend(DEEP, next);
}

// WebAssembly core specification, 5: binary format. outer calls the imported function; burn(n) counts n down.
function section(id, bytes) {
    return [id, bytes.length, ...bytes];
}

function text(string) {
    return [string.length, ...Buffer.from(string)];
}

function instantiate(called) {
    const names = [3, 0, ...text('called'), 1, ...text('wasm_outer'), 2, ...text('burn')];
    const bytes = Buffer.from([
        0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
        ...section(1, [2, 0x60, 0, 0, 0x60, 1, 0x7f, 0]),
        ...section(2, [1, ...text('js'), ...text('called'), 0, 0]),
        ...section(3, [2, 0, 1]),
        ...section(7, [2, ...text('outer'), 0, 1, ...text('burn'), 0, 2]),
        ...section(10, [2, 4, 0, 0x10, 0, 0x0b,
                        14, 0, 0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x0b]),
        ...section(0, [...text('name'), ...section(1, names)]),
    ]);

    return new WebAssembly.Instance(new WebAssembly.Module(bytes), {js: {called}}).exports;
}

function wasm() {
    const module = instantiate(function called() {
        for (;;)
            module.burn(EVER);
    });

    module.burn(10);
    module.outer();
}

function mixed() {
    plain(() => optimized(() => callbacks(wasm)));
}

const kinds = {
    plain: () => plain(ever),
    optimized: () => optimized(ever),
    deoptimized: () => deoptimized(ever),
    callbacks: () => callbacks(ever),
    deep: () => deep(ever),
    resting: () => plain(() => callbacks(rest)),
    wasm,
    mixed,
};

function stand(kind) {
    fs.writeSync(fs.openSync('/proc/thread-self/comm', 'w'), kind);
    kinds[kind]();
}

function main() {
    const [seconds, ...wanted] = process.argv.slice(2);

    if (wanted.length > 1)
        wanted.forEach((kind) => new threads.Worker(__filename, {workerData: kind}));
    fs.writeSync(1, 'ready\n');
    if (wanted.length > 1)
        setTimeout(() => process.exit(0), 1000 * Number(seconds));
    else
        stand(wanted[0]);
}

if (threads && !threads.isMainThread)
    stand(threads.workerData);
else
    main();

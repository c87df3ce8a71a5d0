// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * climb.js SECONDS [REST]: a stack of JavaScript functions and builtins that is deeper than what BPF walks in one
 * run. Prints which stack its time is spent in; the grammar is in tests/kit/stacks.py. Rests first, so long as it
 * may take to attach to it.
 */
const fs = require('fs');

const TURNS = 8; // of Array.prototype.map, one in the other
const CALLS = 15; // functions in each
const V8 = 'Builtins_*|v8::*|node::*|*+0x*+';
const BUILTINS = '?Builtins_*+'; // TurboFan has map within its caller

function spin(n) {
    let x = n | 1;

    for (let i = 0; i < n; i++)
        x = (Math.imul(x, 1664525) + i) | 0;
    return x;
}

function climb(calls) {
    if (calls % CALLS)
        return climb(calls - 1) | 0;
    return calls ? [calls - 1].map(mapped)[0] | 0 : spin(300000);
}

function mapped(calls) {
    return climb(calls) | 0;
}

function main() {
    const end = Date.now() + 1000 * Number(process.argv[2]);

    while (Date.now() < end)
        climb(CALLS * TURNS - 1);
}

function stack() {
    const turn = `climb{${CALLS}}`;

    return `?${V8} spin ${turn}${` mapped ${BUILTINS} ${turn}`.repeat(TURNS - 1)} main ...`;
}

fs.writeSync(1, `STACK ${stack()}\n`);
if (process.argv[3])
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000 * Number(process.argv[3]));
main();
const used = process.cpuUsage();
fs.writeSync(1, `CPU ${((used.user + used.system) / 1e6).toFixed(3)}\n`);

// SPDX-License-Identifier: Apache-2.0
'use strict';
// depth.js one|many|builtin DEPTH: prints "ready", then spends its time below so many calls: of one function that
// calls itself, of sixteen in turn, or of one that Array.prototype.map calls. All were called often before.
const [kind, depth] = [process.argv[2], Number(process.argv[3])];
const WARM_CALLS = 3000, WARM_DEPTH = 20, LONG = 2e7;
let sink = 0;

function spin(times) {
    let x = times;

    for (let i = 0; i < times; i++)
        x = (Math.imul(x, 1103515245) + 12345) | 0;
    return x;
}

function one(left, times) {
    return left > 1 ? (one(left - 1, times) + 1) | 0 : spin(times);
}

// Sixteen functions, each with code of its own.
const many = [];
for (let i = 0; i < 16; i++) {
    many.push(new Function('many', 'spin', `return function many${i}(left, times) {
        return left > 1 ? (many[${(i + 1) % 16}](left - 1, times) + ${i}) | 0 : spin(times);
    }`)(many, spin));
}

function builtin(left, times) {
    return left > 1 ? [left].map(() => builtin(left - 1, times))[0] : spin(times);
}

const down = {one, many: many[0], builtin}[kind];
for (let i = 0; i < WARM_CALLS; i++)
    sink ^= down(WARM_DEPTH, 10);
require('fs').writeSync(1, 'ready\n');
for (;;)
    sink ^= down(depth, LONG);

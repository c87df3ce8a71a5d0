// SPDX-License-Identifier: Apache-2.0
'use strict';
// shares.js SECONDS: functions of different share: loops of numbers, recursion, objects that die young and old ones,
// methods that are inlined, builtins that call back, generators, text, regular expressions, code that runs seldom.
let sink = 0;

function multiply(size) {
    const a = new Float64Array(size * size).fill(1.5), c = new Float64Array(size * size);

    for (let i = 0; i < size; i++) {
        for (let j = 0; j < size; j++) {
            let sum = 0;

            for (let k = 0; k < size; k++)
                sum += a[i * size + k] * a[k * size + j];
            c[i * size + j] = sum;
        }
    }
    return c[size];
}

function fibonacci(n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

class Point {
    constructor(x, y) {
        this.x = x;
        this.y = y;
    }

    plus(other) {
        return new Point(this.x + other.x, this.y + other.y);
    }

    get norm() {
        return Math.sqrt(this.x * this.x + this.y * this.y);
    }
}

function walk(steps) {
    let at = new Point(0, 0);
    const step = new Point(0.5, -0.25);

    for (let i = 0; i < steps; i++)
        at = at.plus(step);
    return at.norm;
}

function compare(a, b) {
    return a.key - b.key || a.name.length - b.name.length;
}

function sorted(n) {
    const list = [];

    for (let i = 0; i < n; i++)
        list.push({key: Math.imul(i, 2654435761) >>> 20, name: 'n' + i});
    return list.sort(compare)[n >> 1].key;
}

function* numbers(n) {
    for (let i = 0; i < n; i++)
        yield i;
}

function addUp(n) {
    let sum = 0;

    for (const i of numbers(n))
        sum += i;
    return sum;
}

function hash(text) {
    let h = 0;

    for (let i = 0; i < text.length; i++)
        h = (Math.imul(h, 31) + text.charCodeAt(i)) | 0;
    return h;
}

function words(n) {
    let text = '';

    for (let i = 0; i < n; i++)
        text += ' word' + i % 97;
    return hash(text.replace(/d(\d+)/g, (all, digits) => digits)) + text.split(' ').length;
}

function tree(depth) {
    return depth ? {left: tree(depth - 1), right: tree(depth - 1), depth} : null;
}

function countOf(node) {
    return node ? 1 + countOf(node.left) + countOf(node.right) : 0;
}

function chained(n) {
    const list = Array.from({length: n}, (_, i) => i);

    return list.map((x) => x * 3).filter((x) => x & 1).reduce((sum, x) => sum + x, 0);
}

const kept = [];
function round(number) {
    sink += multiply(60) + fibonacci(20) + walk(20000) + sorted(1500) + addUp(8000) + words(1500) + chained(6000);
    kept[number % 20] = tree(10);
    sink += countOf(kept[number % 20]);
}

const end = Date.now() + 1000 * Number(process.argv[2]);
for (let number = 0; Date.now() < end; number++)
    round(number);

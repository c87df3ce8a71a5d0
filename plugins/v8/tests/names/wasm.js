// SPDX-License-Identifier: Apache-2.0
'use strict';
// wasm.js SECONDS: burns CPU time in a module of two functions, "outer", which calls "inner"; by their name section.
const text = word => [word.length, ...Buffer.from(word)];
const section = (id, content) => [id, content.length, ...content];
const body = code => [code.length, ...code];
const outer = [0, 0x03, 0x40, 0x20, 0, 0x10, 1, 0x1a, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 0, 0x0b];
const inner = [1, 1, 0x7f, 0x41, 0x80, 0x08, 0x21, 1, 0x03, 0x40, 0x20, 1, 0x41, 1, 0x6b, 0x22, 1, 0x0d, 0, 0x0b,
               0x20, 0, 0x0b];
const bytes = Uint8Array.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]), ...section(3, [2, 0, 0]),
    ...section(7, [1, ...text('run'), 0, 0]), ...section(10, [2, ...body(outer), ...body(inner)]),
    ...section(0, [...text('name'), ...section(1, [2, 0, ...text('outer'), 1, ...text('inner')])]),
]);
const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes));
const end = Date.now() + Number(process.argv[2]) * 1000;

console.log('ready');
while (Date.now() < end)
    instance.exports.run(1000);

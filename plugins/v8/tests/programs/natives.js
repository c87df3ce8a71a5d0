// SPDX-License-Identifier: Apache-2.0
'use strict';
// Code that is not JavaScript: an addon in C (addon.c), a module of WebAssembly.
const {spin} = require('./common.js'); //> @module!

exports.addon = null;

//@ native
function load(file) { //= load
    exports.addon = require(file);
}

function nativeTurn() { //= nativeTurn turn
    let sum = 0;

    for (let i = 0; i < 10; i++) {
        sum += exports.addon.work(20000); //> addon_work!
        sum += exports.addon.across(spin, 500); //> addon_across!
    }
    return sum;
}

//@ driver
function section(id, bytes) { //= section
    return [id, bytes.length, ...bytes];
}

function text(string) { //= text
    return [string.length, ...Buffer.from(string)];
}

function code(locals, bytes) { //= code
    const body = [...locals, ...bytes, 0x0b];

    return [body.length, ...body];
}

function named(names) { //= named
    let bytes = [names.length];

    names.forEach( //> ~naming?
        (name, i) => { //= ~naming
            bytes = bytes.concat([i], text(name)); //> text
        });
    return bytes;
}

// WebAssembly core specification, 5: binary format. wasm_burn(n) counts down from n in a loop; wasm_outer
// calls it; wasm_back calls the imported function.
function assemble() { //= assemble
    const I32 = 0x7f, names = named(['called', 'wasm_burn', 'wasm_outer', 'wasm_back']); //> named
    const burn = [0x03, 0x40, // loop: x = x * 31 + n; n = n - 1; again while n
                  0x20, 1, 0x41, 31, 0x6c, 0x20, 0, 0x6a, 0x21, 1,
                  0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1];

    return Buffer.from([
        0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
        ...section(1, [1, 0x60, 1, I32, 1, I32]), //> section
        ...section(2, [1, ...text('js'), ...text('called'), 0, 0]), //> section text
        ...section(3, [3, 0, 0, 0]), //> section
        ...section(7, [2, ...text('outer'), 0, 2, ...text('back'), 0, 3]), //> section text
        ...section(10, [3, ...code([1, 1, I32], burn), //> section code
                        ...code([0], [0x20, 0, 0x10, 1, 0x41, 1, 0x6a]), //> code
                        ...code([0], [0x20, 0, 0x10, 0, 0x41, 2, 0x6a])]), //> code
        ...section(0, [...text('name'), 1, names.length, ...names]), //> section text
    ]);
}

//@ wasm
//= wasm wasm_burn
//= wasm wasm_outer > wasm_burn
//= wasm wasm_back > called?
function called(n) { //= called
    return spin(n); //> spin
}

let wasm = null;

function wasmTurn() { //= wasmTurn turn
    let sum = 0;

    for (let i = 0; i < 10; i++) {
        sum += wasm.outer(20000); //> wasm_outer?
        sum += wasm.back(1000); //> wasm_back?
    }
    return sum;
}

//@ driver
function prepareWasm() { //= prepareWasm
    const module = new WebAssembly.Module(assemble()); //> assemble

    wasm = new WebAssembly.Instance(module, {js: {called}}).exports;
    return wasm.outer(10); //> wasm_outer?
}

function prepareNative() { //= prepareNative
    if (!exports.addon) {
        throw new Error('no addon');
    }
}

exports.load = load;
exports.scenarios = {native: nativeTurn, wasm: wasmTurn};
exports.prepare = {native: prepareNative, wasm: prepareWasm};

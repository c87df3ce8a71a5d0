// SPDX-License-Identifier: Apache-2.0
'use strict';
// Code of each tier, by how often it runs: fresh functions are interpreted, loops are replaced on the stack,
// what was assumed of values and methods turns out wrong.
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const {spin} = require('./common.js'); //> @module!

const FRESH = path.join(__dirname, 'fresh.js');
const TEXT = fs.readFileSync(FRESH, 'utf8');
let made = 0;

//@ fresh
function make() { //= make
    made++;
    return new vm.Script(TEXT + '\n// ' + made, {filename: FRESH}).runInThisContext(); //> @module!
}

//@ young
function youngTurn() { //= youngTurn turn
    let sum = 0;

    for (let i = 0; i < 3; i++) {
        sum += make()(spin, 'young'); //> make fresh
    }
    return sum;
}

//@ looped
function loopedTurn() { //= loopedTurn turn
    return make()(spin, 'looped'); //> make fresh
}

//@ eager
function eagerTurn() { //= eagerTurn turn
    return make()(spin, 'eager'); //> make fresh
}

//@ lazy
function lazyTurn() { //= lazyTurn turn
    return make()(spin, 'lazy'); //> make fresh
}

//@ hot
function small(x) { //= small
    return Math.imul(x, 31) ^ (x >>> 7);
}

function medium(x) { //= medium
    let y = x;

    for (let i = 0; i < 30; i++) {
        y = small(y + i); //> small
    }
    return y;
}

function hotTurn() { //= hotTurn turn
    let sum = 0;

    for (let i = 0; i < 5000; i++) {
        sum ^= medium(i); //> medium
    }
    return sum + spin(100); //> spin
}

exports.scenarios = {
    young: youngTurn, looped: loopedTurn, eager: eagerTurn, lazy: lazyTurn, hot: hotTurn,
};

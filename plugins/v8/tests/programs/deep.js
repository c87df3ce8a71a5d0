// SPDX-License-Identifier: Apache-2.0
'use strict';
// Recursion, exceptions thrown deep down, and turns between JavaScript and C++.
const path = require('path');
const vm = require('vm');
const {spin, state} = require('./common.js'); //> @module!
const natives = require('./natives.js'); //> @module!

//@ deep500
function descend(left) { //= descend
    if (left > 1) {
        return descend(left - 1) + 1; //> descend
    }
    return bottom(); //> bottom
}

function bottom() { //= bottom # descend=500
    let sum = 0;

    for (let i = 0; i < 10; i++) {
        sum += spin(20000); //> spin
    }
    return sum;
}

function deepTurn() { //= deepTurn turn
    return descend(500); //> descend
}

//@ thrown
function fall(left) { //= fall
    if (left === 1) {
        return fail(); //> fail
    }
    try {
        return fall(left - 1) + 1; //> fall
    } catch (error) {
        if (left % 20 === 0) {
            throw new Error('again');
        }
        throw error;
    } finally {
        state.sink++;
    }
}

function fail() { //= fail # fall=40
    spin(3000); //> spin
    throw new TypeError('at the bottom');
}

function thrownTurn() { //= thrownTurn turn
    let sum = 0;

    for (let i = 0; i < 5; i++) {
        try {
            fall(40); //> fall
        } catch (error) {
            sum += error.message.length;
        }
    }
    return sum;
}

//@ turns64
// 64 turns: a reviver, a replace callback, a script of another context, C.
const INSIDE = path.join(__dirname, 'inside.js');
const context = vm.createContext({back: hopped, result: 0});
const script = new vm.Script(require('fs').readFileSync(INSIDE, 'utf8'), {filename: INSIDE});
let remaining = 0;

function byReviver(left) { //= byReviver
    return JSON.parse('1', //> ~reviving!
        () => hop(left - 1)); //= ~reviving > hop
}

function byReplace(left) { //= byReplace
    return 'x'.replace(/x/, //> ~replacing!
        () => hop(left - 1)).length; //= ~replacing > hop
}

function byContext(left) { //= byContext
    remaining = left - 1;
    return script.runInContext(context); //> @module!
}

function hopped() { //= hopped
    return hop(remaining); //> hop
}

function byAddon(left) { //= byAddon
    return natives.addon.across(hop, left - 1); //> addon_across!
}

function hop(left) { //= hop
    if (left === 0) {
        return turned(); //> turned
    }
    switch (left % 4) {
    case 0:
        return byReviver(left); //> byReviver
    case 1:
        return byReplace(left); //> byReplace
    case 2:
        return byContext(left); //> byContext
    default:
        return natives.addon ? byAddon(left) : byReviver(left); //> byAddon byReviver
    }
}

function turned() { //= turned # hop=65
    return spin(100000) | 1; //> spin
}

function turnsTurn() { //= turnsTurn turn
    return hop(64); //> hop
}

exports.scenarios = {deep500: deepTurn, thrown: thrownTurn, turns64: turnsTurn};

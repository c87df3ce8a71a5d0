// SPDX-License-Identifier: Apache-2.0
'use strict';
// What all scenarios share. Comments in the form of a call or a name are the truth that profiles are judged
// by: ../live/calls.py explains them.
const fs = require('fs');

const state = {sink: 0, observing: 0, over: false};

// A leaf for all: some microseconds of work.
//@ leaf
function spin(rounds) { //= spin
    let x = rounds | 1;

    for (let i = 0; i < rounds; i++) {
        x = (Math.imul(x, 1664525) + i) | 0;
        x ^= x >>> 15;
    }
    if (state.observing > 0) {
        observe(); //> observe
    }
    state.sink = x;
    return x;
}

function callsOf(error, sites) { //= callsOf
    return sites;
}

function isReal(site) { //= isReal
    return !site.isAsync || !site.isAsync();
}

function callOf(site) { //= callOf
    return [site.getFunctionName() || '', site.getFileName() || '', site.getLineNumber() || 0];
}

// What V8 says of the calls of this thread, leaf first. V8 makes tables of lines when it is asked for lines:
// from here on it has those of all functions on this stack.
function observe() { //= observe
    const prepare = Error.prepareStackTrace, holder = {};

    state.observing--;
    Error.prepareStackTrace = callsOf;
    Error.captureStackTrace(holder); //> callsOf?
    const calls = holder.stack.filter(isReal).map(callOf); //> callsOf? isReal? callOf?
    Error.prepareStackTrace = prepare;
    return calls.length;
}

// A line that fits into a pipe's PIPE_BUF is whole, whichever threads write: no others with workers.
function say(line) { //= say
    let rest = Buffer.from(line + '\n');

    while (rest.length) {
        try {
            rest = rest.slice(fs.writeSync(1, rest));
        } catch (error) {
            if (error.code !== 'EAGAIN') { // workers make it non-blocking
                throw error;
            }
        }
    }
}

// Never called: a name that no profile may have.
function never(rounds) { //= never
    return spin(rounds) + spin(rounds + 1); //> spin
}

Error.stackTraceLimit = Infinity;
module.exports = {state, spin, observe, say, never};

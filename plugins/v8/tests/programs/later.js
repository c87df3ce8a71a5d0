// SPDX-License-Identifier: Apache-2.0
'use strict';
// What goes on when the stack it began on is gone: async functions, promises, timers.
const {spin} = require('./common.js'); //> @module!

//@ asyncs
async function stepped(n) { //= stepped entry
    spin(500); //> spin
    await null;
    spin(500 + n); //> spin
    return n;
}

async function awaiting(n) { //= awaiting entry
    let sum = 0;

    for (let i = 0; i < n; i++) {
        sum += await stepped(i); //> stepped?
        sum += spin(300); //> spin
    }
    return sum;
}

async function asyncsTurn() { //= asyncsTurn turn entry
    const sums = await Promise.all([awaiting(8), awaiting(8)]); //> awaiting?

    return sums[0] + spin(300); //> spin
}

//@ promises
function settled(x) { //= settled entry
    return spin(500) && x; //> spin
}

function failed() { //= failed entry
    return spin(500); //> spin
}

function executor(resolve, reject) { //= executor
    (spin(500) & 1 ? resolve : reject)(1); //> spin
}

function promisesTurn() { //= promisesTurn turn
    let last = new Promise(executor).then(settled, failed); //> executor?

    for (let i = 0; i < 15; i++) {
        last = last.then(settled).then(
            () => { //= ~raised entry
                spin(200); //> spin
                throw new Error('to be caught');
            }).catch(failed);
    }
    return last;
}

//@ timed
function timedTurn() { //= timedTurn turn
    return new Promise( //> ~timing?
        (resolve) => { //= ~timing
            let left = 6;

            function ticked() { //= ticked entry
                spin(30000); //> spin
                if (left-- === 0) {
                    resolve(left);
                } else if (left % 3 === 0) {
                    setTimeout(ticked, 0);
                } else if (left % 3 === 1) {
                    setImmediate(ticked);
                } else {
                    process.nextTick(ticked);
                }
            }
            process.nextTick(ticked);
        });
}

exports.scenarios = {asyncs: asyncsTurn, promises: promisesTurn, timed: timedTurn};

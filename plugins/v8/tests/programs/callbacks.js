// SPDX-License-Identifier: Apache-2.0
'use strict';
// Functions that builtins and C++ call, and leaves that are no functions of JavaScript.
const {spin} = require('./common.js'); //> @module!

const LIST = Array.from({length: 25}, (unused, i) => i); //= ~index
const UNSORTED = LIST.map((i) => (i * 7919) % 101); //= ~mixed

//@ arrays
function mapped(x) { //= mapped
    return spin(300 + x); //> spin
}

function added(sum, x) { //= added
    return sum + spin(300 + x); //> spin
}

function kept(x) { //= kept
    return spin(300 + x) > 0; //> spin
}

function compared(a, b) { //= compared
    return (spin(200) & 1) + a - b; //> spin
}

function arraysTurn() { //= arraysTurn turn
    let sum = 0;

    sum += LIST.map(mapped).length; //> mapped?
    sum += LIST.reduce(added, 0); //> added?
    sum += UNSORTED.slice().sort(compared)[0]; //> compared!
    LIST.forEach( //> ~each?
        (x) => { //= ~each
            sum += spin(300 + x); //> spin
        });
    return sum + LIST.filter(kept).length; //> kept?
}

//@ strings
function revived(key, value) { //= revived
    return spin(400) && value; //> spin
}

function replaced(match) { //= replaced
    return match + (spin(400) & 1); //> spin
}

const described = {
    toJSON() { //= toJSON
        return spin(400); //> spin
    },
    valueOf() { //= valueOf
        return spin(400); //> spin
    },
};

function stringsTurn() { //= stringsTurn turn
    let sum = 0;

    for (let i = 0; i < 8; i++) {
        sum += JSON.parse('{"a": [1, 2], "b": 3}', revived).b; //> revived!
        sum += 'one two three'.replace(/t./g, replaced).length; //> replaced!
        sum += 'one two three'.replace('two', replaced).length; //> replaced!
        sum += JSON.stringify([described, described]).length; //> toJSON!
        sum += described + 1; //> valueOf?
    }
    return sum;
}

//@ iterated
const iterable = {
    [Symbol.iterator]() { //= ~iterator
        let left = 12;

        return {
            next() { //= next
                return {done: left-- === 0, value: spin(250)}; //> spin
            },
        };
    },
};
const MAP = new Map([[1, 2], [3, 4], [5, 6]]);

function visited(value, key) { //= visited
    return spin(value + key + 300); //> spin
}

function iteratedTurn() { //= iteratedTurn turn
    let sum = 0;

    for (let i = 0; i < 5; i++) {
        sum += [...iterable].length; //> ~iterator? next?
        sum += Array.from(iterable).length; //> ~iterator? next?
        MAP.forEach(visited); //> visited?
    }
    return sum;
}

//@ regexps
const WORD = /(?:a+)+b|(?:c|cc)+d/;
const SUBJECT = 'a'.repeat(14) + 'c'.repeat(14);

function regexpsTurn() { //= regexpsTurn turn
    let sum = 0;

    for (let i = 0; i < 2; i++) {
        sum += WORD.test(SUBJECT);
        sum += SUBJECT.split(/c(?=c)/).length;
    }
    return sum + spin(100); //> spin
}

exports.scenarios = {
    arrays: arraysTurn, strings: stringsTurn, iterated: iteratedTurn, regexps: regexpsTurn,
};

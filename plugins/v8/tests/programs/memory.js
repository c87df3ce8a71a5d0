// SPDX-License-Identifier: Apache-2.0
'use strict';
// What collectors have to do with.
const {spin} = require('./common.js'); //> @module!

//@ allocating
class Node {
    constructor(next, words) { //= new Node
        this.next = next;
        this.value = new Array(words).fill(words);
    }
}

function grown(nodes) { //= grown
    let head = null;

    for (let i = 0; i < nodes; i++) {
        head = new Node(i % 16 === 0 ? head : null, i & 31); //> Node?
    }
    return head;
}

let kept = null;

function allocatingTurn() { //= allocatingTurn turn
    kept = grown(8000); //> grown
    return spin(300) + (kept === null); //> spin
}

//@ texts
function joined(n) { //= joined
    let text = '';

    for (let i = 0; i < n; i++) {
        text += 'part ' + i;
    }
    return text;
}

function textsTurn() { //= textsTurn turn
    return joined(3000).indexOf('part 2999x') + spin(300); //> joined spin
}

exports.scenarios = {allocating: allocatingTurn, texts: textsTurn};

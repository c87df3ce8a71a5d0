// SPDX-License-Identifier: Apache-2.0
'use strict';
// Syntax that older releases do not have: private methods, class fields, static blocks, async generators.
const {spin} = require('./common.js'); //> @module!

//@ newer
//= Hidden.<instance_members_initializer>
//= Hidden.<static_initializer>
//= new Hidden > <instance_members_initializer>?
class Hidden { //> <static_initializer>?
    #count = 1;

    static total = 0;

    static {
        Hidden.total = 1;
    }

    #secret(n) { //= Hidden.#secret
        return spin(n + this.#count); //> spin
    }

    get #part() { //= get Hidden.#part
        return spin(400); //> spin
    }

    show(n) { //= Hidden.show
        return this.#secret(n) + this.#part; //> #secret #part?
    }

    arrow = (n) => spin(n); //= arrow > spin
}

async function* streamed(n) { //= streamed entry
    for (let i = 0; i < n; i++) {
        yield spin(400); //> spin
    }
}

async function newerTurn() { //= newerTurn turn entry
    const hidden = new Hidden(); //> Hidden?
    let sum = 0;

    for (let i = 0; i < 20; i++) {
        sum += hidden.show(400); //> show
        sum += hidden.arrow(300); //> arrow
    }
    for await (const n of streamed(10)) { //> streamed?
        sum += n ?? 0;
    }
    return sum;
}

exports.scenarios = {newer: newerTurn};

// SPDX-License-Identifier: Apache-2.0
// Run by deep.js in a context of its own.
//@ turns64
function enter() { //= enter
    return back(); //> hopped
}

enter(); //> enter

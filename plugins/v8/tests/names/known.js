// SPDX-License-Identifier: Apache-2.0
'use strict';
// Functions that live.py knows by name and line, as the comments say behind them. Ünïcödé: €.
function leafAdd(a, b) { //= leafAdd
    return a + b;
}
function middle(a) { //= middle
    let sum = 0;
    for (let i = 0; i < 20; i++)
        sum = leafAdd(sum, a); //> leafAdd
    return sum;
}
function outer(n) { //= outer
    let sum = 0;
    for (let i = 0; i < n; i++)
        sum += middle(i); //> middle
    return sum;
}
class Shape {
    constructor(side) { this.side = side; } //= new Shape
    twice() { return this.side * 2; } //= Shape.twice
    get half() { return this.side / 2; } //= get Shape.half
    set half(value) { this.side = value * 2; } //= set Shape.half
    static make(side) { return new Shape(side); } //= static Shape.make
}
class Square extends Shape { //= new Square
    area() { return this.side * this.side; } //= Square.area
    other() { return super.twice(); } //= Square.other
}
const Named = class { //= new Named
    size() { return 1; } //= Named.size
};
const holder = {
    method() { return 1; }, //= method
    property: function () { return 2; }, //= property
    ['com' + 'puted']() { return 3; }, //= ~holder.<computed>
};
const arrow = () => 4; //= arrow
const schön = function () { return 5; }; //= schön
function* generator() { //= generator
    yield 1;
}
function anonymousOne() { //= anonymousOne
    return (() => 6)(); //= ~
}
holder.late = function () { return 7; }; //= holder.late
function hot(seconds) { //= hot
    const end = Date.now() + seconds * 1000;
    let sum = 0;
    while (Date.now() < end)
        sum += outer(50); //> outer
    return sum;
}

const one = new Square(3);
for (let i = 0; i < 3; i++) {
    one.twice(); one.half; one.half = 4; one.area(); one.other(); Shape.make(1);
    new Named().size(); holder.method(); holder.property(); holder.computed(); arrow(); schön();
    Array.from(generator()); anonymousOne(); holder.late();
}
const begin = process.cpuUsage().user;
while (process.cpuUsage().user - begin < 1e6 * Number(process.argv[2]))
    hot(0.05);
console.log('ready');
setTimeout(function () { console.log('done'); }, 120000); //= ~timer

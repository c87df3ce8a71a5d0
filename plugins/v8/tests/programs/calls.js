// SPDX-License-Identifier: Apache-2.0
'use strict';
// Calls of all kinds: closures, classes, constructors, accessors, generators, proxies.
const {spin} = require('./common.js'); //> @module!

//@ closures
function scale(factor) { //= scale
    function inner(n) { //= inner
        return spin(n * factor); //> spin
    }
    return inner;
}

const scales = [2, 3, 5].map(scale); //> scale?
const lambda = (n) => spin(n + 3); //= lambda > spin

function closuresTurn() { //= closuresTurn turn
    let sum = 0;

    for (let i = 0; i < 20; i++) {
        for (const one of scales) {
            sum += one(400 + i); //> inner
        }
        sum += lambda(900); //> lambda
    }
    return sum;
}

//@ classes
class Shape {
    constructor(side) { //= new Shape
        this.length = spin(side) & 7; //> spin
    }

    get side() { //= get Shape.side
        return spin(300 + this.length); //> spin
    }

    set side(value) { //= set Shape.side/=
        this.length = spin(value) & 7; //> spin
    }

    area() { //= Shape.area
        const side = this.side; //> side?

        return side * side;
    }

    static unit() { //= static Shape.unit
        return new Shape(500); //> Shape?
    }
}

class Square extends Shape {
    constructor(side) { //= new Square
        super(side + 1); //> Shape?
        this.squares = spin(side); //> spin
    }

    area() { //= Square.area/2
        return super.area() + spin(400); //> area spin
    }
}

function surface(shape) { //= surface
    return shape.area(); //> area area/2
}

function classesTurn() { //= classesTurn turn
    let sum = 0;

    for (let i = 0; i < 15; i++) {
        const shape = Shape.unit(); //> unit
        const square = new Square(400); //> Square?

        shape.side = 300; //> side/=?
        sum += surface(shape); //> surface
        sum += surface(square); //> surface
    }
    return sum;
}

//@ adapted
function three(a, b, c) { //= three
    return spin(a + (b | 0) + (c | 0)); //> spin
}

function rest(first, ...more) { //= rest
    return spin(first + more.length); //> spin
}

function sloppy() { //= sloppy
    return three.apply(this, arguments); //> three?
}

const bound = three.bind(null, 200);

function adaptedTurn() { //= adaptedTurn turn
    let sum = 0;

    for (let i = 0; i < 15; i++) {
        sum += three(500); //> three?
        sum += three(100, 200, 300, 400, 500); //> three?
        sum += rest(300, 1, 2, 3); //> rest?
        sum += rest(...[400, 5]); //> rest?
        sum += sloppy(300, 100); //> sloppy?
        sum += bound(300); //> three?
        sum += three.call(null, 500, i); //> three?
        sum += Reflect.apply(three, null, [500, i]); //> three?
    }
    return sum;
}

//@ generators
function* numbers(n) { //= numbers
    for (let i = 0; i < n; i++) {
        spin(300); //> spin
        yield i;
    }
}

function* delegated(n) { //= delegated
    yield* numbers(n); //> numbers?
    spin(200); //> spin
    yield* [1, 2];
}

function generatorsTurn() { //= generatorsTurn turn
    let sum = 0;

    for (const n of delegated(40)) { //> delegated?
        sum += n;
    }
    for (const n of numbers(20)) { //> numbers?
        sum += n;
    }
    return sum;
}

//@ proxies
const target = {field: 1};
const proxy = new Proxy(target, {
    get: function trapped(object, name) { //= trapped
        return spin(300) + object[name]; //> spin
    },
    has: function asked() { //= asked
        return spin(300) !== 0; //> spin
    },
});

function proxiesTurn() { //= proxiesTurn turn
    let sum = 0;

    for (let i = 0; i < 30; i++) {
        sum += proxy.field; //> trapped?
        sum += 'field' in proxy; //> asked?
        sum += spin(100); //> spin
    }
    return sum;
}

exports.scenarios = {
    closures: closuresTurn, classes: classesTurn, adapted: adaptedTurn, generators: generatorsTurn,
    proxies: proxiesTurn,
};

// SPDX-License-Identifier: Apache-2.0
// Run by tiers.js, as a new script each time: functions that V8 has never seen.
//@ fresh
(function fresh(spin, kind) { //= fresh
    function young(n) { //= young
        let sum = 0;

        for (let i = 0; i < n; i++) {
            sum = (sum * 31 + i) & 0xffffff;
        }
        return sum + spin(100); //> spin
    }

    // One call, one long loop: compiled while it runs, and entered in its middle.
    function looped(n) { //= looped
        let sum = 0;

        for (let i = 0; i < n; i++) {
            sum = (sum ^ (sum >>> 3)) + turned1(i) | 0; //> turned1
        }
        return sum + spin(100); //> spin
    }

    function turned1(i) { //= turned1
        return (i * 7 & 255) + 1;
    }

    // Numbers of a kind that the compiled code was not made for.
    function fickle(list) { //= fickle
        let sum = 0;

        for (const one of list) {
            sum += one.value;
        }
        return typeof sum === 'number' ? sum + spin(50) : spin(60); //> spin
    }

    function eager(n) { //= eager
        const lists = [[{value: 1}], [{value: 1.5}], [{other: 1, value: 2}], [{value: 'x'}]];
        let sum = 0;

        for (const list of lists) {
            for (let i = 0; i < n; i++) {
                sum += fickle(list); //> fickle
            }
        }
        return sum;
    }

    // A method that is replaced while its callers, compiled, are on the stack.
    //= new Changing
    class Changing {
        step(i) { //= Changing.step
            return spin(60 + (i & 3)); //> spin
        }
    }

    function quiet() { //= quiet
        return '';
    }

    function changing() { //= changing
        Changing.prototype.step =
            function stepped2(j) { //= stepped2
                return spin(70 + (j & 3)); //> spin
            };
        spin(20000); //> spin
        return '';
    }

    // What it goes through is never made one with it.
    function caller(object, i, act) { //= caller
        const length = 'x'.replace('x', act).length; //> quiet! changing!

        return object.step(i) + length; //> step stepped2
    }

    function lazy(n) { //= lazy
        const object = new Changing(); //> Changing?
        let sum = 0;

        for (let i = 0; i < n; i++) {
            sum += caller(object, i, i === n - 10 ? changing : quiet); //> caller
        }
        return sum;
    }

    switch (kind) {
    case 'young':
        return young(3000); //> young
    case 'looped':
        return looped(2000000); //> looped
    case 'eager':
        return eager(2500); //> eager
    default:
        return lazy(9000); //> lazy
    }
})

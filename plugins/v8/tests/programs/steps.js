// Work that runs much of V8's builtins, in turns, until it is killed or has had a minute of CPU time.
'use strict';
function Point(x, y) { this.x = x; this.y = y; }
Point.prototype.sum = function () { return this.x + this.y; };
class Base { constructor(...all) { this.all = all; } get size() { return this.all.length; } }
class Derived extends Base { constructor(a, ...rest) { super(...rest, a); } }
function three(a, b, c) { return a + (b || 0) + (c || 0); }
function apply() { return three.apply(this, arguments); }
function spread(...all) { return Math.max(...all, all.length); }
function* count(n) { for (let i = 0; i < n; i++) yield i; }
function thrower(i) { if (i % 3 == 0) throw new Error('x' + i); return i; }
const bound = three.bind(null, 1, 2), numbers = [], words = [];
for (let i = 0; i < 40; i++) { numbers.push((i * 7919) % 101); words.push('w' + (i * 31) % 17); }
const turns = [
  () => numbers.slice().sort((a, b) => a - b)[3],
  () => words.slice().sort()[2] + words.join('-'),
  () => numbers.map((x) => x * 2).filter((x) => x % 3).reduce((a, b) => a + b, 0),
  () => 'a1b22c333'.replace(/\d+/g, (m) => m.length) + /(b+)(c+)/.exec('abbcc')[1],
  () => JSON.parse(JSON.stringify({ a: numbers, b: words, c: { d: 1.5 } })).a.length,
  () => { const m = new Map(); for (const w of words) m.set(w, (m.get(w) || 0) + 1); return [...m.keys()].length; },
  () => { const s = new Set(words); s.delete('w1'); let n = 0; s.forEach((x) => { n += x.length; }); return n; },
  () => apply(1, 2, 3) + apply(1) + three(1) + three(1, 2, 3, 4, 5) + spread(1, 2, 3) + spread(),
  () => new Point(1, 2).sum() + new Derived(1, 2, 3).size + Reflect.construct(Derived, [1, 2], Base).size,
  () => bound(3) + bound() + new (Point.bind(null, 1))(2).y + Reflect.apply(three, null, [1, 2, 3]),
  () => { let n = 0; for (const x of count(9)) n += x; return n; },
  () => { let n = 0; for (let i = 0; i < 9; i++) { try { n += thrower(i); } catch (e) { n += e.message.length; } } return n; },
  () => { let s = ''; for (const w of words) s += w; return s.indexOf('w9') + s.charCodeAt(3) + s.split('w').length; },
  () => { const t = new Float64Array(numbers); t.sort(); return t.map((x) => x + 1).subarray(2, 9).length; },
  () => { const o = {}; for (const w of words) o[w] = w.length; let n = 0; for (const k in o) n += o[k]; return n; },
  () => { const p = new Proxy({ a: 1 }, { get: (t, k) => t[k] || 2, has: () => true }); return p.a + p.b + ('c' in p); },
  () => { const [a, b, ...c] = numbers, { length, ...d } = { length: 1, e: 2 }; return a + b + c.length + length + d.e; },
  () => parseInt('12') + Number('1.5') + (12.25).toFixed(1) + String(3.5e-7) + (2 ** 40) + (7n * 9n),
  () => Object.entries({ a: 1, b: 2 }).flat().concat([[1], [2]]).includes(2) + Array.from({ length: 5 }, (_, i) => i).length,
  () => typeof new Date(0).getTime() + Symbol('s').toString() + [1, , 3].indexOf(undefined) + isNaN('x'),
];
async function later(n) { let s = 0; for (let i = 0; i < n; i++) s += await i; return s; }
// (func $f (import "e" "f") (param i32) (result i32)), (func (export "r") (param i32) (result i32)): a loop that
// calls f.
if (typeof WebAssembly === 'object') {
  const body = [1, 1, 0x7f, 3, 0x40, 0x20, 1, 0x20, 0, 0x10, 0, 0x6a, 0x21, 1, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0,
    0x0d, 0, 0x0b, 0x20, 1, 0x0b];
  const bytes = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f, 2, 7, 1, 1, 0x65, 1, 0x66, 0, 0,
    3, 2, 1, 0, 7, 5, 1, 1, 0x72, 0, 1, 10, body.length + 2, 1, body.length, ...body];
  const make = () => new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)),
    { e: { f: (x) => x * 2 } }).exports.r;
  const run = make();
  turns.push(() => run(5), () => (Math.random() < 0.02 ? make() : run)(3));
}
function hasTime() { const used = process.cpuUsage(); return used.user + used.system < 60e6; }
function turn() {
  for (let i = 0; i < 50; i++) for (const each of turns) each();
  later(5).then(() => { if (hasTime()) setImmediate(turn); });
}
turn();

// SPDX-License-Identifier: Apache-2.0
// Counts the time of its own lines: tests/kit/check_lines.py. Argument: seconds.
'use strict';

let x = 1;

function now() {
  return process.hrtime.bigint();
}

function spin(n) {
  for (let i = 1; i < n; i++) x = (x * 3 + i) % 1000003;
  return x;
}

function burn(seconds) {
  const spent = [0, 0, 0];
  for (const end = now() + BigInt(seconds * 1e9); now() < end;) {
    const a = now();
    x += spin(1000000);                                               // line 20 of its own
    const b = now();
    x += spin(2000000);                                               // line 22 of its own
    const c = now();
    x += spin(3000000);                                               // line 24 of its own
    const d = now();
    [b - a, c - b, d - c].forEach((time, i) => { spent[i] += Number(time) / 1e9; });
  }
  return spent;
}

const before = process.cpuUsage(), start = now();
const spent = burn(Number(process.argv[2]));
const cpu = process.cpuUsage(before), wall = Number(now() - start) / 1e9;
const share = (cpu.user + cpu.system) / 1e6 / wall; // the machine may be busy elsewhere
[20, 22, 24].forEach((line, i) => console.log(`LINE ${line} ${(spent[i] * Math.min(share, 1)).toFixed(4)}`));

// SPDX-License-Identifier: Apache-2.0
'use strict';
// load.js MILLISECONDS: works so long in some functions, then sleeps for ever.
function words(seed) {
    const counts = new Map();

    for (let i = 0; i < 500; i++) {
        const word = 'w' + (i * 31 + seed) % 97;

        counts.set(word, (counts.get(word) || 0) + 1);
    }
    return JSON.stringify([...counts].sort((a, b) => b[1] - a[1])).length;
}

const end = Date.now() + Number(process.argv[2]);
let sum = 0;
for (let i = 0; Date.now() < end; i++)
    sum += words(i);
require('fs').writeSync(1, 'ready\n');
setInterval(() => sum, 1 << 30);

// SPDX-License-Identifier: Apache-2.0
'use strict';
// client.js SECONDS PORT...: asks servers on 127.0.0.1 in turn, some requests at a time; fails when an answer is
// not right.
const http = require('http');

const [seconds, ...ports] = process.argv.slice(2).map(Number);
const agent = new http.Agent({keepAlive: true, maxSockets: 16});
const AT_ONCE = 12;

function ask(port) {
    return new Promise((resolve, reject) => {
        http.get({agent, port, host: '127.0.0.1', path: '/items/20'}, (response) => {
            let text = '';

            response.setEncoding('utf8');
            response.on('data', (part) => { text += part; });
            response.on('end', () => resolve(JSON.parse(text).length));
        }).on('error', reject);
    });
}

async function askAgainAndAgain(first, end) {
    for (let i = first; Date.now() < end; i++) {
        if (await ask(ports[i % ports.length]) !== 20)
            throw new Error('not the answer');
    }
}

async function main() {
    const end = Date.now() + 1000 * seconds;

    await Promise.all(Array.from({length: AT_ONCE}, (_, i) => askAgainAndAgain(i, end)));
    process.exit(0);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});

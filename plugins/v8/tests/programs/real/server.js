// SPDX-License-Identifier: Apache-2.0
'use strict';
// server.js SECONDS: serves by node:http, fastify and express, to a client that is a process of its own and asks all
// the time; run where the packages are installed.
const {createRequire} = require('module');
const {spawn} = require('child_process');
const http = require('http');
const path = require('path');

const from = createRequire(path.join(process.cwd(), 'server.js'));

function items(n) {
    const list = [];

    for (let i = 0; i < n; i++)
        list.push({id: i, name: `item ${i * 7919 % 101}`, tags: ['a', 'b', String(i)]});
    return list.sort((a, b) => a.name.localeCompare(b.name));
}

function answer(request, response) {
    const body = JSON.stringify(items(20));

    response.writeHead(200, {'content-type': 'application/json', 'content-length': Buffer.byteLength(body)});
    response.end(body);
}

function listen(server) {
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
}

async function main(seconds) {
    const fastify = from('fastify')(), express = from('express')();

    fastify.get('/items/:n', async (request) => items(Number(request.params.n)));
    express.use(from('express').json());
    express.get('/items/:n', (request, response) => response.json(items(Number(request.params.n))));
    await fastify.listen({port: 0, host: '127.0.0.1'});
    const ports = [await listen(http.createServer(answer)), fastify.server.address().port,
                   await listen(http.createServer(express))];
    const client = spawn(process.execPath, [path.join(__dirname, 'client.js'), String(seconds), ...ports],
                         {stdio: 'inherit'});
    client.on('exit', (status) => process.exit(status));
}

main(Number(process.argv[2]));

// SPDX-License-Identifier: Apache-2.0
// The receiver of peer_core.py on @grpc/grpc-js: the same arguments, modes and ports.
'use strict';
const fs = require('fs');
const path = require('path');
const grpc = require('@grpc/grpc-js');

const [directory, certs] = process.argv.slice(2);
const STATUS = Buffer.concat([Buffer.from([8, 8, 0x1a, 0x33, 0x0a, 0x28]),
	Buffer.from('type.googleapis.com/google.rpc.RetryInfo'),
	Buffer.from([0x12, 7, 0x0a, 5, 0x10, 0x80, 0x84, 0xaf, 0x5f])]);
const PARTIAL = Buffer.concat([Buffer.from([0x0a, 0x0c, 8, 2, 0x12, 8]), Buffer.from('too old!')]);
const counts = {};
const servers = {}, ports = {};
const identity = (bytes) => bytes;
const service = {
	Export: {
		path: '/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export',
		requestStream: false, responseStream: false,
		requestSerialize: identity, requestDeserialize: identity,
		responseSerialize: identity, responseDeserialize: identity,
	},
};

function save(name, message) {
	const n = counts[name] = (counts[name] || 0) + 1;
	fs.mkdirSync(path.join(directory, name), {recursive: true});
	fs.writeFileSync(path.join(directory, name, n + '.bin'), message);
	return n;
}

function fail(callback, code, details, metadata) {
	callback({code, details, metadata});
}

function exportProfiles(call, callback) {
	const get = (key) => String(call.metadata.get(key)[0] || '');
	const [mode, ...rest] = (get('x-mode') || 'accept').split(':');
	const text = rest.join(':'), number = Number(text);
	const n = save(get('x-case') || 'none', call.request);

	if (mode === 'unavailable' && n <= number)
		return fail(callback, grpc.status.UNAVAILABLE, 'not now, 100 % busy');
	if (mode === 'throttle' && n <= number) {
		const metadata = new grpc.Metadata();
		metadata.set('grpc-status-details-bin', STATUS);
		return fail(callback, grpc.status.RESOURCE_EXHAUSTED, 'slow down', metadata);
	}
	if (mode === 'exhausted')
		return fail(callback, grpc.status.RESOURCE_EXHAUSTED, 'quota');
	if (mode === 'invalid')
		return fail(callback, grpc.status.INVALID_ARGUMENT, 'unsupported frame kind');
	if (mode === 'unauthenticated' || (mode === 'token' && get('authorization') !== text))
		return fail(callback, grpc.status.UNAUTHENTICATED, 'who are you?');
	if (mode === 'partial')
		return callback(null, PARTIAL);
	if (mode === 'slow')
		return setTimeout(() => callback(null, Buffer.alloc(0)), number);
	if (mode === 'goaway' && n === 1) {
		restart();
		return setTimeout(() => callback(null, Buffer.alloc(0)), 300);
	}
	callback(null, Buffer.alloc(0));
}

function newServer(options) {
	const server = new grpc.Server(options);
	server.addService(service, {Export: exportProfiles});
	return server;
}

function bind(server, port, credentials) {
	return new Promise((resolve, reject) => server.bindAsync('127.0.0.1:' + port, credentials,
		(error, bound) => (error ? reject(error) : resolve(bound))));
}

function restart() {
	servers.mutable.tryShutdown(() => {
		servers.mutable = newServer();
		bind(servers.mutable, ports.mutable, grpc.ServerCredentials.createInsecure());
	});
}

async function main() {
	const pair = [{private_key: fs.readFileSync(certs + '/server.key'),
		cert_chain: fs.readFileSync(certs + '/server.pem')}];
	const plain = grpc.ServerCredentials.createInsecure();
	const list = [
		['plain', {}, plain],
		['big', {'grpc.max_receive_message_length': 64 << 20}, plain],
		['mutable', {}, plain],
		['tls', {}, grpc.ServerCredentials.createSsl(null, pair, false)],
		['mtls', {}, grpc.ServerCredentials.createSsl(fs.readFileSync(certs + '/ca.pem'), pair, true)],
	];

	for (const [name, options, credentials] of list) {
		servers[name] = newServer(options);
		ports[name] = await bind(servers[name], 0, credentials);
		console.log(name + ' ' + ports[name]);
	}
	console.log('ready');
	process.stdin.on('end', () => process.exit(0));
	process.stdin.resume();
}

main();

// SPDX-License-Identifier: Apache-2.0
//
// The page's decoder and trees without a browser, under node: test_decode.py gives them messages and says what is
// to come out. Reads {message, base} as base64 from the standard input; writes what it found as JSON.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

const sources = path.join(__dirname, '../../exporters/html/page');
const code = ['wire', 'profile', 'dictionary', 'decode', 'text', 'tree', 'calls'].map((name) => fs.readFileSync(path.join(sources, `${name}.js`), 'utf8')).join('\n');
const page = new Function(`'use strict';${code}; return {decodeProfile, Calls, talliesOf, Base64, shown, percentDown};`)();

// Self and total by frame, samples by process, and the path of each leaf.
function summary(profile) {
	const calls = new page.Calls(profile, null, []), {tree} = calls;
	const weights = calls.weighUnits(0, profile.baseRows, null), own = calls.selfOf(weights, null);
	tree.weigh(own.self);
	const {self, total} = page.talliesOf(tree, profile.nFrames), frames = {}, processes = {}, paths = {};
	for (let frame = 0; frame < profile.nFrames; frame++)
		if (total[frame])
			frames[`${profile.kinds[profile.frameKind[frame]]} ${profile.name(frame)}`] = [self[frame], total[frame]];
	for (let row = 0; row < profile.nRows; row++) {
		const {name} = profile.processes[profile.threads[profile.rowThread[row]].process];
		processes[name] = (processes[name] || 0) + profile.rowSamples[row];
	}
	for (let node = 1; node < tree.n; node++)
		if (tree.self[node] > 0)
			paths[tree.path(node).map((at) => profile.name(tree.frame[at])).join(';')] = tree.self[node];
	return {frames, processes, paths, timed: profile.events.timed, facts: profile.sides[0].facts, ranges: ranges(profile, calls)};
}

// What each tenth of the recording weighs, by its events.
function ranges(profile, calls) {
	const tenth = 4294967296 / 10;
	return Array.from({length: 10}, (_, i) => calls.weighUnits(0, profile.baseRows, null, [i * tenth, (i + 1) * tenth]))
		.map(({weight, count}) => [weight, count].map((list) => list.reduce((sum, one) => sum + one, 0)));
}

// The message from pieces of text of odd sizes, as a browser may have cut it.
function bytesOf(text) {
	const base64 = new page.Base64(), pieces = [];
	for (let from = 0, size = 1; from < text.length; from += size, size = size * 7 % 65521 + 1)
		pieces.push(base64.take(text.slice(from, from + size), false).slice());
	pieces.push(base64.take('', true).slice());
	return new Uint8Array(Buffer.concat(pieces));
}

function answer({message, base}) {
	try {
		return summary(page.decodeProfile(bytesOf(message), base ? bytesOf(base) : null));
	} catch (error) {
		return {error: error.message, isPlain: error.constructor === Error};
	}
}

const requests = JSON.parse(fs.readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify({
	answers: requests.map(answer),
	shown: page.shown('a\u202eb\x1b[0m\u{e0041}' + 'x'.repeat(1e6)),
	down: page.percentDown(99999, 100000),
}));

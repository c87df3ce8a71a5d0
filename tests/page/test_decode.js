// SPDX-License-Identifier: Apache-2.0
//
// The page's decoder and trees without a browser, under node: test_decode.py gives them messages and says what is
// to come out. Reads {message, base} as base64 from the standard input; writes what it found as JSON.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

const sources = path.join(__dirname, '../../exporters/html/page');
const code = ['wire', 'profile', 'decode', 'text', 'tree'].map((name) => fs.readFileSync(path.join(sources, `${name}.js`), 'utf8')).join('\n');
const page = new Function(`'use strict';${code}; return {decodeProfile, Calls, talliesOf, Reader, fromBase64, shown, percentDown};`)();

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
	const times = profile.events.time, sorted = times.every((time, i) => i === 0 || times[i - 1] >>> 10 <= time >>> 10);
	return {frames, processes, paths, sorted, events: profile.events.n, timed: profile.events.timed, facts: profile.sides[0].facts};
}

function answer({message, base}) {
	try {
		return summary(page.decodeProfile(page.fromBase64(message), base ? page.fromBase64(base) : null));
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

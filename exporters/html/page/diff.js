// SPDX-License-Identifier: Apache-2.0
//
// The page of a difference: in the shape of the second recording, red where there is more of a frame, blue where
// there is less; what is not there any more has no box and is listed beside. Shares are compared, or CPU time per
// second of each recording. What counting noise explains (95 %) has no colour.

App.prototype.compare = function (old) {
	const {tree, profile} = this, total = new Float64Array(tree.n);
	total.set(old.self);
	for (let i = tree.n - 1; i > 0; i--)
		total[tree.parent[i]] += total[i];
	tree.base = total;
	tree.baseSelf = old.self;
	this.baseSum = old.sum;
	this.baseCount = old.count;
	const [now, before] = profile.sides, {range} = this.state;
	this.seconds = Math.max(1e-9, (now.end - now.start) / 1e9 * (range ? (range[1] - range[0]) / 4294967295 : 1));
	this.baseSeconds = Math.max(1e-9, (before.end - before.start) / 1e9);
	this.most = 0;
	for (let i = 1; i < tree.n; i++)
		if (tree.total[i] > 0)
			this.most = Math.max(this.most, Math.abs(this.move(tree.total[i], total[i])));
};

// The sides by their names, A before B; that B is what is shown is for this file alone to know.
App.prototype.sideNames = function () {
	const [b, a] = this.profile.sides.map((info) => shown(String(info.facts['ebpf_profiler.title'] || info.host || ''), 120));
	return [a || 'A', b || 'B'];
};

App.prototype.titleOfDiff = function () {
	const [a, b] = this.sideNames();
	return a === b ? `${a}, compared` : `${b} compared with ${a}`;
};

// Each side with what it rests on, and what the colours mean.
App.prototype.tellSides = function (facts) {
	const [a, b] = this.sideNames(), start = startOf(this.profile.sides[1]);
	const line = (letter, name, parts) => element('span', {class: 'side', title: [name, ...parts].join('\n')}, element('b', {text: letter}), ' ',
		...(name === letter ? [] : [element('bdi', {text: name, dir: 'ltr'}), ' \u00b7 ']), parts.join(' \u00b7 '));
	$('facts').removeAttribute('title');
	$('facts').replaceChildren(line('A', a, [...this.factsOf(1), ...(start ? [start] : [])]), line('B', b, facts));
};

App.prototype.drawLegend = function () {
	const shades = [[0, 'less in B'], [32, 'chance explains it'], [64, 'more in B']], unit = this.state.abs ? 'CPU time per second' : 'share';
	$('legend').replaceChildren(element('h2', {text: `Colours, by ${unit}`, title: 'b: by share, or CPU time per second'}), ...shades.map(([shade, text]) => {
		const swatch = element('i', {});
		swatch.style.background = this.colors.moved[shade];
		return element('span', {class: 'chip'}, swatch, text);
	}));
};

// How much more of it there is now: of all, or of a CPU.
App.prototype.move = function (now, before) {
	if (this.state.abs)
		return (now / this.seconds - before / this.baseSeconds) / 1e9;
	return (this.sum > 0 ? now / this.sum : 0) - (this.baseSum > 0 ? before / this.baseSum : 0);
};

App.prototype.isNoise = function (now, before) {
	const n = this.count, m = this.baseCount, p = this.sum > 0 ? now / this.sum : 0, q = this.baseSum > 0 ? before / this.baseSum : 0;
	if (!n || !m)
		return false;
	const pooled = (p * n + q * m) / (n + m);
	return Math.abs(p - q) <= 1.96 * Math.sqrt(Math.max(0, pooled * (1 - pooled)) * (1 / n + 1 / m));
};

App.prototype.movedColor = function (tree, node) {
	const before = tree.base ? tree.base[node] : this.tallyOfBase(tree.frame[node]);
	const now = tree.base ? tree.total[node] : this.tally().total[tree.frame[node]];
	if (this.isNoise(now, before))
		return this.colors.moved[32];
	const share = Math.sqrt(Math.abs(this.move(now, before)) / (this.most || 1)) * Math.sign(this.move(now, before));
	return this.colors.moved[Math.max(0, Math.min(64, Math.round(32 + 32 * share)))];
};

App.prototype.talliesOfBase = function () {
	const {tree, profile} = this;
	return talliesOf({...tree, n: tree.n, frame: tree.frame, isInner: tree.isInner, total: tree.base, self: tree.baseSelf}, profile.nFrames);
};

App.prototype.tallyOfBase = function (frame) {
	return this.tally().base.total[frame] || 0;
};

App.prototype.moves = function () {
	const {self, base} = this.tally(), moves = new Float64Array(self.length);
	for (let i = 0; i < moves.length; i++)
		moves[i] = this.move(self[i], base.self[i]);
	return moves;
};

App.prototype.moveText = function (now, before) {
	const move = this.move(now, before) * 100;
	return `${move >= 0 ? '+' : '\u2212'}${Math.abs(move).toFixed(2)} ${this.state.abs ? '% of a CPU' : 'points'}`;
};

App.prototype.describeMove = function (tree, node) {
	const before = tree.base ? tree.base[node] : this.tallyOfBase(tree.frame[node]);
	const now = tree.base ? tree.total[node] : this.tally().total[tree.frame[node]];
	const noise = this.isNoise(now, before) ? ', within counting noise' : '';
	return `${this.moveText(now, before)}: before ${percent(before, this.baseSum)}, now ${percent(now, this.sum)}${noise}`;
};

// Functions of the first recording that the second has not, but for those that chance explains.
function drawVanished(app) {
	const {profile} = app, {total, base} = app.tally(), isGone = new Uint8Array(profile.nFrames);
	let chance = 0;
	for (let frame = 0; frame < isGone.length; frame++) {
		if (base.total[frame] === 0 || total[frame] > 0)
			continue;
		isGone[frame] = app.isNoise(0, base.total[frame]) ? 0 : 1;
		chance += 1 - isGone[frame];
	}
	const {rows, count} = largest(base.total, 100, isGone), list = $('gone').querySelector('ol');
	$('gone').hidden = false;
	$('gone').querySelector('h2').textContent = count ? `Vanished: ${counted(count, 'function')}` : 'Nothing vanished';
	list.replaceChildren(...rows.map((frame) => element('li', {title: shown(profile.name(frame))},
		element('b', {text: percent(base.total[frame], app.baseSum)}), element('bdi', {text: shown(profile.name(frame)), dir: 'ltr'}))));
	if (chance)
		list.append(element('li', {}, element('small', {text: `and ${grouped(chance)} that chance explains`})));
}

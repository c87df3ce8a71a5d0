// SPDX-License-Identifier: Apache-2.0
//
// What is no canvas: the table of functions, the line of facts and quality, chips and fields.

// The columns: what sorts, title, and whether it is a share.
function tableColumns(app) {
	const columns = [['self', 'Self'], ['total', 'Total']];
	if (app.isDiff)
		columns.push(['moved', 'Self moved']);
	return columns;
}

function drawTable(app) {
	const {profile, state, owner} = app, tallies = app.tally(), columns = tableColumns(app);
	const values = state.sort === 'total' ? tallies.total : state.sort === 'moved' && app.isDiff ? app.moves() : tallies.self;
	const wanted = owner.isHit;
	const {rows, count} = shownRows(app, values, tallies, wanted);
	const head = $('table').querySelector('thead tr'), cells = [];
	for (const [key, title] of columns) {
		const button = element('button', {text: title, 'data-sort': key});
		cells.push(element('th', {scope: 'col', ...(state.sort === key ? {'aria-sort': 'descending'} : {})}, button));
		if (key !== 'moved')
			cells.push(element('th', {scope: 'col', text: ''}));
	}
	cells.push(element('th', {scope: 'col'}, element('button', {text: 'Function', 'data-sort': 'self'})));
	head.replaceChildren(...cells);
	$('table').querySelector('tbody').replaceChildren(...rows.map((frame) => tableRow(app, frame, tallies)));
	const more = count - rows.length;
	$('more').textContent = more > 0 ? `Show all ${grouped(count)}` : counted(count, 'function');
	$('more').disabled = more <= 0;
	if (profile.nFrames === 0)
		$('more').textContent = 'No functions';
}

// By what is sorted; behind those that have any of it, by total.
function shownRows(app, values, tallies, isWanted) {
	const most = app.rowsShown, first = largest(values, most, isWanted), isRest = new Uint8Array(values.length);
	for (let i = 0; i < values.length; i++)
		isRest[i] = values[i] === 0 && (!isWanted || isWanted[i]) ? 1 : 0;
	const rest = largest(tallies.total, most, isRest);
	return {rows: [...first.rows, ...rest.rows].slice(0, most), count: first.count + rest.count};
}

function tableRow(app, frame, tallies) {
	const {profile, colors, sum, state} = app, row = element('tr', {'data-frame': frame, tabindex: '0'});
	for (const value of [tallies.self[frame], tallies.total[frame]]) {
		const bar = element('span', {});
		bar.style.width = `${sum > 0 ? Math.min(100, 100 * value / sum) * .86 : 0}%`;
		row.append(element('td', {text: value ? app.weight(value) : '', 'data-weight': value}),
			element('td', {class: 'share'}, bar, value ? percent(value, sum) : ''));
	}
	if (app.isDiff)
		row.append(element('td', {text: app.moveText(tallies.self[frame], tallies.base.self[frame])}));
	const name = element('td', {}), swatch = element('i', {}), kind = profile.frameKind[frame];
	swatch.style.background = colors.shades[kind][0];
	name.append(swatch, element('bdi', {text: shown(profile.name(frame)), dir: 'ltr'}));
	name.append(...placeOf(app, frame), element('small', {text: shown(profile.kinds[kind], 40)}));
	row.append(name);
	if (frame === state.frame)
		row.setAttribute('aria-selected', 'true');
	return row;
}

// Where a function is, unless its name says so: its file and, where that is known, the line it begins in.
function placeOf(app, frame) {
	const {profile} = app, cell = app.cellOf(frame);
	const path = cell < 0 ? '' : profile.text(profile.cellSide(cell), profile.cellFile[cell]), line = cell < 0 ? 0 : profile.cellStart[cell];
	const place = `${baseName(path)}${line ? `:${line}` : ''}`;
	if (!path || /\)$/.test(profile.name(frame)) && profile.name(frame).endsWith(`${place})`))
		return [];
	return [element('small', {class: 'place', title: shown(`${path}${line ? `:${line}` : ''}`), dir: 'ltr', text: shown(place, 80)})];
}

// A cell of a frame that has a file; -1: none has.
App.prototype.cellOf = function (frame) {
	const {profile} = this;
	if (!this.frameCell) {
		this.frameCell = new Int32Array(profile.nFrames).fill(-1);
		for (let cell = profile.cellFrame.length - 1; cell >= 0; cell--)
			if (profile.cellFile[cell])
				this.frameCell[profile.cellFrame[cell]] = cell;
	}
	return this.frameCell[frame];
};

// --- the line of facts, said once ---

function factText(name, value, isGood, title) {
	const part = element('span', title ? {title} : {}, `${name} `, element('b', {text: value}));
	if (isGood !== undefined)
		part.className = isGood ? 'good' : 'bad';
	return part;
}

// Weights by what cut a stack, and by what left it without names.
function qualityOf(profile) {
	const {rowTotal, rowSamples, rowStack, rowUnnamed, rowCut, rowUnverified, stackCut, reasons} = profile, cuts = new Map();
	const unnamed = new Float64Array(reasons.length);
	let all = 0, complete = 0, unverified = 0, named = 0, samples = 0;
	for (let row = 0; row < profile.baseRows; row++) {
		const weight = rowTotal[row], cut = rowCut[row] ? reasons[rowCut[row]] : stackCut[rowStack[row]] < 0 ? '' : profile.name(stackCut[rowStack[row]]);
		all += weight;
		samples += rowSamples[row];
		if (!cut && rowUnverified[row])
			unverified += weight;
		else if (!cut)
			complete += weight;
		else
			cuts.set(cut, (cuts.get(cut) || 0) + weight);
		if (rowUnnamed[row] === 0 && !cut)
			named += weight;
		else
			unnamed[rowUnnamed[row]] += weight;
	}
	return {all, complete, unverified, named, samples, cuts: [...cuts],
		unnamed: reasons.map((text, i) => [text || 'frames are missing', unnamed[i]]).filter((pair) => pair[1] > 0)};
}

function reasonsText(reasons, all) {
	return reasons.sort((a, b) => b[1] - a[1]).slice(0, 12).map(([text, weight]) => `${percent(weight, all)} ${shown(text, 120)}`).join('\n');
}

function tellQuality(app) {
	const {profile} = app, {facts} = profile.sides[0], quality = app.quality, parts = [];
	const complete = percentDown(quality.complete, quality.all), named = percentDown(quality.named, quality.all);
	const unverified = quality.unverified ? `, ${percent(quality.unverified, quality.all)} unverified` : '';
	// Files of others do not say what of a stack they have left out.
	const isSaid = facts['ebpf_profiler.due_samples'] || facts['ebpf_profiler.lost_samples'] || quality.cuts.length || quality.unverified || quality.unnamed.length;
	parts.push(!isSaid ? factText('stacks', 'unknown') : factText('stacks', `${complete} complete${unverified}`, quality.complete >= .98 * quality.all, reasonsText(quality.cuts, quality.all)));
	parts.push(!isSaid ? factText('names', 'unknown') : factText('names', `${named} fully named`, quality.named >= .9 * quality.all, reasonsText(quality.unnamed, quality.all)));
	const lost = facts['ebpf_profiler.lost_samples'], due = facts['ebpf_profiler.due_samples'] || quality.samples + (lost || 0);
	parts.push(lost === undefined || !(lost || facts['ebpf_profiler.due_samples']) ? factText('lost', 'unknown')
		: factText('lost', `${counted(lost, 'sample')} (${percent(lost, due)})`, lost <= .01 * due));
	const wall = lengthOf(profile.sides[0]), cost = [];
	for (const [key, name] of [['ebpf_profiler.cost.agent_ns', 'profiler'], ['ebpf_profiler.cost.bpf_ns', 'BPF']])
		if (facts[key] && wall)
			cost.push(`${name} ${percent(facts[key], wall)}`);
	parts.push(factText('cost', cost.length ? `${cost.join(', ')} of one CPU` : 'unknown'));
	$('quality').replaceChildren(...parts);
}

// One program by its name, some by their names, a whole machine by none.
function whatRan(names, all) {
	const few = names.length && names[0][1] >= .9 * all ? names.slice(0, 1) : names.slice(0, 3), more = names.length - few.length;
	if (few.length > 1 && names.length > 8)
		return '';
	return few.map(([name]) => shown(name, 40)).join(', ') + (few.length > 1 && more ? ` and ${more} more` : '');
}

// When a recording began, as text; '': not known.
function startOf(info) {
	const begin = info.base && info.hasSpan ? (info.base[0] + info.base[1] * 4294967296 + info.start) / 1e6 : 0;
	return begin > 0 && begin < 8e15 ? new Date(begin).toISOString().slice(0, 19).replace('T', ' ') + ' UTC' : '';
}

// Its length in ns, 0: not known.
function lengthOf(info) {
	return info.facts['ebpf_profiler.duration'] || (info.hasSpan ? info.end - info.start : 0);
}

// Samples and weight of a side: 0 is what is shown.
function sumOfSide(profile, side) {
	let samples = 0, all = 0;
	for (let row = side ? profile.baseRows : 0; row < (side ? profile.nRows : profile.baseRows); row++) {
		samples += profile.rowSamples[row];
		all += profile.rowTotal[row];
	}
	return {samples, all};
}

// What is said of a recording in a line. A rate is that of the sampling clock, so that what has none has no rate.
App.prototype.factsOf = function (side) {
	const {profile} = this, info = profile.sides[side], {samples, all} = sumOfSide(profile, side), facts = [counted(samples, 'sample')];
	const rate = info.facts['ebpf_profiler.frequency'] || (info.period && this.unitName === 'time' ? Math.round(1e9 / info.period) : 0);
	const length = lengthOf(info), cpus = info.facts['ebpf_profiler.cpus'];
	if (rate)
		facts.push(`${rate} Hz`);
	if (this.weight(all) !== facts[0])
		facts.push(this.unitName === 'time' ? `${this.weight(all)} of ${this.timeName()}` : this.weight(all));
	facts.push(length ? `in ${duration(length)}` : 'duration unknown');
	if (cpus)
		facts.push(counted(cpus, 'CPU'));
	return facts;
};

// The command that was given; else what ran, where and when.
App.prototype.titleOf = function (info, all) {
	const what = whatRan(this.strip.names.filter(([name]) => name !== NO_PROGRAM), all), host = shown(info.host, 80), given = info.facts['ebpf_profiler.title'];
	if (given)
		return shown(String(given), 300);
	return [what && host ? `${what} on ${host}` : what || host || 'Profile', startOf(info).replace(/:\d\d UTC/, ' UTC')].filter(Boolean).join(', ');
};

App.prototype.tellFacts = function () {
	const {profile} = this, info = profile.sides[0], quality = this.quality = qualityOf(profile), facts = this.factsOf(0);
	const title = this.title = this.isDiff ? this.titleOfDiff() : this.titleOf(info, quality.all), start = startOf(info);
	$('title').textContent = title;
	document.title = `${title}: profile`;
	if (info.facts['ebpf_profiler.title'] && info.host && !this.isDiff)
		facts.push(`on ${shown(info.host, 80)}`);
	if (start)
		facts.push(start);
	if (info.version)
		facts.push(`by ${shown(info.scope, 40)} ${shown(info.version, 40)}`);
	if (info.others)
		facts.push(`${counted(info.others, 'part')} of other types ${info.others === 1 ? 'is' : 'are'} not shown`);
	$('facts').title = facts.join('\n');
	$('facts').textContent = facts.join(' · ');
	if (this.isDiff)
		this.tellSides(facts);
	tellQuality(this);
};

// --- chips and fields ---

function chip(text, color, note, attributes) {
	const swatch = element('i', {}), made = element('button', {class: 'chip', ...attributes});
	swatch.style.background = color;
	made.append(swatch, text, element('small', {text: note}));
	return made;
}

function drawKinds(app) {
	const {profile, colors, state} = app, {own, present} = app.kindWeights();
	const order = [...profile.kinds.keys()].filter((kind) => present[kind]).sort((a, b) => own[b] - own[a]);
	const shape = JSON.stringify([order, state.off, app.isDark]);
	if (shape === app.kindsShape)
		return;
	app.kindsShape = shape;
	$('kinds').replaceChildren(...order.map((kind) => chip(shown(profile.kinds[kind], 40), colors.shades[kind][0], percent(own[kind], app.quality.all),
		{'data-kind': profile.kinds[kind], 'aria-pressed': !state.off.includes(profile.kinds[kind]), title: 'Off: its time is its callers\'; with Shift: all others off'})));
}

// Of each kind the time of its own, as recorded, of cuts and gaps that of the stacks which have one; `present`:
// whether there is one at all.
App.prototype.kindWeights = function () {
	const {profile} = this, {rowStack, rowTotal, stackFirst, stackCells, cellFrame, frameKind} = profile;
	if (this.ofKinds)
		return this.ofKinds;
	const own = new Float64Array(profile.kinds.length), stackWeight = new Float64Array(profile.nStacks);
	const present = new Uint8Array(profile.kinds.length), isMark = profile.kinds.map((kind) => kind === ERROR_KIND || kind === GAP_KIND);
	const seenIn = new Int32Array(profile.kinds.length).fill(-1); // a stack counts once
	for (let row = 0; row < profile.baseRows; row++)
		stackWeight[rowStack[row]] += rowTotal[row];
	for (let stack = 0; stack < profile.nStacks; stack++) {
		if (!stackWeight[stack])
			continue;
		const end = stackFirst[stack + 1];
		for (let at = stackFirst[stack]; at < end; at++) {
			const kind = frameKind[cellFrame[stackCells[at]]];
			present[kind] = 1;
			if (isMark[kind] ? seenIn[kind] !== stack : at + 1 === end) {
				own[kind] += stackWeight[stack];
				seenIn[kind] = stack;
			}
		}
	}
	this.ofKinds = {own, present};
	return this.ofKinds;
};

function drawProcesses(app) {
	const {strip, state, colors} = app, shape = JSON.stringify([state.only, app.isDark]);
	if (shape === app.processesShape)
		return;
	app.processesShape = shape;
	const chips = strip.names.slice(0, SHOWN_PROCESSES).map(([name, weight], i) => {
		const made = chip(shown(name, 40), colors.process(i), percent(weight, app.quality.all), {'data-process': name.slice(0, MAX_ONLY), title: 'Only this process'});
		made.classList.toggle('only', state.only === `comm:${name.slice(0, MAX_ONLY)}`);
		return made;
	});
	if (strip.names.length > SHOWN_PROCESSES)
		chips.push(element('span', {class: 'chip'}, Object.assign(element('i', {}), {}), counted(strip.names.length - SHOWN_PROCESSES, 'other')));
	if (chips.length > SHOWN_PROCESSES)
		chips[SHOWN_PROCESSES].firstChild.style.background = colors.process(SHOWN_PROCESSES);
	$('processes').replaceChildren(...chips);
}

function drawControls(app) {
	const {state, strip, profile} = app;
	for (const field of ['keep', 'hide', 'search'])
		if (document.activeElement !== $(field))
			$(field).value = state[field === 'search' ? 'q' : field];
	$('group').value = state.group;
	$('flip').setAttribute('aria-pressed', state.up);
	$('as-columns').setAttribute('aria-pressed', !state.grid);
	$('as-grid').setAttribute('aria-pressed', state.grid);
	drawKinds(app);
	drawProcesses(app);
	if (app.isDiff)
		app.drawLegend();
	const range = state.range && state.range.map((time) => strip.secondsOf(time));
	$('range').textContent = range ? `${range[0].toFixed(2)} s to ${range[1].toFixed(2)} s: ${app.weight(app.weights.all)}` : profile.events.timed ? '' : 'this file has no times';
	$('strip').setAttribute('aria-valuetext', range ? `${range[0].toFixed(2)} to ${range[1].toFixed(2)} seconds` : 'all');
	const gone = app.weights.all - app.sum, hidden = $('hidden');
	hidden.replaceChildren();
	if (gone > app.weights.all * 1e-9)
		hidden.append('hidden: ', element('b', {text: `${percent(gone, app.weights.all)}`}), ` (${app.weight(gone)})`);
	const only = $('only');
	only.replaceChildren();
	if (state.only)
		only.append(state.only.startsWith('!') ? 'without ' : 'only ', element('bdi', {text: shown(state.only.replace(/^!?[a-z]+:/, ''), 60)}));
	$('undo').disabled = !(state.range || state.keep || state.hide || state.off.length || state.only || state.zoom || state.q || state.group);
	drawFound(app);
	$('do-around').disabled = app.frame < 0;
	$('do-keep').disabled = $('do-hide').disabled = app.frame < 0 && !app.group;
	$('save').disabled = state.view !== 'graph' || !(app.sum > 0);
	$('do-zoom').disabled = state.view !== 'graph' || app.flame.selected < 0;
}

function drawFound(app) {
	const found = $('found');
	found.replaceChildren();
	$('next').disabled = $('previous').disabled = !app.hits.length;
	if (!app.state.q)
		return;
	if (app.owner.isHit === null)
		found.append('not a regular expression');
	else
		found.append(element('b', {text: percent(app.hitSum, app.sum)}), ` in ${counted(app.hits.length, 'place')}` +
			(app.hitAt >= 0 ? `, at ${app.hitAt + 1}` : ''));
}

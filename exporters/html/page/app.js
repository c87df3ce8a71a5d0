// SPDX-License-Identifier: Apache-2.0
//
// The page: its state, what follows from it, and what the user does. The state is small, lies in the address, and
// each change of it says how much is to be done again: 3 the tree, 2 its weights, 1 what is drawn.

const FILTER_FIELDS = ['keep', 'hide'];
const DEFAULTS = {view: 'graph', up: false, q: '', range: null, keep: '', hide: '', group: '', off: [], only: '', zoom: 0,
	frame: -1, grid: false, theme: '', sort: 'self', abs: false};
const ROWS_FIRST = 200, MAX_ONLY = 500;

const $ = (id) => document.getElementById(id);

function element(name, attributes, ...children) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {}))
		if (key === 'text')
			made.textContent = value;
		else
			made.setAttribute(key, value);
	made.append(...children);
	return made;
}

class App {
	constructor(profile) {
		this.profile = profile;
		this.isDiff = profile.sides.length > 1;
		this.colors = new Colors(profile.kinds);
		this.state = {...DEFAULTS};
		this.selected = -1;
		this.rowsShown = ROWS_FIRST;
		this.unitName = this.findUnit();
		this.readAddress();
		this.chooseTheme();
		this.findProcessRows();
		const owner = {
			colors: this.colors,
			labelOf: (tree, node) => this.label(tree, node),
			fillOf: (tree, node, hits) => this.fill(tree, node, hits),
			onHover: (flame, node, event) => this.hover(flame, node, event),
			onPick: (flame, node) => this.pick(flame, node),
			isHit: null,
		};
		this.owner = owner;
		this.flame = new Flame($('graph'), owner);
		this.callers = new Flame($('callers'), owner, 1);
		this.callees = new Flame($('callees'), owner, 1);
		this.callers.isUp = true;
		this.strip = new Strip($('strip'), {
			profile, colors: this.colors, range: null, unitName: this.unitName,
			onRange: (range, isDone) => this.dragged(range, isDone),
			onHover: (text, event) => this.tip(text ? [text] : null, event),
		});
		this.strip.rank();
		document.body.classList.toggle('untimed', profile.events.timed === 0);
		document.body.classList.toggle('diff', this.isDiff);
		listen(this);
		this.tellFacts();
		this.update(3);
		requestIdleCallback((deadline) => {
			this.tally(); // for the table
			this.readNames(deadline, 0);
		});
	}

	// Names are decoded while nothing else is to be done, so that the first search is as fast as the next.
	readNames(deadline, frame) {
		while (frame < this.profile.nFrames && deadline.timeRemaining() > 1)
			for (const end = Math.min(this.profile.nFrames, frame + 500); frame < end; frame++)
				this.profile.name(frame);
		if (frame < this.profile.nFrames)
			requestIdleCallback((next) => this.readNames(next, frame));
	}

	// Weights are CPU time, or what a profile of others counts.
	findUnit() {
		const {unit, period, type, facts} = this.profile.sides[0], own = facts['ebpf_profiler.weight_unit'];
		if (own ? own === 'nanoseconds' : unit === 'nanoseconds' || (period && type === 'samples'))
			return 'time';
		return unit === 'bytes' ? 'bytes' : shown(facts['ebpf_profiler.sample_type'] || type || 'samples', 40);
	}

	// Which time it is: a type that is not said is that of pages before types were.
	timeName() {
		const type = this.profile.sides[0].facts['ebpf_profiler.sample_type'] || 'cpu';
		return type === 'cpu' ? 'CPU time' : type === 'samples' ? 'time' : shown(String(type), 40);
	}

	weight(value) {
		return weightText(this.unitName, value);
	}

	// --- state ---

	set(change, level) {
		Object.assign(this.state, change);
		this.update(level);
		this.writeAddress();
	}

	update(level) {
		const start = performance.now();
		if (level >= 3)
			this.buildCalls();
		if (level >= 2)
			this.weigh();
		this.draw();
		performance.measure('page:update', {start, detail: level});
	}

	writeAddress() {
		const {state} = this, parts = new URLSearchParams();
		for (const [key, value] of Object.entries(state)) {
			if (JSON.stringify(value) === JSON.stringify(DEFAULTS[key]))
				continue;
			parts.set(key, Array.isArray(value) ? value.map((one) => typeof one === 'number' ? one.toFixed(0) : one).join(',') : value);
		}
		const text = `#${parts}`;
		this.written = text;
		if (text !== location.hash && (text !== '#' || location.hash))
			history.replaceState(null, '', text);
	}

	readAddress() {
		const parts = new URLSearchParams(location.hash.slice(1)), next = {...DEFAULTS};
		for (const key of ['view', 'q', 'keep', 'hide', 'group', 'only', 'theme', 'sort'])
			next[key] = (parts.get(key) ?? DEFAULTS[key]).slice(0, 2000);
		for (const key of ['up', 'grid', 'abs'])
			next[key] = parts.get(key) === 'true';
		for (const key of ['zoom', 'frame']) {
			const value = Number(parts.get(key) ?? DEFAULTS[key]);
			next[key] = Number.isInteger(value) ? value : DEFAULTS[key];
		}
		const range = (parts.get('range') || '').split(',').map(Number);
		if (range.length === 2 && range[0] >= 0 && range[0] < range[1] && range[1] <= 4294967296)
			next.range = range;
		next.off = (parts.get('off') || '').split(',').filter((kind) => this.profile.kindOf.has(kind));
		if (!['graph', 'table', 'around'].includes(next.view))
			next.view = 'graph';
		if (!Object.hasOwn(GROUPS, next.group))
			next.group = '';
		if (next.frame < 0 || next.frame >= this.profile.nFrames)
			next.frame = -1;
		this.state = next;
	}

	chooseTheme() {
		const {theme} = this.state, root = document.documentElement;
		if (theme === 'dark' || theme === 'light')
			root.dataset.theme = theme;
		else
			delete root.dataset.theme;
		this.isDark = theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
		this.colors.choose(this.isDark);
	}

	// --- from state to trees and weights ---

	findProcessRows() {
		const {profile} = this, {rowThread, threads, processes} = profile;
		this.threadKey = threads.map((thread) => processes[thread.process].name);
		this.rowName = (row) => this.threadKey[rowThread[row]];
	}

	buildCalls() {
		const {profile, state} = this, off = state.off.map((name) => profile.kindOf.get(name));
		const groups = state.group ? makeGroups(profile, state.group, this.isDiff) : null;
		this.groups = groups;
		this.calls = new Calls(profile, groups, off);
		this.tree = this.calls.tree;
		this.selected = -1;
	}

	// 1 for rows of what alone is to be seen: "comm:NAME", or a group as "thread:NAME"; with a ! in front all others.
	chosenRows() {
		const {profile, state} = this, isOther = state.only.startsWith('!'), text = state.only.slice(isOther ? 1 : 0);
		const by = text.slice(0, text.indexOf(':')), name = text.slice(by.length + 1);
		if (!state.only || (by !== 'comm' && !GROUPS[by]))
			return null;
		const isRow = new Uint8Array(profile.nRows), groups = by === 'comm' ? null : makeGroups(profile, by, this.isDiff);
		for (let row = 0; row < isRow.length; row++) {
			const own = groups ? groups.names[groups.ofRow(row)] : this.rowName(row);
			isRow[row] = (own.slice(0, MAX_ONLY) === name) !== isOther ? 1 : 0;
		}
		return isRow;
	}

	// 1 for frames whose name matches; null: the expression is empty, undefined: it is wrong.
	matches(text) {
		const {profile, groups} = this;
		let pattern;
		if (!text)
			return null;
		try {
			pattern = new RegExp(text, 'iu');
		} catch {
			try {
				pattern = new RegExp(text, 'i'); // C++ names have brackets and braces that u takes for mistakes
			} catch {
				return undefined;
			}
		}
		const isMatch = new Uint8Array(profile.nFrames + (groups ? groups.names.length : 0));
		for (let frame = 0; frame < profile.nFrames; frame++)
			isMatch[frame] = pattern.test(profile.name(frame)) ? 1 : 0;
		return isMatch;
	}

	// Units that keep and hide let through; null: all.
	chosenUnits() {
		const {state, calls} = this;
		let isUnit = null;
		for (const field of FILTER_FIELDS) {
			const isMatch = this.matches(state[field]);
			$(field).classList.toggle('wrong', isMatch === undefined);
			if (!isMatch)
				continue;
			const has = calls.unitsWith(isMatch);
			isUnit = isUnit || new Uint8Array(calls.nUnits).fill(1);
			for (let unit = 0; unit < isUnit.length; unit++)
				isUnit[unit] &= field === 'keep' ? has[unit] : 1 - has[unit];
		}
		return isUnit;
	}

	weigh() {
		const {calls, profile, tree} = this, isRow = this.chosenRows(), isUnit = this.chosenUnits();
		const weights = this.weights = calls.weighUnits(0, profile.baseRows, isRow, this.state.range);
		const own = calls.selfOf(weights, isUnit, tree.self.fill(0));
		tree.weigh(own.self);
		this.sum = own.sum;
		this.count = own.count;
		if (this.isDiff) {
			const base = calls.weighUnits(profile.baseRows, profile.nRows, isRow), old = calls.selfOf(base, isUnit);
			this.compare(old);
		}
		this.tallies = this.around = null;
		this.stripRows = isRow;
		if (this.stripKey !== this.state.only) {
			this.stripKey = this.state.only;
			this.strip.weigh(isRow);
		}
	}

	// --- what is drawn ---

	draw() {
		const {state} = this;
		$('message').hidden = true;
		for (const name of ['graph', 'table', 'around']) {
			$(name).hidden = name !== state.view;
			$(`view-${name}`).setAttribute('aria-selected', name === state.view);
		}
		this.search();
		this.strip.owner.range = state.range;
		this.strip.isGrid = state.grid;
		$('strip').classList.toggle('grid', state.grid);
		this.strip.draw();
		this.drawView();
		drawControls(this);
	}

	drawView() {
		const {state, tree} = this;
		this.flame.isUp = state.up;
		if (state.view === 'graph')
			this.flame.show(tree, state.zoom > 0 && state.zoom < tree.n ? state.zoom : 0);
		else if (state.view === 'table')
			drawTable(this);
		else
			this.drawAround();
		if (this.isDiff)
			drawVanished(this);
	}

	tally() {
		const {profile, tree} = this;
		if (!this.tallies) {
			this.tallies = talliesOf(tree, profile.nFrames);
			if (this.isDiff)
				this.tallies.base = this.talliesOfBase();
		}
		return this.tallies;
	}

	drawAround() {
		const {profile, tree, state} = this, nFrames = profile.nFrames + (this.groups ? this.groups.names.length : 0);
		if (state.frame < 0)
			state.frame = largest(this.tally().self, 1).rows[0] ?? -1;
		if (!this.around || this.around !== state.frame) {
			this.around = state.frame;
			this.callers.show(treeAround(tree, state.frame, true, nFrames));
			this.callees.show(treeAround(tree, state.frame, false, nFrames));
		} else {
			this.callers.draw();
			this.callees.draw();
		}
		$('around-name').textContent = state.frame < 0 ? 'nothing' : shown(profile.name(state.frame));
	}

	// Share of what matches, each stack counted once, and where the hits are.
	search() {
		const {tree, state} = this, isHit = this.searched === state.q && this.searchedIn === tree ? this.owner.isHit : this.matches(state.q);
		$('search').classList.toggle('wrong', isHit === undefined);
		this.searched = state.q;
		this.searchedIn = tree;
		this.owner.isHit = isHit || null;
		this.hits = [];
		this.hitSum = 0;
		for (let i = 1; isHit && i < tree.n;) {
			if (tree.total[i] > 0 && !isHit[tree.frame[i]]) {
				i++;
				continue;
			}
			if (tree.total[i] > 0) {
				this.hitSum += tree.total[i];
				this.hits.push(i);
			}
			i = tree.end[i];
		}
		if (this.hits.length > 20000)
			this.hits = this.hits.filter((node) => tree.total[node] > this.sum / 20000);
		this.hits.sort((a, b) => tree.total[b] - tree.total[a] || a - b);
		if (this.hitAt >= this.hits.length || !state.q)
			this.hitAt = -1;
	}

	goToHit(step) {
		if (!this.hits.length)
			return;
		this.hitAt = ((this.hitAt ?? -1) + step + this.hits.length + (this.hitAt < 0 && step < 0 ? 1 : 0)) % this.hits.length;
		if (this.state.view !== 'graph')
			this.set({view: 'graph'}, 1);
		const node = this.hits[this.hitAt];
		this.flame.reveal(node);
		this.state.zoom = this.flame.zoom;
		this.writeAddress();
		this.choose(node);
		drawControls(this);
	}

	label(tree, node) {
		const frame = tree.frame[node], {profile, groups} = this;
		if (frame < 0)
			return tree === this.tree ? `all: ${this.weight(this.sum)}` : `all: ${this.weight(tree.total[0])}`;
		return frame < profile.nFrames ? profile.name(frame) : groups.names[frame - profile.nFrames];
	}

	kind(tree, node) {
		const frame = tree.frame[node];
		return frame >= 0 && frame < this.profile.nFrames ? this.profile.frameKind[frame] : this.profile.kinds.length;
	}

	fill(tree, node, hits) {
		const {colors} = this;
		if (this.isDiff && !hits && tree.frame[node] >= 0)
			return this.movedColor(tree, node);
		const kind = this.kind(tree, node), shade = Math.imul(tree.frame[node] + 7, 0x9e3779b1) >>> 8;
		return hits ? colors.pale[kind] : colors.shades[kind][shade % 3];
	}

	// --- what is told of a frame ---

	// Lines of text: the name first.
	describe(tree, node) {
		const {profile} = this, total = tree.total[node], own = tree.self[node], frame = tree.frame[node];
		const lines = [shown(this.label(tree, node), 300)];
		const times = [`${this.weight(total)}, ${percent(total, this.sum)}`];
		if (frame >= 0 && own > 0)
			times.push(`${this.weight(own)} itself`);
		if (tree === this.tree)
			times.push(counted(this.calls.countOf(node, this.weights), 'sample'));
		const isFrame = frame >= 0 && frame < profile.nFrames, cells = isFrame && tree === this.tree ? this.calls.cellsOf(node, this.weights) : [];
		if (isFrame)
			lines.push(...this.describeCells(cells.length ? cells : [[tree.cell[node], total]], total, cells.length > 0));
		lines.push(times.join(', '));
		if (this.isDiff && frame >= 0)
			lines.push(this.describeMove(tree, node));
		return lines;
	}

	describeCells(cells, total, hasShares) {
		const {profile} = this, cell = cells[0][0], side = profile.cellSide(cell), lines = [];
		const file = shown(profile.text(side, profile.cellFile[cell])), line = profile.cellLine[cell];
		const module = shown(profile.text(side, profile.cellModule[cell])), flags = profile.cellFlags[cell];
		const place = [file && (line ? `${file}:${line}` : file), module && `in ${module}`].filter(Boolean).join(' ');
		if (place)
			lines.push(place);
		const byLine = new Map();
		for (const [one, weight] of cells)
			if (profile.cellLine[one])
				byLine.set(profile.cellLine[one], (byLine.get(profile.cellLine[one]) || 0) + weight);
		if (hasShares && byLine.size > 1)
			lines.push('lines: ' + [...byLine].sort((a, b) => b[1] - a[1]).slice(0, 4)
				.map(([number, weight]) => `${number} (${percent(weight, total)})`).join(', '));
		const notes = [shown(profile.kinds[profile.frameKind[profile.cellFrame[cell]]], 40)];
		if (flags & INLINED)
			notes.push('inlined');
		if (flags & POINTER_WALK)
			notes.push('found by frame pointer only');
		lines.push(notes.join(', '));
		return lines;
	}

	tip(lines, event) {
		const tip = $('tip');
		if (!lines || !event) {
			tip.hidden = true;
			return;
		}
		tip.replaceChildren(element('b', {text: lines[0]}), ...lines.slice(1).map((line) => element('span', {text: `${line}\n`})));
		tip.hidden = false;
		const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
		const y = event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18;
		tip.style.left = `${Math.max(4, x)}px`;
		tip.style.top = `${Math.max(4, y)}px`;
	}

	hover(flame, node, event) {
		this.tip(node >= 0 ? this.describe(flame.tree, node) : null, event);
	}

	say(flame, node) {
		$('said').textContent = node >= 0 ? this.describe(flame.tree, node).join(' · ') : '';
	}

	// --- what the user does ---

	get active() {
		if (this.state.view !== 'around')
			return this.flame;
		return this.lastFlame === this.callers ? this.callers : this.callees;
	}

	choose(node, flame = this.flame) {
		this.lastFlame = flame;
		this.selected = node;
		flame.select(node);
		this.say(flame, node);
		drawControls(this);
	}

	// A click: the main graph zooms; beside callers and callees it goes to the function.
	pick(flame, node) {
		this.choose(node, flame);
		if (flame === this.flame) {
			this.set({zoom: node}, 1);
			this.choose(node, flame);
		} else if (flame.tree.depth[node] > 1 && flame.tree.frame[node] < this.profile.nFrames) {
			this.goAround(flame.tree.frame[node]);
		}
	}

	goAround(frame) {
		if (frame >= 0 && frame < this.profile.nFrames)
			this.set({view: 'around', frame}, 1);
	}

	// The frame that is selected, or shown in the middle; -1: none.
	get frame() {
		const flame = this.active, node = flame.selected;
		if (this.state.view === 'graph')
			return node > 0 && flame.tree.frame[node] < this.profile.nFrames ? flame.tree.frame[node] : -1;
		return this.state.frame;
	}

	// The group that is selected in the graph; '': none.
	get group() {
		const {flame, state, groups, profile} = this, node = flame.selected;
		if (state.view !== 'graph' || !groups || node < 1 || flame.tree.frame[node] < profile.nFrames)
			return '';
		return `${state.group}:${groups.names[flame.tree.frame[node] - profile.nFrames].slice(0, MAX_ONLY)}`;
	}

	// As an expression that is this name and no other; a group by its name.
	filterBy(field) {
		const {frame, group} = this;
		if (group)
			this.set({only: field === 'keep' ? group : `!${group}`, zoom: 0}, 2);
		if (frame < 0)
			return;
		const text = `^${this.profile.name(frame).slice(0, 500).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}${this.profile.name(frame).length > 500 ? '' : '$'}`;
		const old = this.state[field];
		this.set({[field]: old && field === 'hide' ? `${old}|${text}` : text, zoom: 0}, 2);
	}

	dragged(range, isDone) {
		this.state.range = range;
		if (isDone) {
			this.set({range}, 2);
			return;
		}
		if (!this.isRangeWaiting)
			requestAnimationFrame(() => {
				this.isRangeWaiting = false;
				this.update(2);
			});
		this.isRangeWaiting = true;
	}

	undo() {
		const level = this.state.off.length || this.state.group ? 3 : 2;
		this.set({range: null, keep: '', hide: '', off: [], only: '', zoom: 0, q: '', group: ''}, level);
	}
}

// --- groups ---

const GROUPS = {'': null, program: 1, process: 1, thread: 1, user: 1, unit: 1, container: 1, cpu: 1};

// What each row belongs to, and the groups' names. Of two recordings no pid is the same: there names are groups.
function makeGroups(profile, by, isDiff) {
	const {rowThread, rowCpu, threads, processes} = profile, names = [], found = new Map();
	const add = (key, name) => {
		let group = found.get(key);
		if (group === undefined) {
			group = names.push(name) - 1;
			found.set(key, group);
		}
		return group;
	};
	if (by === 'cpu')
		return {names, ofRow: (row) => add(rowCpu[row], rowCpu[row] < 0 ? 'CPU unknown' : `CPU ${rowCpu[row]}`)};
	const ofThread = threads.map((thread) => {
		const process = processes[thread.process], pid = isDiff || !process.pid ? '' : ` (${process.pid})`;
		if (by === 'container')
			return add(process.container, process.container ? `container ${process.container.slice(0, 12)}` : 'no container');
		if (by === 'user')
			return add(process.user, process.user ? `user ${process.user}` : 'user unknown');
		if (by === 'unit')
			return add(process.unit, process.unit || 'unit unknown');
		if (by === 'program')
			return add(process.name, process.name);
		if (by === 'process')
			return add(isDiff ? process.name : thread.process, process.name + pid);
		const tid = isDiff || thread.tid < 0 ? '' : ` (${thread.tid})`;
		return add(JSON.stringify([process.name, pid, thread.name, tid]), `${process.name}${pid}: ${thread.name || 'thread'}${tid}`);
	});
	return {names, ofRow: (row) => ofThread[rowThread[row]]};
}

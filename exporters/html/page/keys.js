// SPDX-License-Identifier: Apache-2.0
//
// Keys and clicks. Each key has a line in the sheet.

const KEY_SHEET = [
	['? ', 'this sheet'], ['Esc', 'leave: field, zoom'],
	['1 2 3', 'graph, functions, callers and callees'], ['i', 'root above or below'],
	['\u2190 \u2192 \u2191 \u2193', 'from frame to frame'], ['Enter', 'zoom to the frame'],
	['+ \u2212 0', 'nearer, farther, all'], ['/', 'search'],
	['n N', 'next, previous hit'], ['c', 'callers and callees of the frame'],
	['k', 'keep only stacks with the frame, or the group'], ['h', 'hide stacks with the frame, or the group'],
	['u', 'all filters off'], ['g', 'group by program, process, thread, user, unit, container, CPU'],
	['t', 'CPU time or 20 ms grid'], ['r', 'to the strip: arrows move the range'],
	['[ ]', 'range earlier, later'], ['l', 'to the legend'],
	['s', 'sort by self or total'], ['p', 'save the graph as a picture, an SVG file'], ['d', 'light or dark'],
	['b', 'of a difference: shares or CPU time'], ['Ctrl wheel', 'nearer and farther at the pointer'],
	['Shift wheel', 'along'], ['drag', 'over the strip: a range of time'],
];

function nextGroup(group) {
	const names = Object.keys(GROUPS);
	return names[(names.indexOf(group) + 1) % names.length];
}

const ACTIONS = {
	'?': (app) => app.openSheet(),
	'1': (app) => app.set({view: 'graph'}, 1),
	'2': (app) => app.set({view: 'table'}, 1),
	'3': (app) => app.goAround(app.frame) || app.set({view: 'around'}, 1),
	'i': (app) => app.set({up: !app.state.up}, 1),
	'/': () => $('search').select(),
	'n': (app) => app.goToHit(1),
	'N': (app) => app.goToHit(-1),
	'c': (app) => app.goAround(app.frame),
	'k': (app) => app.filterBy('keep'),
	'h': (app) => app.filterBy('hide'),
	'u': (app) => app.undo(),
	'g': (app) => app.set({group: nextGroup(app.state.group), zoom: 0}, 3),
	't': (app) => app.set({grid: !app.state.grid}, 1),
	'r': () => $('strip').focus(),
	'l': () => $('kinds').firstElementChild?.focus(),
	's': (app) => app.set({sort: app.state.sort === 'self' ? 'total' : 'self', view: 'table'}, 1),
	'd': (app) => app.switchTheme(),
	'b': (app) => app.isDiff && app.set({abs: !app.state.abs}, 2),
	'p': (app) => app.savePicture(),
	'[': (app) => app.moveRange(-1),
	']': (app) => app.moveRange(1),
	'+': (app) => app.active.near(.5),
	'=': (app) => app.active.near(.5),
	'-': (app) => app.active.near(2),
	'0': (app) => app.set({zoom: 0}, 1),
	'Enter': (app) => app.active.selected >= 0 && app.pick(app.active, app.active.selected),
	'Escape': (app) => app.set({zoom: 0}, 1),
	'ArrowLeft': (app) => app.step('left'),
	'ArrowRight': (app) => app.step('right'),
	'ArrowUp': (app) => app.step(app.active.isUp ? 'child' : 'parent'),
	'ArrowDown': (app) => app.step(app.active.isUp ? 'parent' : 'child'),
};

App.prototype.openSheet = function () {
	if (!$('sheet').open)
		$('sheet').showModal();
};

App.prototype.switchTheme = function () {
	this.state.theme = this.isDark ? 'light' : 'dark';
	this.chooseTheme();
	this.kindsShape = this.processesShape = '';
	this.set({}, 1);
};

App.prototype.moveRange = function (direction) {
	const {range} = this.state;
	if (!range)
		return;
	const size = range[1] - range[0], from = Math.max(0, Math.min(4294967295 - size, range[0] + direction * size));
	this.set({range: [from, from + size]}, 2);
};

App.prototype.step = function (where) {
	const flame = this.active, {tree} = flame;
	if (this.state.view === 'table')
		return;
	let node = flame.selected;
	if (node < 0 || !(tree.total[node] > 0))
		node = flame.zoom;
	else if (where === 'parent')
		node = tree.parent[node];
	else if (where === 'child')
		node = tree.child(node);
	else
		node = tree.sibling(node, where === 'right');
	if (node < 0)
		return;
	flame.reveal(node);
	this.choose(node, flame);
};

function onKey(app, event) {
	const isField = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
	if (event.ctrlKey || event.metaKey || event.altKey || $('sheet').open)
		return;
	if (isField) {
		if (event.key === 'Escape')
			$('graph').querySelector('canvas').focus();
		else if (event.key === 'Enter' && event.target.id === 'search')
			app.goToHit(event.shiftKey ? -1 : 1);
		return;
	}
	if (event.key === 'Enter' && event.target.closest('button, tr'))
		return;
	if (event.key.startsWith('Arrow') && event.target.closest('#table, select'))
		return;
	const action = Object.hasOwn(ACTIONS, event.key) ? ACTIONS[event.key] : null;
	if (!action)
		return;
	event.preventDefault();
	action(app);
}

// What is typed is looked for once the typing pauses.
function onType(app, id, change) {
	let timer = 0;
	$(id).addEventListener('input', () => {
		clearTimeout(timer);
		timer = setTimeout(change, 120);
	});
	$(id).addEventListener('change', () => {
		clearTimeout(timer);
		change();
	});
}

function onKind(app, event) {
	const kind = event.target.closest('[data-kind]')?.dataset.kind, {off} = app.state;
	if (kind === undefined)
		return;
	const others = app.profile.kinds.filter((name) => name !== kind);
	const alone = off.length === others.length && !off.includes(kind);
	const next = event.shiftKey ? (alone ? [] : others) : off.includes(kind) ? off.filter((name) => name !== kind) : [...off, kind];
	app.set({off: next, zoom: 0}, 3);
	[...$('kinds').children].find((made) => made.dataset.kind === kind)?.focus();
}

function onTable(app, event) {
	const sort = event.target.closest('[data-sort]')?.dataset.sort, row = event.target.closest('tr[data-frame]');
	if (sort)
		app.set({sort}, 1);
	else if (row)
		app.goAround(Number(row.dataset.frame));
}

function listen(app) {
	const click = (id, action) => $(id).addEventListener('click', action);
	for (const name of ['graph', 'table', 'around'])
		click(`view-${name}`, () => app.set({view: name}, 1));
	click('flip', () => ACTIONS.i(app));
	click('help', () => app.openSheet());
	click('theme', () => app.switchTheme());
	click('as-columns', () => app.set({grid: false}, 1));
	click('as-grid', () => app.set({grid: true}, 1));
	click('next', () => app.goToHit(1));
	click('previous', () => app.goToHit(-1));
	click('undo', () => app.undo());
	click('do-zoom', () => ACTIONS.Enter(app));
	click('do-around', () => ACTIONS.c(app));
	click('save', () => app.savePicture());
	click('do-keep', () => app.filterBy('keep'));
	click('do-hide', () => app.filterBy('hide'));
	click('kinds', (event) => onKind(app, event));
	click('table', (event) => onTable(app, event));
	click('more', () => {
		app.rowsShown = Infinity;
		drawTable(app);
	});
	click('processes', (event) => {
		const name = event.target.closest('[data-process]')?.dataset.process;
		if (name !== undefined)
			app.set({only: app.state.only === `comm:${name}` ? '' : `comm:${name}`, zoom: 0}, 2);
	});
	$('table').addEventListener('keydown', (event) => event.key === 'Enter' && onTable(app, event));
	$('group').addEventListener('change', () => app.set({group: $('group').value, zoom: 0}, 3));
	onType(app, 'search', () => app.set({q: $('search').value}, 1));
	for (const field of FILTER_FIELDS)
		onType(app, field, () => app.set({[field]: $(field).value, zoom: 0}, 2));
	document.addEventListener('keydown', (event) => onKey(app, event));
	for (const flame of [app.flame, app.callers, app.callees])
		flame.canvas.addEventListener('focus', () => (app.lastFlame = flame));
	addEventListener('hashchange', () => {
		if (location.hash === app.written)
			return;
		app.readAddress();
		app.chooseTheme();
		app.kindsShape = app.processesShape = '';
		app.update(3);
	});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
		app.chooseTheme();
		app.kindsShape = app.processesShape = '';
		app.update(1);
	});
	$('sheet').querySelector('dl').replaceChildren(...KEY_SHEET.flatMap(([keys, text]) =>
		[element('dt', {}, ...keys.trim().split(' ').flatMap((key) => [element('kbd', {text: key}), ' '])), element('dd', {text})]));
}

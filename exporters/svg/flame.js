// SPDX-License-Identifier: Apache-2.0
//
// What a flame graph does in a browser: a click shows a function in full width, Escape or a click on
// "all" shows all again; Ctrl-F or a click on "search" marks what a regular expression matches.
// A box is a <g> with data-x and data-w in parts of WIDTH and data-y, its row from the top.
'use strict';

const CHAR = 6.6, WIDTH = 1180, LEFT = 10;
const SLIP = 0.01; // data-x and data-w are rounded
const boxes = [...document.querySelectorAll('g.box')];
const status = document.getElementById('status');
let pattern = null;

function number(box, name) {
	return Number(box.getAttribute('data-' + name));
}

// The whole name: a label may be cut.
function nameOf(box) {
	return box.querySelector('title').textContent.replace(/ \([^()]*%\)$/, '');
}

// Without room for a label a box has no text yet.
function textOf(box, rect) {
	let text = box.querySelector('text');

	if (!text) {
		text = box.appendChild(document.createElementNS(box.namespaceURI, 'text'));
		text.setAttribute('y', Number(rect.getAttribute('y')) + 12);
	}
	return text;
}

function place(box, x, w) {
	const rect = box.querySelector('rect'), name = nameOf(box), room = Math.floor((w - 4) / CHAR);

	rect.setAttribute('x', LEFT + x);
	rect.setAttribute('width', w);
	if (room < 1 && !box.querySelector('text'))
		return;
	const text = textOf(box, rect);
	text.setAttribute('x', LEFT + x + 3);
	text.textContent = room >= name.length ? name : room > 3 ? name.slice(0, room - 1) + '…' : '';
}

function zoom(to) {
	const from = to ? number(to, 'x') : 0, width = to ? number(to, 'w') : WIDTH, row = to ? number(to, 'y') : 0;

	for (const box of boxes) {
		const x = number(box, 'x'), w = number(box, 'w');
		const is_caller = number(box, 'y') < row && x <= from + SLIP && x + w >= from + width - SLIP;
		const is_inside = number(box, 'y') >= row && x >= from - SLIP && x + w <= from + width + SLIP;

		box.style.display = is_caller || is_inside ? '' : 'none';
		box.style.opacity = is_caller ? 0.5 : 1;
		if (is_caller)
			place(box, 0, WIDTH);
		else if (is_inside)
			place(box, (x - from) * WIDTH / width, w * WIDTH / width);
	}
}

function search() {
	const text = prompt('Search for a regular expression; empty: no search', pattern ? pattern.source : '');
	let matched = [];

	if (text === null)
		return;
	try {
		pattern = text ? new RegExp(text) : null;
	} catch (error) {
		status.textContent = error.message;
		return;
	}
	for (const box of boxes) {
		const is_hit = pattern !== null && pattern.test(nameOf(box));

		box.classList.toggle('hit', is_hit);
		if (is_hit)
			matched.push([number(box, 'x'), number(box, 'w')]);
	}
	status.textContent = pattern ? `matched: ${(100 * covered(matched) / WIDTH).toFixed(2)} %` : '';
}

// Boxes above each other count once.
function covered(matched) {
	let end = 0, sum = 0;

	for (const [x, w] of matched.sort((a, b) => a[0] - b[0])) {
		sum += Math.max(0, x + w - Math.max(end, x));
		end = Math.max(end, x + w);
	}
	return sum;
}

for (const box of boxes) {
	box.addEventListener('click', () => zoom(box));
	box.addEventListener('mouseover', () => { status.textContent = box.querySelector('title').textContent; });
}
document.getElementById('all').addEventListener('click', () => zoom(null));
document.getElementById('search').addEventListener('click', search);
window.addEventListener('keydown', (event) => {
	if (event.key === 'Escape') {
		zoom(null);
	} else if (event.key === 'f' && event.ctrlKey) {
		event.preventDefault();
		search();
	}
});

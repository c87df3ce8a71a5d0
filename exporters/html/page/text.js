// SPDX-License-Identifier: Apache-2.0
//
// Text as it is shown. Names come from programs that may be hostile: what would act on a terminal or turn the
// direction of the text around is shown, not done, and what is too long is cut. Text only ever goes into
// textContent and fillText.

const MAX_SHOWN = 400;

// Control characters, bidi marks, zero-width and invisible ones, tags, halves of surrogate pairs.
const UNSEEN = new RegExp('[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5' +
	'\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u205f-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffc\\ufffe\\uffff' +
	'\\u{e0000}-\\u{e0fff}\\ud800-\\udfff]', 'gu');

function showUnseen(char) {
	return `\u27e8${char.codePointAt(0).toString(16).toUpperCase().padStart(2, '0')}\u27e9`;
}

function shown(text, max = MAX_SHOWN) {
	const cut = text.length > max ? text.slice(0, max) + '\u2026' : text;
	return cut.replace(UNSEEN, showUnseen);
}

function percent(part, all) {
	const value = all > 0 ? 100 * part / all : 0;
	return `${value >= 99.995 || value === 0 ? value.toFixed(0) : value.toFixed(2)} %`;
}

// Rounded down, so that 100 % means all of it.
function percentDown(part, all) {
	return `${(all > 0 ? Math.floor(10000 * part / all) / 100 : 0).toFixed(2)} %`;
}

function duration(ns) {
	const size = Math.abs(ns);
	if (size >= 100e9)
		return `${(ns / 1e9).toFixed(0)} s`;
	if (size >= 1e9)
		return `${(ns / 1e9).toFixed(2)} s`;
	if (size >= 1e6)
		return `${(ns / 1e6).toFixed(1)} ms`;
	return size >= 1e3 ? `${(ns / 1e3).toFixed(1)} \u00b5s` : `${ns.toFixed(0)} ns`;
}

function grouped(number) {
	return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

function counted(number, word) {
	return `${grouped(number)} ${word}${Math.round(number) === 1 ? '' : 's'}`;
}

function bytesText(bytes) {
	return bytes >= 1e6 ? `${(bytes / 1048576).toFixed(1)} MiB` : `${grouped(bytes)} bytes`;
}

// Makes weights readable, whatever they count.
function weightText(unit, weight) {
	if (unit === 'time')
		return duration(weight);
	return unit === 'bytes' ? bytesText(weight) : `${grouped(weight)} ${unit}`;
}

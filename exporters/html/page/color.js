// SPDX-License-Identifier: Apache-2.0
//
// Colours of kinds and of processes. The hues are those of Okabe and Ito ("Color Universal Design", 2008), which
// people with any kind of colour vision tell apart, made lighter or darker for what is written on them. A kind
// has three shades, so that neighbours of one kind do not run into each other.

// Light, dark.
const FIXED_COLORS = {
	kernel: ['#eba98a', '#8a4526'],
	native: ['#a9cbe8', '#2c5578'],
	cut: ['#c4c4c4', '#5a5a5a'],
	gap: ['#d8d8d8', '#484848'],
	unknown: ['#d5d2c8', '#55524a'],
};
const HUES = [['#93cfb5', '#22684f'], ['#eadb84', '#75661a'], ['#dcb1cf', '#774a6a'], ['#b9b6e6', '#4f4b93'],
	['#a2dadd', '#25696f'], ['#cdd98f', '#5c6a1f']];
const GROUP_COLOR = ['#d4d8dd', '#3d434b'];
const PROCESS_COLORS = [['#3f7fb8', '#6aa9de'], ['#d98a1f', '#e8a445'], ['#1f9273', '#45bb98'], ['#a8578c', '#cf88b6'],
	['#6c67b8', '#9b96e6'], ['#b5533a', '#e0866c'], ['#8c8412', '#c5bc45']];
const OTHERS_COLOR = ['#a9adb3', '#6d727a'];
const INK = {
	text: ['#1c2126', '#e9ecef'], faint: ['#69727c', '#98a1ab'], paper: ['#ffffff', '#15181c'], line: ['#e1e5e9', '#2c3238'],
	hit: ['#c2187a', '#ff6db6'], hitText: ['#ffffff', '#26000f'], selected: ['#1c2126', '#ffffff'], range: ['#2f6fb033', '#6aa9de40'],
	heat: ['#b5532a', '#f0a070'],
};

function parts(color) {
	return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}

function mixed(color, other, share) {
	const a = parts(color), b = parts(other);
	return '#' + a.map((value, i) => Math.round(value + (b[i] - value) * share).toString(16).padStart(2, '0')).join('');
}

class Colors {
	constructor(kinds) {
		this.kinds = kinds;
		this.dark = 0;
		this.make();
	}

	// A language has the same hue in all pages, unless another took it.
	make() {
		const taken = new Set();
		const order = [...this.kinds.keys()].sort((a, b) => this.kinds[a] < this.kinds[b] ? -1 : 1);
		this.pairs = [];
		for (const kind of order) {
			const name = this.kinds[kind];
			let at = [...name].reduce((sum, char) => (sum * 31 + char.codePointAt(0)) >>> 0, 7) % HUES.length;
			if (Object.hasOwn(FIXED_COLORS, name)) {
				this.pairs[kind] = FIXED_COLORS[name];
				continue;
			}
			for (let i = 0; i < HUES.length && taken.has(at); i++)
				at = (at + 1) % HUES.length;
			taken.add(at);
			this.pairs[kind] = HUES[at];
		}
		this.pairs.push(GROUP_COLOR);
	}

	choose(isDark) {
		this.dark = isDark ? 1 : 0;
		const toward = isDark ? '#000000' : '#ffffff';
		this.shades = this.pairs.map((pair) =>
			[pair[this.dark], mixed(pair[this.dark], toward, .13), mixed(pair[this.dark], toward, .26)]);
		this.pale = this.pairs.map((pair) => mixed(pair[this.dark], INK.paper[this.dark], .72));
		this.heat = Array.from({length: 64}, (_, i) => mixed(INK.paper[this.dark], INK.heat[this.dark], .06 + .94 * i / 63));
		// Blue, nothing, red.
		this.moved = Array.from({length: 65}, (_, i) => {
			const share = Math.abs(i - 32) / 32;
			const end = i < 32 ? ['#3b7fc4', '#4a93dd'] : ['#d9503f', '#e8604c'];
			return mixed(['#ececec', '#33383e'][this.dark], end[this.dark], share);
		});
	}

	ink(name) {
		return INK[name][this.dark];
	}

	process(i) {
		return (i < PROCESS_COLORS.length ? PROCESS_COLORS[i] : OTHERS_COLOR)[this.dark];
	}
}

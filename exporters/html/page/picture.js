// SPDX-License-Identifier: Apache-2.0
//
// The graph as it is shown, range, filters, zoom and search, as an SVG file that stands alone: the same as
// `-o x.svg` writes (exporters/svg/encode.c), with the same script. It is light on any
// screen, and its root is above, so that it is seen where it begins.

const SVG_WIDTH = 1180, SVG_LEFT = 10, SVG_ROW = 17, SVG_TOP = 62, SVG_BOTTOM = 10, SVG_LETTER = 6.6, SVG_LEAST = .1;
const SVG_STYLE = 'text { font: 11px monospace; fill: #1c2126; }\n.box text { pointer-events: none; }\n' +
	'.box:hover rect { stroke: #1c2126; }\n.hit rect { fill: #e05aa8; }\n' +
	'.button { cursor: pointer; text-decoration: underline; }\n#title { font-size: 14px; }';
const ENTITIES = {'<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;'};

// Text of others in XML: no markup, and nothing that acts without being seen.
function xml(text, max) {
	return shown(text, max).replace(/[<>&"]/g, (char) => ENTITIES[char]);
}

class SvgPicture {
	constructor(app) {
		const {boxes, rows, leftOut} = app.flame.boxesOf(SVG_WIDTH, SVG_LEAST);
		Object.assign(this, {app, tree: app.tree, boxes, rows, leftOut});
	}

	get text() {
		const {app} = this, out = [this.head()];
		app.colors.choose(false);
		for (let i = 0; i < this.boxes.length; i += 3)
			out.push(this.box(this.boxes[i], this.boxes[i + 1], this.boxes[i + 2]));
		app.colors.choose(app.isDark);
		out.push('<script><![CDATA[\n', FLAME_SCRIPT, ']]><', '/script>\n</svg>\n'); // a page's script may not hold what would end it
		return out.join('');
	}

	// What is not seen in it: of when, and of what.
	get chosen() {
		const {state, strip, sum, weights} = this.app, parts = [];
		if (state.range)
			parts.push(state.range.map((time) => `${strip.secondsOf(time).toFixed(2)} s`).join(' to '));
		if (state.only)
			parts.push(state.only.replace(/^!/, 'without '));
		for (const field of ['keep', 'hide'])
			if (state[field])
				parts.push(`${field} ${state[field]}`);
		if (state.off.length)
			parts.push(`without ${state.off.join(', ')}`);
		if (weights.all - sum > weights.all * 1e-9)
			parts.push(`hidden: ${percent(weights.all - sum, weights.all)}`);
		return parts;
	}

	head() {
		const {app, rows, leftOut} = this, height = SVG_TOP + rows * SVG_ROW + SVG_BOTTOM, width = SVG_WIDTH + 2 * SVG_LEFT;
		const title = [app.title, ...this.chosen, ...(app.unitName === 'time' ? [app.timeName()] : [])].join(', ');
		const status = app.isDiff ? 'red: more of it, blue: less' : leftOut ? `${counted(leftOut, 'box').replace(/xs$/, 'xes')} ${leftOut === 1 ? 'is' : 'are'} too narrow to be shown` : '';
		return `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<title>${xml(title, 300)}</title>
<style>${SVG_STYLE}</style>
<rect width="100%" height="100%" fill="#ffffff"/>
<text id="title" x="${SVG_LEFT}" y="24">${xml(title, 300)}</text>
<text id="all" class="button" x="${SVG_LEFT}" y="46">all</text>
<text id="search" class="button" x="${SVG_LEFT + 40}" y="46">search</text>
<text id="status" x="${SVG_LEFT + 110}" y="46">${xml(status)}</text>
`;
	}

	box(node, x, width) {
		const {app, tree} = this, depth = tree.depth[node], frame = tree.frame[node], name = frame < 0 ? 'all' : app.label(tree, node);
		const y = SVG_TOP + depth * SVG_ROW, room = Math.floor((width - 4) / SVG_LETTER);
		const isHit = frame >= 0 && app.owner.isHit && app.owner.isHit[frame];
		const amounts = [app.weight(tree.total[node]), ...(app.isDiff && frame >= 0 ? [app.moveText(tree.total[node], tree.base[node])] : []),
			percent(tree.total[node], app.sum)];
		const seen = shown(name), label = seen.length <= room ? seen : room > 3 ? `${seen.slice(0, room - 1)}\u2026` : '';
		return `<g class="box${isHit ? ' hit' : ''}" data-x="${x.toFixed(3)}" data-w="${width.toFixed(3)}" data-y="${depth}">\n` +
			`<title>${xml(name)} (${amounts.join(', ')})</title><rect x="${(SVG_LEFT + x).toFixed(2)}" y="${y}" width="${width.toFixed(2)}" ` +
			`height="${SVG_ROW - 1}" fill="${app.fill(tree, node, null)}"/>` +
			(room >= 1 ? `<text x="${(SVG_LEFT + x + 3).toFixed(2)}" y="${y + 12}">${xml(label)}</text>` : '') + '</g>\n';
	}
}

// By the browser's own way to save a file; nothing leaves the page.
App.prototype.savePicture = function () {
	if (this.state.view !== 'graph' || !(this.sum > 0))
		return;
	const url = URL.createObjectURL(new Blob([new SvgPicture(this).text], {type: 'image/svg+xml'}));
	const name = this.title.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[-.]+|-+$/g, '').slice(0, 80);
	element('a', {href: url, download: `${name || 'profile'}.svg`}).click();
	setTimeout(() => URL.revokeObjectURL(url), 60000);
};

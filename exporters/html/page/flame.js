// SPDX-License-Identifier: Apache-2.0
//
// A tree as boxes on a canvas that is as large as what is seen of it. A flame graph has its root below, an icicle
// above. Only boxes are drawn that can be seen; those too narrow are left out with all that is below them.

const ROW = 19, NARROWEST = .6, TEXT_LEAST = 24, FONT = '12px ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

class Flame {
	// owner: {colors, nameOf(frame), kindOf(frame), isHit, onHover(node, event), onPick(node, isTwice), fillOf}
	constructor(box, owner, skip = 0) {
		this.skip = skip; // rows at the root that are not shown
		this.box = box; // scrolls; in it a canvas that stays, and what makes it long
		this.canvas = box.querySelector('canvas');
		this.long = box.querySelector('.long');
		this.owner = owner;
		this.isUp = false;
		this.hover = this.selected = -1;
		this.zoom = 0;
		this.from = 0;
		this.to = 1;
		this.rows = 1;
		box.addEventListener('scroll', () => this.later());
		this.canvas.addEventListener('mousemove', (event) => this.point(event));
		this.canvas.addEventListener('mouseleave', () => this.leave());
		this.canvas.addEventListener('click', (event) => this.pick(event));
		this.canvas.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
		new ResizeObserver(() => this.draw()).observe(box);
	}

	later() {
		if (!this.isWaiting)
			requestAnimationFrame(() => {
				this.isWaiting = false;
				this.draw();
			});
		this.isWaiting = true;
	}

	show(tree, zoom = 0) {
		this.tree = tree;
		this.hover = -1;
		if (this.selected >= tree.n)
			this.selected = -1;
		this.zoomTo(zoom < tree.n ? zoom : 0);
	}

	// Draws when it is seen anyway.
	zoomTo(node) {
		const {tree} = this;
		this.zoom = node;
		this.from = tree.x[node];
		this.to = tree.x[node] + tree.total[node];
		if (!(this.to > this.from)) {
			this.zoom = 0;
			this.from = 0;
			this.to = tree.total[0];
		}
		this.draw(true);
	}

	get scale() {
		return this.to > this.from ? this.width / (this.to - this.from) : 0;
	}

	fit() {
		const density = window.devicePixelRatio || 1, {canvas, box} = this;
		const width = box.clientWidth, height = box.clientHeight;
		if (width !== this.width || height !== this.height || density !== this.density) {
			this.width = width;
			this.height = height;
			this.density = density;
			canvas.width = Math.round(width * density);
			canvas.height = Math.round(height * density);
			canvas.style.width = `${width}px`;
			canvas.style.height = `${height}px`;
		}
		const context = canvas.getContext('2d', {alpha: false});
		context.setTransform(density, 0, 0, density, 0, 0);
		return context;
	}

	// Boxes that are wide enough, as [node, x, width]..., in `width` pixels, and how many rows there are.
	boxesOf(width, narrowest) {
		const {tree, from, to} = this, boxes = [], scale = to > from ? width / (to - from) : 0, least = narrowest / scale;
		let rows = 1, leftOut = 0;
		for (let i = 0; i < tree.n;) {
			const x = tree.x[i], end = x + tree.total[i];
			if (tree.total[i] < least || end <= from || x >= to) {
				leftOut += tree.total[i] > 0 && end > from && x < to ? 1 : 0;
				i = tree.end[i];
				continue;
			}
			if (tree.depth[i] < this.skip) {
				i++;
				continue;
			}
			const left = Math.max(0, (x - from) * scale);
			boxes.push(i, left, Math.min(width, (end - from) * scale) - left);
			rows = Math.max(rows, tree.depth[i] + 1 - this.skip);
			i++;
		}
		return {boxes, rows, leftOut};
	}

	findBoxes() {
		const {boxes, rows} = this.boxesOf(this.width, NARROWEST);
		this.rows = rows;
		return boxes;
	}

	top(row) {
		const depth = row - this.skip;
		return this.isUp ? this.long.clientHeight - (depth + 1) * ROW - this.box.scrollTop : depth * ROW - this.box.scrollTop;
	}

	draw(isMoved = false) {
		if (!this.tree || this.box.clientWidth === 0)
			return;
		const context = this.fit(), boxes = this.findBoxes();
		const height = Math.max(this.rows * ROW + 2, this.box.clientHeight);
		if (this.long.clientHeight !== height) {
			this.long.style.height = `${height}px`;
			isMoved = true;
		}
		if (isMoved && this.isUp)
			this.box.scrollTop = height;
		this.paint(context, boxes);
	}

	paint(context, boxes) {
		const {owner, tree} = this, {colors} = owner, hits = owner.isHit, base = this.top(0), step = this.isUp ? -ROW : ROW;
		context.fillStyle = colors.ink('paper');
		context.fillRect(0, 0, this.width, this.height);
		context.font = FONT;
		context.textBaseline = 'middle';
		context.direction = 'ltr';
		this.letter = this.letter || context.measureText('abcdefghijklmnopqrstuvwxyz_:.').width / 29;
		const text = colors.ink('text'), hitText = colors.ink('hitText'), hit = colors.ink('hit'), faint = colors.ink('faint');
		for (let k = 0; k < boxes.length; k += 3) {
			const node = boxes[k], x = boxes[k + 1], width = boxes[k + 2], y = base + tree.depth[node] * step;
			if (y > this.height || y < -ROW)
				continue;
			const frame = tree.frame[node], isHit = hits && frame >= 0 && hits[frame];
			context.fillStyle = isHit ? hit : owner.fillOf(tree, node, hits);
			context.fillRect(x, y, width > 2 ? width - 1 : width, ROW - 1);
			if (width < TEXT_LEAST)
				continue;
			context.fillStyle = isHit ? hitText : hits ? faint : text;
			this.write(context, node, x + 4, y + ROW / 2, width - 8);
		}
		this.outline(context, this.selected, colors.ink('selected'), 2);
		if (this.hover !== this.selected)
			this.outline(context, this.hover, colors.ink('selected'), 1);
	}

	write(context, node, x, y, width) {
		let letters = Math.floor(width / this.letter), name = shown(this.owner.labelOf(this.tree, node), letters + 8);
		const fits = (text) => context.measureText(text).width <= width;
		if (name.length > letters * .8 && !fits(name)) {
			for (name = name.slice(0, letters + 3); name.length > 1 && !fits(name + '\u2026');)
				name = name.slice(0, name.length > 8 ? -2 : -1);
			name = name.length > 1 ? name + '\u2026' : '';
		}
		context.fillText(name, x, y);
	}

	// Where a node is seen; null: nowhere.
	rectOf(node) {
		const {tree, scale} = this;
		if (node < 0 || node >= tree.n || tree.total[node] <= 0)
			return null;
		const left = Math.max(0, (tree.x[node] - this.from) * scale);
		const right = Math.min(this.width, (tree.x[node] + tree.total[node] - this.from) * scale);
		return right <= left ? null : {x: left, width: right - left, y: this.top(tree.depth[node])};
	}

	outline(context, node, color, width) {
		const rect = this.rectOf(node);
		if (!rect)
			return;
		context.strokeStyle = color;
		context.lineWidth = width;
		context.strokeRect(rect.x + width / 2, rect.y + width / 2 - .5, Math.max(2, rect.width - 1 - width), ROW - width);
	}

	nodeAt(x, y) {
		const {tree} = this, weight = this.from + x / this.scale;
		const depth = Math.floor(this.isUp ? (this.top(0) + ROW - y) / ROW : (y - this.top(0)) / ROW);
		let node = 0;
		if (depth < this.skip || depth >= this.rows + this.skip)
			return -1;
		for (let at = 0; at < depth; at++) {
			let next = node + 1;
			while (next < tree.end[node] && tree.x[next] + tree.total[next] <= weight)
				next = tree.end[next];
			if (next >= tree.end[node] || tree.x[next] > weight)
				return -1;
			node = next;
		}
		return tree.total[node] * this.scale < NARROWEST ? -1 : node;
	}

	point(event) {
		const node = this.nodeAt(event.offsetX, event.offsetY);
		if (node !== this.hover) {
			this.hover = node;
			this.later();
		}
		this.owner.onHover(this, node, event);
	}

	leave() {
		this.hover = -1;
		this.later();
		this.owner.onHover(this, -1, null);
	}

	pick(event) {
		const node = this.nodeAt(event.offsetX, event.offsetY);
		if (node >= 0)
			this.owner.onPick(this, node);
	}

	// With Ctrl nearer or farther, around the pointer; with Shift, or to the side, along.
	wheel(event) {
		const all = this.tree.total[0], size = this.to - this.from;
		const aside = event.shiftKey ? event.deltaY : event.deltaX;
		if (event.ctrlKey) {
			const at = this.from + event.offsetX / this.scale, next = Math.min(all, Math.max(all / 1e7, size * 1.002 ** event.deltaY));
			this.from = Math.max(0, Math.min(all - next, at - event.offsetX / this.width * next));
			this.to = this.from + next;
		} else if (Math.abs(aside) > 0 && size < all) {
			this.from = Math.max(0, Math.min(all - size, this.from + aside / this.width * size));
			this.to = this.from + size;
		} else {
			return;
		}
		event.preventDefault();
		this.later();
	}

	near(factor) {
		const all = this.tree.total[0], middle = (this.from + this.to) / 2;
		const size = Math.min(all, Math.max(all / 1e7, (this.to - this.from) * factor));
		this.from = Math.max(0, Math.min(all - size, middle - size / 2));
		this.to = this.from + size;
		this.draw();
	}

	select(node) {
		this.selected = node;
		const rect = this.rectOf(node);
		if (rect && (rect.y < 0 || rect.y + ROW > this.height))
			this.box.scrollTop += rect.y - this.height / 2;
		this.draw();
	}

	// Selects a node and goes where it can be seen.
	reveal(node) {
		const {tree} = this;
		const isSeen = tree.x[node] >= this.from && tree.x[node] + tree.total[node] <= this.to * (1 + 1e-9);
		if (!isSeen || tree.total[node] * this.scale < 12) {
			let at = node;
			while (tree.parent[at] > 0 && tree.total[tree.parent[at]] <= 4 * tree.total[node])
				at = tree.parent[at];
			this.zoomTo(at);
		}
		this.select(node);
	}
}

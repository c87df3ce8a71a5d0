// SPDX-License-Identifier: Apache-2.0
//
// The strip: CPU time over the recording, as columns of the busiest processes, or as a grid: a column for each
// second, in it rows of 20 ms, so that what repeats within a second is seen. A range that is dragged over it is
// what all views show. Times are those of events: 32 bits of the recording's length.

const GRID_ROWS = 50, GRID_MOST = 7200, SHOWN_PROCESSES = 7;

class Strip {
	// owner: {profile, colors, range, onRange(range), onHover(text, event)}
	constructor(canvas, owner) {
		this.canvas = canvas;
		this.owner = owner;
		this.isGrid = false;
		canvas.addEventListener('pointerdown', (event) => this.down(event));
		canvas.addEventListener('pointermove', (event) => this.move(event));
		canvas.addEventListener('pointerup', (event) => this.up(event));
		canvas.addEventListener('pointerleave', () => owner.onHover('', null));
		canvas.addEventListener('keydown', (event) => this.key(event));
		new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
		const info = owner.profile.sides[0];
		this.length = info.end - info.start; // ns
		this.seconds = Math.max(1, Math.ceil(this.length / 1e9 - 1e-6));
		this.perColumn = Math.ceil(this.seconds / GRID_MOST); // seconds
	}

	get unit() {
		return 4294967295 / this.length; // of time, per ns
	}

	// Processes of one name are one, the busiest first.
	rank() {
		const {profile} = this.owner, {rowThread, rowTotal, threads, processes} = profile, weights = new Map();
		const perThread = new Float64Array(threads.length);
		for (let row = 0; row < profile.baseRows; row++)
			perThread[rowThread[row]] += rowTotal[row];
		threads.forEach((thread, i) => {
			const name = processes[thread.process].name;
			weights.set(name, (weights.get(name) || 0) + perThread[i]);
		});
		this.names = [...weights].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).filter((pair) => pair[1] > 0);
		const rankOf = new Map(this.names.map((pair, i) => [pair[0], Math.min(i, SHOWN_PROCESSES)]));
		this.threadRank = threads.map((thread) => rankOf.get(processes[thread.process].name) ?? SHOWN_PROCESSES);
	}

	// Weights by column, of `isRow` only.
	weigh(isRow) {
		const {profile} = this.owner, {events, rowThread, rowTotal} = profile, ranks = SHOWN_PROCESSES + 1;
		// Columns of at least some ticks of the sampling clock: narrower ones would show its beat.
		const {period} = profile.sides[0], ticks = period ? this.length / period : 1e9;
		const columns = this.columns = Math.round(Math.max(40, Math.min(600, (this.width || 1200) / 3, ticks / 6)));
		const bins = this.bins = new Float64Array(columns * ranks), scale = columns / 4294967296;
		const cells = this.gridColumns = Math.ceil(this.seconds / this.perColumn);
		const grid = this.grid = new Float64Array(cells * GRID_ROWS), perUnit = 1 / this.unit;
		const columnNs = 1e9 * this.perColumn, rowNs = columnNs / GRID_ROWS;
		const {time, first, weight} = events, threadRank = this.threadRank;
		for (let row = 0; row < profile.baseRows; row++) {
			if (isRow && !isRow[row])
				continue;
			const rank = threadRank[rowThread[row]], end = first[row + 1], each = rowTotal[row] / (end - first[row]);
			for (let i = first[row]; i < end; i++) {
				const own = weight ? weight[i] : each, at = time[i];
				bins[Math.floor(at * scale) * ranks + rank] += own;
				grid[Math.min(grid.length - 1, Math.floor(at * perUnit / rowNs))] += own;
			}
		}
		this.draw();
	}

	draw() {
		const {canvas} = this, density = window.devicePixelRatio || 1;
		const width = canvas.parentElement.clientWidth, height = canvas.clientHeight;
		if (!this.bins || width === 0)
			return;
		this.width = width;
		this.height = height;
		if (canvas.width !== Math.round(width * density) || canvas.height !== Math.round(height * density)) {
			canvas.width = Math.round(width * density);
			canvas.height = Math.round(height * density);
		}
		const context = canvas.getContext('2d', {alpha: false});
		context.setTransform(density, 0, 0, density, 0, 0);
		context.fillStyle = this.owner.colors.ink('paper');
		context.fillRect(0, 0, width, height);
		if (this.isGrid)
			this.drawGrid(context);
		else
			this.drawColumns(context);
	}

	drawColumns(context) {
		const {columns, bins, width} = this, {colors} = this.owner, ranks = SHOWN_PROCESSES + 1, height = this.height - 14;
		let most = 0;
		for (let i = 0; i < columns; i++) {
			let sum = 0;
			for (let rank = 0; rank < ranks; rank++)
				sum += bins[i * ranks + rank];
			most = Math.max(most, sum);
		}
		this.most = most;
		const step = width / columns, scale = most ? (height - 4) / most : 0;
		for (let i = 0; i < columns; i++) {
			let y = height;
			for (let rank = 0; rank < ranks; rank++) {
				const size = bins[i * ranks + rank] * scale;
				if (size <= 0)
					continue;
				context.fillStyle = colors.process(rank);
				context.fillRect(i * step, y - size, Math.max(1, step - (step > 2.5 ? .5 : 0)), size);
				y -= size;
			}
		}
		this.axis(context, height);
		if (this.owner.unitName === 'time' && most) {
			const cpus = most / (this.length / columns), text = `${cpus >= 10 ? cpus.toFixed(0) : cpus.toFixed(1)} CPUs`;
			context.fillStyle = colors.ink('paper');
			context.fillRect(width - 52, 2, 50, 14);
			context.fillStyle = colors.ink('faint');
			context.fillText(text, width - 49, 4);
		}
		this.veil(context, (time) => time / 4294967296 * width, height);
	}

	axis(context, y) {
		const seconds = this.length / 1e9, {colors} = this.owner;
		const steps = [.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];
		const step = steps.find((size) => size / seconds * this.width >= 60) || seconds;
		context.fillStyle = colors.ink('line');
		context.fillRect(0, y, this.width, 1);
		context.fillStyle = colors.ink('faint');
		context.font = '10px ui-sans-serif, system-ui, "DejaVu Sans", sans-serif';
		context.textBaseline = 'top';
		for (let at = 0; at < seconds; at += step) {
			const x = at / seconds * this.width;
			context.fillRect(x, y, 1, 4);
			if (x < this.width - 36)
				context.fillText(`${+at.toFixed(3)} s`, x + 3, y + 2);
		}
	}

	// What is not chosen is dimmed.
	veil(context, place, height) {
		const {range, colors} = this.owner;
		if (!range)
			return;
		const a = place(range[0]), b = Math.max(place(range[1]), a + 1);
		context.globalAlpha = .72;
		context.fillStyle = colors.ink('paper');
		context.fillRect(0, 0, a, height);
		context.fillRect(b, 0, this.width - b, height);
		context.globalAlpha = 1;
		context.fillStyle = colors.ink('text');
		context.fillRect(Math.max(0, a - 1), 0, 1.5, height);
		context.fillRect(Math.min(this.width - 1.5, b), 0, 1.5, height);
	}

	get cellWidth() {
		const width = Math.min(24, this.width / this.gridColumns);
		return width > 2 ? Math.floor(width) : width;
	}

	drawGrid(context) {
		const {grid, gridColumns, height} = this, {range, colors} = this.owner, wide = this.cellWidth, tall = height / GRID_ROWS;
		let most = 0;
		for (const value of grid)
			most = Math.max(most, value);
		this.most = most;
		const unit = this.unit * 1e9 * this.perColumn / GRID_ROWS;
		for (let i = 0; i < grid.length; i++) {
			const column = Math.floor(i / GRID_ROWS), row = i % GRID_ROWS;
			const isIn = !range || ((i + 1) * unit > range[0] && i * unit < range[1]);
			const level = grid[i] > 0 ? Math.ceil(grid[i] / most * 63) : -1;
			if (level < 0 && isIn && !range)
				continue;
			context.globalAlpha = isIn ? 1 : .25;
			context.fillStyle = level < 0 ? colors.ink(isIn ? 'line' : 'paper') : colors.heat[level];
			context.fillRect(column * wide, row * tall, wide > 3 ? wide - 1 : wide, tall);
		}
		context.globalAlpha = 1;
		context.fillStyle = colors.ink('line');
		context.fillRect(gridColumns * wide, 0, 1, height);
	}

	// --- pointer and keys ---

	// The time at a place: of a grid that of its cell's start, or end.
	timeAt(event, isEnd) {
		const x = Math.max(0, Math.min(this.width, event.offsetX)), y = Math.max(0, Math.min(this.height - 1, event.offsetY));
		if (!this.isGrid)
			return Math.min(4294967295, x / this.width * 4294967296);
		const column = Math.min(this.gridColumns - 1, Math.floor(x / this.cellWidth));
		const cell = column * GRID_ROWS + Math.floor(y / this.height * GRID_ROWS) + (isEnd ? 1 : 0);
		return Math.min(4294967295, cell * this.unit * 1e9 * this.perColumn / GRID_ROWS);
	}

	down(event) {
		if (event.button !== 0)
			return;
		this.dragFrom = event;
		try {
			this.canvas.setPointerCapture(event.pointerId);
		} catch {
			// a pointer that is gone already
		}
	}

	dragged(event) {
		const start = this.dragFrom, isForward = this.timeAt(event, false) >= this.timeAt(start, false);
		return isForward ? [this.timeAt(start, false), this.timeAt(event, true)] : [this.timeAt(event, false), this.timeAt(start, true)];
	}

	isDrag(event) {
		const start = this.dragFrom;
		return start && Math.hypot(event.offsetX - start.offsetX, event.offsetY - start.offsetY) > 3;
	}

	move(event) {
		if (this.isDrag(event))
			this.owner.onRange(this.dragged(event), false);
		else
			this.owner.onHover(this.describe(event), event);
	}

	// A click takes the range back; in the grid it takes one cell.
	up(event) {
		if (this.isDrag(event))
			this.owner.onRange(this.dragged(event), true);
		else if (this.dragFrom)
			this.owner.onRange(this.isGrid && !this.owner.range ? this.dragged(event) : null, true);
		this.dragFrom = null;
	}

	secondsOf(time) {
		return time / this.unit / 1e9;
	}

	describe(event) {
		const {colors, unitName} = this.owner, at = this.timeAt(event, false);
		if (this.isGrid) {
			const cell = Math.floor(this.secondsOf(at) / this.perColumn * GRID_ROWS + 1e-6);
			return `${this.secondsOf(at).toFixed(2)} s: ${weightText(unitName, this.grid[cell] || 0)} of ${duration(2e7 * this.perColumn)} a CPU`;
		}
		const column = Math.min(this.columns - 1, Math.floor(at / 4294967296 * this.columns)), ranks = SHOWN_PROCESSES + 1;
		const lines = [`${this.secondsOf(at).toFixed(2)} s`];
		for (let rank = 0; rank < ranks; rank++) {
			const weight = this.bins[column * ranks + rank];
			if (weight > 0)
				lines.push(`${rank < SHOWN_PROCESSES ? shown(this.names[rank][0], 40) : 'others'}: ${weightText(unitName, weight)}`);
		}
		return colors && lines.join('\n');
	}

	// Arrows move the range, with Shift its end; Home and End go to the ends.
	key(event) {
		const step = 4294967296 / 50, aside = {ArrowLeft: -step, ArrowRight: step}[event.key];
		let [from, to] = this.owner.range || [0, 4294967296 / 5];
		if (event.key === 'Home' || event.key === 'End') {
			const size = to - from;
			from = event.key === 'Home' ? 0 : 4294967295 - size;
			to = from + size;
		} else if (aside === undefined) {
			return;
		} else if (event.shiftKey) {
			to = Math.max(from + step / 2, to + aside);
		} else if (this.owner.range) {
			const move = Math.max(-from, Math.min(4294967295 - to, aside));
			from += move;
			to += move;
		}
		event.preventDefault();
		event.stopPropagation();
		this.owner.onRange([from, Math.min(4294967295, to)], true);
	}
}

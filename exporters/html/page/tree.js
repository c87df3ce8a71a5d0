// SPDX-License-Identifier: Apache-2.0
//
// Trees of calls, as columns. A tree is built once for what the stacks are made of (kinds that are switched off,
// groups); a range of time or a filter only weighs it anew. Nodes are in preorder, the largest child first:
// those below node i are i + 1 to end[i] - 1, so that what is not wanted is skipped at once and nothing recurses.

class Trie {
	constructor(room) {
		this.n = 1;
		this.parent = new Int32Array(room);
		this.frame = new Int32Array(room);
		this.cell = new Int32Array(room);
		this.parent[0] = this.frame[0] = this.cell[0] = -1;
		this.slots = new Int32Array(1 << 10);
		this.resize(2 * room);
	}

	resize(least) {
		let size = 1 << 10;
		while (size < least)
			size *= 2;
		this.slots = new Int32Array(size);
		for (let i = 1; i < this.n; i++) {
			let at = this.hash(this.parent[i], this.frame[i]);
			while (this.slots[at])
				at = (at + 1) & (size - 1);
			this.slots[at] = i;
		}
	}

	hash(parent, frame) {
		let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
		hash ^= hash >>> 15;
		return Math.imul(hash, 0x2c1b3c6d) >>> 7 & (this.slots.length - 1);
	}

	grow() {
		for (const name of ['parent', 'frame', 'cell']) {
			const data = new Int32Array(2 * this[name].length);
			data.set(this[name]);
			this[name] = data;
		}
		this.resize(2 * this.parent.length);
	}

	child(parent, frame, cell) {
		const mask = this.slots.length - 1;
		let at = this.hash(parent, frame);
		for (let node; (node = this.slots[at]); at = (at + 1) & mask)
			if (this.parent[node] === parent && this.frame[node] === frame)
				return node;
		const node = this.n++;
		this.slots[at] = node;
		this.parent[node] = parent;
		this.frame[node] = frame;
		this.cell[node] = cell;
		if (this.n === this.parent.length)
			this.grow();
		return node;
	}
}

class Tree {
	// self: what each node of the trie weighs by itself; by it children are ordered.
	constructor(trie, self, nFrames) {
		const n = this.n = trie.n, total = self.slice(0, n), size = new Int32Array(n).fill(1);
		for (let i = n - 1; i > 0; i--) {
			total[trie.parent[i]] += total[i];
			size[trie.parent[i]] += size[i];
		}
		const {first, kids} = childrenOf(trie, total);
		const place = this.place = new Int32Array(n);
		for (let i = 0; i < n; i++) {
			let pos = place[i] + 1;
			for (let k = first[i]; k < first[i + 1]; k++) {
				place[kids[k]] = pos;
				pos += size[kids[k]];
			}
		}
		this.parent = new Int32Array(n);
		this.frame = new Int32Array(n);
		this.cell = new Int32Array(n);
		this.end = new Int32Array(n);
		this.depth = new Int32Array(n);
		for (let i = 0; i < n; i++) {
			const to = place[i];
			this.parent[to] = i ? place[trie.parent[i]] : -1;
			this.frame[to] = trie.frame[i];
			this.cell[to] = trie.cell[i];
			this.end[to] = to + size[i];
		}
		for (let i = 1; i < n; i++)
			this.depth[i] = this.depth[this.parent[i]] + 1;
		this.total = new Float64Array(n);
		this.self = new Float64Array(n);
		this.x = new Float64Array(n);
		this.markRecursion(nFrames);
	}

	// 1: a caller of this node is of the same frame, so that its time is counted there.
	markRecursion(nFrames) {
		const onPath = new Int32Array(nFrames), path = [];
		this.isInner = new Uint8Array(this.n);
		for (let i = 1; i < this.n; i++) {
			for (let depth = path.length; depth >= this.depth[i]; depth--)
				onPath[path.pop()]--;
			const frame = this.frame[i];
			this.isInner[i] = onPath[frame]++ ? 1 : 0;
			path.push(frame);
		}
	}

	// self: by node of this tree. Children lie side by side from where their parent begins.
	weigh(self) {
		const n = this.n, {parent, end, total, x} = this;
		this.self = self;
		total.set(self);
		for (let i = n - 1; i > 0; i--)
			total[parent[i]] += total[i];
		x[0] = 0;
		for (let i = 0; i < n; i++) {
			const next = end[i];
			if (i + 1 < next)
				x[i + 1] = x[i];
			if (i > 0 && next < end[parent[i]])
				x[next] = x[i] + total[i];
		}
	}

	// The frames of node i, root first, as one text each.
	path(i) {
		const path = [];
		for (; i > 0; i = this.parent[i])
			path.push(i);
		return path.reverse();
	}

	// The node one step to the side that has a weight; -1: there is none.
	sibling(i, isNext) {
		const parent = this.parent[i];
		if (parent < 0)
			return -1;
		let found = -1;
		for (let at = isNext ? this.end[i] : parent + 1; at < (isNext ? this.end[parent] : i); at = this.end[at]) {
			if (this.total[at] <= 0)
				continue;
			found = at;
			if (isNext)
				break;
		}
		return found;
	}

	child(i) {
		let found = -1;
		for (let at = i + 1; at < this.end[i]; at = this.end[at])
			if (this.total[at] > 0 && (found < 0 || this.total[at] > this.total[found]))
				found = at;
		return found;
	}
}

// Children of each node of a trie, the largest first.
function childrenOf(trie, total) {
	const n = trie.n, first = new Int32Array(n + 1), kids = new Int32Array(n);
	for (let i = 1; i < n; i++)
		first[trie.parent[i] + 1]++;
	for (let i = 0; i < n; i++)
		first[i + 1] += first[i];
	const next = first.slice();
	for (let i = 1; i < n; i++)
		kids[next[trie.parent[i]]++] = i;
	for (let i = 0; i < n; i++) {
		const start = first[i], end = first[i + 1];
		if (end - start > 16) {
			kids.subarray(start, end).sort((a, b) => total[b] - total[a] || a - b);
			continue;
		}
		for (let k = start + 1; k < end; k++) {
			const kid = kids[k];
			let at = k;
			for (; at > start && total[kids[at - 1]] < total[kid]; at--)
				kids[at] = kids[at - 1];
			kids[at] = kid;
		}
	}
	return {first, kids};
}

// What the stacks of a profile are, by group and without the kinds that are off. A unit is what has one leaf:
// a stack, of each group one.
class Calls {
	constructor(profile, groups, kindsOff) {
		this.profile = profile;
		this.groups = groups; // null or {ofRow(row), names}
		this.kindsOff = kindsOff;
		this.findUnits();
		this.build();
	}

	findUnits() {
		const {profile, groups} = this, n = profile.nRows;
		if (!groups) {
			this.rowUnit = profile.rowStack;
			this.nUnits = profile.nStacks;
			this.unitStack = null;
			return;
		}
		const unitOf = new Map(), stacks = new Ints(), group = new Ints();
		this.rowUnit = new Int32Array(n);
		for (let row = 0; row < n; row++) {
			const key = groups.ofRow(row) * profile.nStacks + profile.rowStack[row];
			let unit = unitOf.get(key);
			if (unit === undefined) {
				unit = stacks.length;
				unitOf.set(key, unit);
				stacks.push(profile.rowStack[row]);
				group.push(groups.ofRow(row));
			}
			this.rowUnit[row] = unit;
		}
		this.unitStack = stacks.done();
		this.unitGroup = group.done();
		this.nUnits = this.unitStack.length;
	}

	stackOf(unit) {
		return this.unitStack ? this.unitStack[unit] : unit;
	}

	build() {
		const {profile, kindsOff, nUnits} = this, {stackFirst, stackCells, cellFrame, frameKind} = profile;
		const room = Math.min(1 << 22, Math.max(1024, stackCells.length >> 1));
		const trie = new Trie(room), leaf = new Int32Array(nUnits);
		const isOff = new Uint8Array(64), pathFrame = [], pathNode = [];
		let known = 0; // of the last path
		for (const kind of kindsOff)
			isOff[kind] = 1;
		this.isGone = new Uint8Array(nUnits); // nothing of it is left
		for (let unit = 0; unit < nUnits; unit++) {
			const stack = this.stackOf(unit), end = stackFirst[stack + 1];
			let node = 0, depth = 0, isSame = true;
			if (this.groups) {
				node = trie.child(0, profile.nFrames + this.unitGroup[unit], -1);
				isSame = known > 0 && pathNode[0] === node;
				pathNode[0] = node;
				pathFrame[0] = -1;
				depth = 1;
			}
			for (let at = stackFirst[stack]; at < end; at++) {
				const cell = stackCells[at], frame = cellFrame[cell];
				if (isOff[frameKind[frame]])
					continue;
				if (isSame && depth < known && pathFrame[depth] === frame) {
					node = pathNode[depth++];
					continue;
				}
				isSame = false;
				node = trie.child(node, frame, cell);
				pathFrame[depth] = frame;
				pathNode[depth++] = node;
			}
			// What is behind the end of this path is of another one, unless nothing was changed.
			known = isSame ? known : depth;
			leaf[unit] = node;
			this.isGone[unit] = stackFirst[stack] < end && depth === (this.groups ? 1 : 0) ? 1 : 0;
		}
		this.finish(trie, leaf);
	}

	finish(trie, leaf) {
		const {profile, nUnits, isGone} = this, self = new Float64Array(trie.n);
		for (let row = 0; row < profile.nRows; row++) {
			const unit = this.rowUnit[row];
			if (!isGone[unit])
				self[leaf[unit]] += profile.rowTotal[row];
		}
		this.tree = new Tree(trie, self, profile.nFrames + (this.groups ? this.groups.names.length : 0));
		const first = this.nodeUnits = new Int32Array(this.tree.n + 1);
		this.unitNode = leaf;
		for (let unit = 0; unit < nUnits; unit++) {
			leaf[unit] = this.tree.place[leaf[unit]];
			first[leaf[unit] + 1]++;
		}
		for (let i = 0; i < this.tree.n; i++)
			first[i + 1] += first[i];
		const next = first.slice();
		this.unitsByNode = new Int32Array(nUnits);
		for (let unit = 0; unit < nUnits; unit++)
			this.unitsByNode[next[leaf[unit]]++] = unit;
		this.tree.place = null;
	}

	// 1 for each unit with a frame of which isMatch is 1.
	unitsWith(isMatch) {
		const {tree, nUnits} = this, has = new Uint8Array(tree.n), ret = new Uint8Array(nUnits);
		for (let i = 1; i < tree.n; i++)
			has[i] = has[tree.parent[i]] | isMatch[tree.frame[i]];
		for (let unit = 0; unit < nUnits; unit++)
			ret[unit] = has[this.unitNode[unit]];
		return ret;
	}

	// Weights and counts of units, of rows [first, end): all of them, or of events [from, to) only.
	weighUnits(first, end, isRow, events, from, to) {
		const weight = new Float64Array(this.nUnits), count = new Float64Array(this.nUnits), {rowUnit, profile} = this;
		const {rowTotal, rowSamples, rowWeight, rowCount} = profile;
		let all = 0;
		for (let row = first; !events && row < end; row++) {
			all += rowTotal[row];
			if (isRow && !isRow[row])
				continue;
			weight[rowUnit[row]] += rowTotal[row];
			count[rowUnit[row]] += rowSamples[row];
		}
		for (let i = from; events && i < to; i++) {
			const row = events.row[i], own = events.weight ? events.weight[i] : rowWeight[row];
			all += own;
			if (isRow && !isRow[row])
				continue;
			weight[rowUnit[row]] += own;
			count[rowUnit[row]] += rowCount[row];
		}
		return {weight, count, all};
	}

	// Drops what no filter lets through, and gives each node what is its own.
	selfOf(weights, isUnit, self = new Float64Array(this.tree.n)) {
		let sum = 0, count = 0;
		for (let unit = 0; unit < this.nUnits; unit++) {
			if (this.isGone[unit] || (isUnit && !isUnit[unit])) {
				weights.weight[unit] = weights.count[unit] = 0;
				continue;
			}
			self[this.unitNode[unit]] += weights.weight[unit];
			sum += weights.weight[unit];
			count += weights.count[unit];
		}
		return {self, sum, count};
	}

	// Samples below a node.
	countOf(node, weights) {
		let count = 0;
		for (let i = this.nodeUnits[node]; i < this.nodeUnits[this.tree.end[node]]; i++)
			count += weights.count[this.unitsByNode[i]];
		return count;
	}

	// Cells of a node and what each weighs, the heaviest first: lines, modules, inlined or not.
	cellsOf(node, weights) {
		const {profile, tree} = this, found = new Map(), isOff = new Set(this.kindsOff);
		const depth = tree.depth[node] - (this.groups ? 1 : 0);
		if (depth < 1)
			return [];
		const end = Math.min(this.nodeUnits[tree.end[node]], this.nodeUnits[node] + 5000);
		for (let i = this.nodeUnits[node]; i < end; i++) {
			const unit = this.unitsByNode[i], stack = this.stackOf(unit);
			let left = depth;
			for (let at = profile.stackFirst[stack]; at < profile.stackFirst[stack + 1]; at++) {
				const cell = profile.stackCells[at];
				if (isOff.has(profile.frameKind[profile.cellFrame[cell]]) || --left > 0)
					continue;
				found.set(cell, (found.get(cell) || 0) + weights.weight[unit]);
				break;
			}
		}
		return [...found].sort((a, b) => b[1] - a[1]);
	}
}

// Self and total of each frame, and its heaviest cell.
function talliesOf(tree, nFrames) {
	const self = new Float64Array(nFrames), total = new Float64Array(nFrames);
	for (let i = 1; i < tree.n; i++) {
		const frame = tree.frame[i];
		if (tree.total[i] === 0 || frame >= nFrames)
			continue;
		self[frame] += tree.self[i];
		if (!tree.isInner[i])
			total[frame] += tree.total[i];
	}
	return {self, total};
}

// Rows of `values` that are not 0, the largest first, `most` at most: sorts only what is shown.
function largest(values, most, isWanted) {
	let rows = [];
	for (let i = 0; i < values.length; i++)
		if (values[i] !== 0 && (!isWanted || isWanted[i]))
			rows.push(i);
	const count = rows.length;
	if (rows.length > 4 * most) {
		const sizes = new Float64Array(rows.length);
		for (let i = 0; i < rows.length; i++)
			sizes[i] = Math.abs(values[rows[i]]);
		sizes.sort();
		const least = sizes[sizes.length - most];
		rows = rows.filter((row) => Math.abs(values[row]) >= least);
	}
	rows.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
	return {rows: rows.slice(0, most), count};
}

// What calls a frame (isUp), or what it calls, as a tree whose root is the frame itself.
function treeAround(tree, frame, isUp, nFrames) {
	const trie = new Trie(1024), self = new Floats();
	const add = (node, weight) => {
		while (self.length <= node)
			self.push(0);
		self.data[node] += weight;
	};
	for (let i = 1; i < tree.n; i++) {
		if (tree.frame[i] !== frame || tree.isInner[i] || tree.total[i] === 0)
			continue;
		const root = trie.child(0, frame, tree.cell[i]);
		if (isUp) {
			let node = root;
			for (let at = tree.parent[i]; at > 0; at = tree.parent[at])
				node = trie.child(node, tree.frame[at], tree.cell[at]);
			add(node, tree.total[i]);
			continue;
		}
		const path = [root], depth = tree.depth[i];
		add(root, tree.self[i]);
		for (let at = i + 1; at < tree.end[i]; at++) {
			if (tree.total[at] === 0) {
				at = tree.end[at] - 1;
				continue;
			}
			const node = trie.child(path[tree.depth[at] - depth - 1], tree.frame[at], tree.cell[at]);
			path[tree.depth[at] - depth] = node;
			add(node, tree.self[at]);
		}
	}
	add(trie.n - 1, 0);
	const own = self.done(), ret = new Tree(trie, own, nFrames), placed = new Float64Array(ret.n);
	for (let i = 0; i < ret.n; i++)
		placed[ret.place[i]] = own[i];
	ret.weigh(placed);
	return ret;
}

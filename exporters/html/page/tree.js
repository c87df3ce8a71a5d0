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
	// Columns of nodes in preorder: parent, frame, cell, depth.
	constructor({parent, frame, cell, depth}, nFrames) {
		const n = this.n = parent.length, end = this.end = new Int32Array(n);
		this.parent = parent;
		this.frame = frame;
		this.cell = cell;
		this.depth = depth;
		this.nFrames = nFrames;
		for (let i = n - 1; i > 0; i--) {
			end[i] = end[i] || i + 1;
			end[parent[i]] = Math.max(end[parent[i]], end[i]);
		}
		end[0] = n;
		this.total = new Float64Array(n);
		this.x = new Float64Array(n);
		this.self = new Float64Array(n);
		this.inner = null;
	}

	get isInner() {
		this.inner = this.inner || this.markRecursion();
		return this.inner;
	}

	// 1: a caller of this node is of the same frame, so that its time is counted there.
	markRecursion() {
		const onPath = new Int32Array(this.nFrames), path = [], isInner = new Uint8Array(this.n);
		for (let i = 1; i < this.n; i++) {
			for (let depth = path.length; depth >= this.depth[i]; depth--)
				onPath[path.pop()]--;
			const frame = this.frame[i];
			isInner[i] = onPath[frame]++ ? 1 : 0;
			path.push(frame);
		}
		return isInner;
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

// The tree of a trie, weighed: self is what each of the trie's nodes weighs by itself.
function treeOfTrie(trie, self, nFrames) {
	const n = trie.n, total = self.slice(0, n), size = new Int32Array(n).fill(1), place = new Int32Array(n);
	for (let i = n - 1; i > 0; i--) {
		total[trie.parent[i]] += total[i];
		size[trie.parent[i]] += size[i];
	}
	const {first, kids} = childrenOf(trie, total), placed = new Float64Array(n);
	for (let i = 0; i < n; i++) {
		let pos = place[i] + 1;
		for (let k = first[i]; k < first[i + 1]; k++) {
			place[kids[k]] = pos;
			pos += size[kids[k]];
		}
	}
	const columns = {parent: new Int32Array(n), frame: new Int32Array(n), cell: new Int32Array(n), depth: new Int32Array(n)};
	for (let i = 0; i < n; i++) {
		const to = place[i];
		columns.parent[to] = i ? place[trie.parent[i]] : -1;
		columns.frame[to] = trie.frame[i];
		columns.cell[to] = trie.cell[i];
		placed[to] = self[i];
	}
	for (let i = 1; i < n; i++)
		columns.depth[i] = columns.depth[columns.parent[i]] + 1;
	const tree = new Tree(columns, nFrames);
	tree.weigh(placed);
	return tree;
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

// Rows of `values` that are not 0, the largest first, `most` at most: sorts little more than what is shown.
function largest(values, most, isWanted) {
	const compare = (a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b;
	let rows = [], count = 0, least = 0; // what is not larger than that is not among them
	for (let i = 0; i < values.length; i++) {
		if (values[i] === 0 || (isWanted && !isWanted[i]))
			continue;
		count++;
		if (Math.abs(values[i]) <= least)
			continue;
		if (rows.push(i) < 4 * most)
			continue;
		rows = rows.sort(compare).slice(0, most);
		least = Math.abs(values[rows[most - 1]]);
	}
	return {rows: rows.sort(compare).slice(0, most), count};
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
	return treeOfTrie(trie, self.done(), nFrames);
}

// SPDX-License-Identifier: Apache-2.0
//
// From the stacks of a profile to their tree, and what is weighed in it. The first tree is what the page waits for
// once its profile is read: it is made in the order in which it is kept.

const NODE_COLUMNS = ['parent', 'frame', 'cell', 'depth', 'nodeUnits'];

// Sorts units by their paths from the root on, which makes the tree: units that have a node in common stand side by
// side in `order`, and are parted by their next frame, the heaviest first. Nothing is looked up in a map, and what
// is left of a path that no other unit shares is copied.
class CallSorter {
	constructor(calls, weight, nKeys) {
		const {profile, nUnits} = calls;
		this.calls = calls;
		this.profile = profile;
		this.weight = weight;
		this.isOff = new Uint8Array(64);
		for (const kind of calls.kindsOff)
			this.isOff[kind] = 1;
		this.hasOff = calls.kindsOff.length > 0;
		this.order = new Int32Array(nUnits);
		this.other = new Int32Array(nUnits);
		this.keys = new Int32Array(nUnits); // the next frame of those that are parted, in their order
		this.cells = new Int32Array(nUnits).fill(-1); // and its cell; a group has none
		this.slotOf = new Int32Array(nKeys); // of those keys that are there, from 1 on
		this.unitNode = new Int32Array(nUnits);
		this.isGone = new Uint8Array(nUnits);
		this.waiting = []; // children to come: first unit, behind the last, parent, frame, cell
		this.slots = {key: [], cell: [], count: [], weight: [], next: []};
		this.findPaths(nUnits);
		const room = Math.min(1 << 22, this.most + nKeys + 1);
		for (const name of NODE_COLUMNS)
			this[name] = new Ints(room);
	}

	// Where the path of each unit is in stackCells.
	findPaths(nUnits) {
		const {calls, profile: {stackFirst}, weight} = this;
		this.at = new Uint32Array(nUnits);
		this.end = new Uint32Array(nUnits);
		this.most = 0; // nodes
		for (let unit = 0; unit < nUnits; unit++) {
			const stack = calls.stackOf(unit), first = stackFirst[stack], end = stackFirst[stack + 1];
			this.order[unit] = unit;
			this.end[unit] = end;
			this.at[unit] = this.hasOff ? this.seen(first, end) : first;
			this.most += end - first;
			if (first < end && this.at[unit] === end) {
				this.isGone[unit] = 1;
				weight[unit] = 0;
			}
		}
	}

	// The first cell from `at` on whose kind is not off.
	seen(at, end) {
		const {stackCells, cellFrame, frameKind} = this.profile, {isOff} = this;
		while (at < end && isOff[frameKind[cellFrame[stackCells[at]]]])
			at++;
		return at;
	}

	run() {
		const {calls, order, waiting, keys} = this, root = this.add(-1, -1, -1, 0, 0);
		if (calls.groups) {
			for (let i = 0; i < order.length; i++)
				keys[i] = this.profile.nFrames + calls.unitGroup[i];
			this.part(0, order.length, root);
		} else {
			this.extend(0, order.length, root);
		}
		while (waiting.length) {
			const cell = waiting.pop(), frame = waiting.pop(), parent = waiting.pop(), end = waiting.pop(), first = waiting.pop();
			const node = this.add(parent, frame, cell, this.depth.data[parent] + 1, first);
			if (end - first === 1)
				this.copy(first, node);
			else
				this.extend(first, end, node);
		}
		this.nodeUnits.push(order.length);
	}

	add(parent, frame, cell, depth, first) {
		this.parent.push(parent);
		this.frame.push(frame);
		this.cell.push(cell);
		this.depth.push(depth);
		this.nodeUnits.push(first);
		return this.parent.length - 1;
	}

	// A path that is this unit's alone.
	copy(place, node) {
		const {stackCells, cellFrame} = this.profile, unit = this.order[place], end = this.end[unit];
		while (this.parent.length + end - this.at[unit] > this.parent.data.length)
			for (const name of NODE_COLUMNS)
				this[name].grow();
		const {data: parent} = this.parent, {data: frame} = this.frame, {data: cell} = this.cell, {data: depth} = this.depth;
		const {data: nodeUnits} = this.nodeUnits;
		let to = this.parent.length, behind = node;
		for (let at = this.at[unit]; at < end; at = this.hasOff ? this.seen(at + 1, end) : at + 1) {
			cell[to] = stackCells[at];
			frame[to] = cellFrame[cell[to]];
			depth[to] = depth[behind] + 1;
			parent[to] = behind;
			nodeUnits[to] = place;
			behind = to++;
		}
		for (const name of NODE_COLUMNS)
			this[name].length = to;
		this.unitNode[unit] = behind;
	}

	// Of units [first, end) at a node: those that end there come first, the others go on by their next frame.
	extend(first, end, node) {
		const {profile: {stackCells, cellFrame}, order, other, at, keys, cells} = this;
		let to = first, going = 0;
		for (let i = first; i < end; i++) {
			const unit = order[i], next = at[unit];
			if (next === this.end[unit]) {
				order[to++] = unit;
				this.unitNode[unit] = node;
				continue;
			}
			other[going] = unit;
			cells[going] = stackCells[next];
			keys[going] = cellFrame[cells[going]];
			at[unit] = this.hasOff ? this.seen(next + 1, this.end[unit]) : next + 1;
			going++;
		}
		for (let i = 0; to > first && i < going; i++)
			order[to + i] = other[i];
		if (going > 0)
			this.part(to, end, node);
	}

	// Makes a child of each key among units [first, end).
	part(first, end, node) {
		const {keys, cells, order, slots, slotOf, weight} = this;
		let n = 0;
		for (let i = 0; i < end - first; i++) {
			const key = keys[i];
			let slot = slotOf[key] - 1;
			if (slot < 0) {
				slot = n++;
				slotOf[key] = n;
				slots.key[slot] = key;
				slots.cell[slot] = cells[i];
				slots.count[slot] = slots.weight[slot] = 0;
			}
			slots.count[slot]++;
			slots.weight[slot] += weight[order[first + i]];
		}
		const ranked = this.rank(n);
		if (n > 1)
			this.scatter(first, end, ranked);
		for (let i = n - 1, behind = end; i >= 0; i--) {
			const slot = ranked[i], start = behind - slots.count[slot];
			this.waiting.push(start, behind, node, slots.key[slot], slots.cell[slot]);
			slotOf[slots.key[slot]] = 0;
			behind = start;
		}
	}

	// Slots, the heaviest first; of equal ones that which was seen first.
	rank(n) {
		const {weight} = this.slots, ranked = new Array(n);
		for (let slot = 0; slot < n; slot++) {
			let at = slot;
			for (; n <= 16 && at > 0 && weight[ranked[at - 1]] < weight[slot]; at--)
				ranked[at] = ranked[at - 1];
			ranked[at] = slot;
		}
		return n <= 16 ? ranked : ranked.sort((a, b) => weight[b] - weight[a] || a - b);
	}

	scatter(first, end, ranked) {
		const {keys, order, other, slots, slotOf} = this;
		let place = 0;
		for (const slot of ranked) {
			slots.next[slot] = place;
			place += slots.count[slot];
		}
		for (let i = 0; i < end - first; i++)
			other[slots.next[slotOf[keys[i]] - 1]++] = order[first + i];
		for (let i = 0; i < end - first; i++)
			order[first + i] = other[i];
	}
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
		const {profile, groups} = this, nFrames = profile.nFrames + (groups ? groups.names.length : 0);
		const sorter = new CallSorter(this, this.unitWeights(), nFrames);
		sorter.run();
		this.isGone = sorter.isGone; // nothing of it is left
		this.unitNode = sorter.unitNode;
		this.unitsByNode = sorter.order;
		this.nodeUnits = sorter.nodeUnits.done();
		this.tree = new Tree({parent: sorter.parent.done(), frame: sorter.frame.done(), cell: sorter.cell.done(),
			depth: sorter.depth.done()}, nFrames);
	}

	unitWeights() {
		const {profile: {nRows, rowTotal}, rowUnit} = this, weight = new Float64Array(this.nUnits);
		for (let row = 0; row < nRows; row++)
			weight[rowUnit[row]] += rowTotal[row];
		return weight;
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

	// Weights and counts of units, of rows [first, end): all of them, or of events within a range of time only.
	weighUnits(first, end, isRow, range) {
		const ret = {weight: new Float64Array(this.nUnits), count: new Float64Array(this.nUnits), all: 0};
		if (range) {
			this.weighRange(first, end, isRow, range, ret);
			return ret;
		}
		const {weight, count} = ret, {rowUnit, profile: {rowTotal, rowSamples}} = this;
		for (let row = first; row < end; row++) {
			ret.all += rowTotal[row];
			if (isRow && !isRow[row])
				continue;
			weight[rowUnit[row]] += rowTotal[row];
			count[rowUnit[row]] += rowSamples[row];
		}
		return ret;
	}

	// The end of a range is not in it, unless it is the recording's.
	weighRange(firstRow, endRow, isRow, [from, to], ret) {
		const {weight, count} = ret, {rowUnit, profile: {events, rowTotal}} = this, {time, first, weight: own} = events;
		const least = Math.ceil(from), most = to >= 4294967294 ? 4294967294 : Math.ceil(to) - 1;
		for (let row = firstRow; row < endRow; row++) {
			const start = first[row], end = first[row + 1];
			let found = 0, sum = 0;
			for (let i = start; i < end; i++) {
				if (time[i] < least || time[i] > most)
					continue;
				found++;
				sum += own ? own[i] : 0;
			}
			if (found === 0)
				continue;
			sum = own ? sum : rowTotal[row] / (end - start) * found;
			ret.all += sum;
			if (isRow && !isRow[row])
				continue;
			weight[rowUnit[row]] += sum;
			count[rowUnit[row]] += found;
		}
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

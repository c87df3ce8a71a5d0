// SPDX-License-Identifier: Apache-2.0
//
// What the page shows, as columns; decode.js fills them.
//
//   event (time, weight) ──► row ──► stack ──► cells, root first ──► frame (name, kind)
//                             └──► thread ──► process
//
// A cell is a line of a location: a frame with its line, module and flags. Frames are equal when name and kind
// are; a name that several functions have stands with their places. Events have the order of their rows.

const INLINED = 1, POINTER_WALK = 2; // flags of a cell
const MAX_KINDS = 60;
const ERROR_KIND = 'cut', GAP_KIND = 'gap';

// Strings are decoded when they are asked for.
class Texts {
	constructor(bytes) {
		this.bytes = bytes;
		this.start = new Words();
		this.size = new Words();
		this.made = []; // those that are in no file, or have been asked for
		this.decoder = new TextDecoder();
	}

	get length() {
		return this.start.length;
	}

	reserve(more) {
		this.start.reserve(more);
		this.size.reserve(more);
	}

	add(start, end) {
		this.start.push(start);
		this.size.push(end - start);
		return this.start.length - 1;
	}

	make(text) {
		const id = this.add(0, 0);
		this.made[id] = text;
		return id;
	}

	get(id) {
		let text = this.made[id];
		if (text === undefined) {
			const start = this.start.data[id];
			text = this.decoder.decode(this.bytes.subarray(start, start + this.size.data[id]));
			this.made[id] = text;
		}
		return text;
	}
}

function baseName(path) {
	return path.slice(path.lastIndexOf('/') + 1) || path;
}

class Profile {
	constructor() {
		this.kinds = [];        // names
		this.kindOf = new Map();
		this.frameName = new Ints(); // row of frameText
		this.frameKind = new Bytes();
		this.names = [];        // of frames, by row; filled when asked for
		this.nameOf = [];       // of frames: () => text, by side
		this.cellFrame = new Ints();
		this.cellLine = new Words();
		this.cellStart = new Words(); // the line in which the function begins, 0: not known
		this.cellFlags = new Bytes();
		this.cellFile = new Ints();   // text of its side
		this.cellModule = new Ints(); // text of its side
		this.frameSide = new Bytes();
		this.isCompared = false; // with a base
		this.baseCells = Infinity; // cells from this one on are of the base
		this.stackFirst = new Words();
		this.stackCells = new Ints();
		this.stackCut = new Ints(); // frame that says why it ends, -1: complete
		this.rowStack = new Ints();
		this.rowThread = new Ints();
		this.rowCpu = new Ints();
		this.rowUnnamed = new Ints(); // row of reasons, 0: all is named
		this.rowUnverified = new Bytes(); // 1: found by frame pointers alone, through code of no file
		this.rowCut = new Ints(); // row of reasons, 0: the stack is whole, unless stackCut says why not
		this.rowTotal = new Floats();
		this.rowSamples = new Floats();
		this.reasons = [''];
		this.threads = []; // {process, tid, name, nameRow}
		this.processes = []; // {pid, exe, name, container, user, unit, key}
		this.texts = [];   // of each side
		this.sides = [];   // what each says of itself
	}

	rowColumns() {
		return [this.rowStack, this.rowThread, this.rowCpu, this.rowUnnamed, this.rowCut, this.rowUnverified, this.rowTotal, this.rowSamples];
	}

	text(side, id) {
		return this.texts[side].get(id);
	}

	kind(name) {
		let kind = this.kindOf.get(name);
		if (kind === undefined) {
			kind = this.kinds.length;
			if (kind === MAX_KINDS)
				return 0;
			this.kinds.push(name);
			this.kindOf.set(name, kind);
		}
		return kind;
	}

	get frames() {
		return this.frameKind.length;
	}

	name(frame) {
		let name = this.names[frame];
		if (name === undefined) {
			name = this.text(this.frameSide[frame], this.frameName[frame]);
			this.names[frame] = name;
		}
		return name;
	}

	cellSide(cell) {
		return cell >= this.baseCells ? 1 : 0;
	}

	// All columns have their final length.
	freeze() {
		for (const key of Object.keys(this))
			if (this[key] && this[key].done)
				this[key] = this[key].done();
		this.nFrames = this.frameKind.length;
		this.nStacks = this.stackCut.length;
		this.nRows = this.rowStack.length;
	}
}

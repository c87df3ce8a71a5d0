// SPDX-License-Identifier: Apache-2.0
//
// From the text in the page to messages: base64, gzip, and the wire format of Protocol Buffers
// (https://protobuf.dev/programming-guides/encoding). Nothing is copied: a Reader is a place in the bytes.

const MAX_BYTES = 2 ** 31; // of a profile that is not compressed any more

function fromBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const PIECE = 1 << 20; // a multiple of 4
	const clean = text.trim();
	const padding = clean.endsWith('==') ? 2 : clean.endsWith('=') ? 1 : 0;
	const bytes = new Uint8Array(clean.length / 4 * 3 - padding);
	let to = 0;
	for (let from = 0; from < clean.length; from += PIECE) {
		const piece = atob(clean.slice(from, from + PIECE));
		for (let i = 0; i < piece.length; i++)
			bytes[to++] = piece.charCodeAt(i);
	}
	return bytes;
}

async function gunzip(bytes) {
	const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')).getReader();
	const pieces = [];
	let length = 0;
	for (;;) {
		const {done, value} = await reader.read();
		if (done)
			break;
		pieces.push(value);
		length += value.length;
		if (length > MAX_BYTES)
			throw new Error('it unfolds to more than 2 GB');
	}
	const all = new Uint8Array(length);
	let to = 0;
	for (const piece of pieces) {
		all.set(piece, to);
		to += piece.length;
	}
	return all;
}

const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;

class Reader {
	constructor(bytes, pos = 0, end = bytes.length) {
		this.bytes = bytes;
		this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		this.pos = pos;
		this.end = end;
		this.wire = 0;
	}

	torn() {
		throw new Error(`it is torn at byte ${this.pos}`);
	}

	// As a number: exact up to 2^53.
	varint() {
		const bytes = this.bytes, end = this.end;
		let pos = this.pos;
		if (pos >= end)
			this.torn();
		let byte = bytes[pos++];
		if (byte < 128) {
			this.pos = pos;
			return byte;
		}
		let value = byte & 127, scale = 128;
		for (let i = 1; i < 10; i++) {
			if (pos >= end)
				this.torn();
			byte = bytes[pos++];
			value += (byte & 127) * scale;
			if (byte < 128) {
				this.pos = pos;
				return value;
			}
			scale *= 128;
		}
		return this.torn();
	}

	// The next field's number, and its wire type in `wire`; 0 at the end.
	next() {
		if (this.pos >= this.end)
			return 0;
		const tag = this.varint();
		this.wire = tag % 8;
		if (tag < 8 || tag >= 2 ** 32)
			this.torn();
		return Math.floor(tag / 8);
	}

	// Into a message, a string or a packed list; leave() takes what this returns.
	enter() {
		if (this.wire !== BYTES)
			this.torn();
		const length = this.varint(), outer = this.end;
		if (length > outer - this.pos)
			this.torn();
		this.end = this.pos + length;
		return outer;
	}

	leave(outer) {
		this.pos = this.end;
		this.end = outer;
	}

	skip() {
		if (this.wire === VARINT)
			this.varint();
		else if (this.wire === BYTES)
			this.leave(this.enter());
		else if (this.wire === FIXED64 || this.wire === FIXED32)
			this.pos += this.wire === FIXED64 ? 8 : 4;
		else
			this.torn();
		if (this.pos > this.end)
			this.torn();
	}

	number() {
		if (this.wire !== VARINT)
			this.torn();
		return this.varint();
	}

	// A row of a table of `rows`.
	index(rows) {
		const value = this.number();
		if (value >= rows)
			throw new Error(`byte ${this.pos}: there is no row ${value}`);
		return value;
	}

	// Adds a repeated number, packed or not, to `list`.
	numbers(list) {
		if (this.wire === VARINT) {
			list.push(this.varint());
			return;
		}
		const outer = this.enter();
		while (this.pos < this.end)
			list.push(this.varint());
		this.leave(outer);
	}

	low() {
		return this.view.getUint32(this.pos, true);
	}

	high() {
		return this.view.getUint32(this.pos + 4, true);
	}
}

// Arrays of numbers that grow. A class for each type of array, so that no push has to ask which it is: the engine
// makes of it one store.
function columnOf(Type) {
	return class {
		constructor(room = 1024) {
			this.data = new Type(room);
			this.length = 0;
		}

		push(value) {
			if (this.length === this.data.length)
				this.grow();
			this.data[this.length++] = value;
		}

		grow() {
			const data = new Type(2 * this.length);
			data.set(this.data);
			this.data = data;
		}

		done() {
			const data = this.data.length === this.length ? this.data : this.data.slice(0, this.length);
			this.data = null;
			return data;
		}
	};
}

const Bytes = columnOf(Uint8Array), Ints = columnOf(Int32Array), Words = columnOf(Uint32Array), Floats = columnOf(Float64Array);

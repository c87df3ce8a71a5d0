// SPDX-License-Identifier: Apache-2.0
//
// From the text in the page to messages: base64, gzip, and the wire format of Protocol Buffers
// (https://protobuf.dev/programming-guides/encoding). Nothing is copied: a Reader is a place in the bytes.

const MAX_BYTES = 2 ** 31; // of a profile that is not compressed any more

const PIECE = 1 << 16; // characters of base64 at once; a multiple of 4

// Base64 that comes in pieces, as bytes. What it gives is valid until the next piece is taken.
class Base64 {
	constructor() {
		this.bytes = new Uint8Array(PIECE);
		this.rest = ''; // less than four characters
	}

	take(text, isLast) {
		const all = this.rest ? this.rest + text : text;
		return this.bytes.setFromBase64 ? this.decode(all, isLast) : this.decodeByHand(all, isLast);
	}

	decode(text, isLast) {
		const {read, written} = this.bytes.setFromBase64(text, {lastChunkHandling: isLast ? 'loose' : 'stop-before-partial'});
		this.rest = text.slice(read);
		return this.bytes.subarray(0, written);
	}

	// For browsers before 2025.
	decodeByHand(text, isLast) {
		const clean = text.replace(/[\t\n\f\r ]+/g, ''), whole = isLast ? clean.length : clean.length & ~3;
		const piece = atob(clean.slice(0, whole)), {bytes} = this;
		for (let i = 0; i < piece.length; i++)
			bytes[i] = piece.charCodeAt(i);
		this.rest = clean.slice(whole);
		return bytes.subarray(0, piece.length);
	}
}

// What the text below an element is as bytes, in pieces: neither the text nor the bytes are there twice.
async function feedBase64(element, writer) {
	const base64 = new Base64();
	for (let node = element.firstChild; node; node = node.nextSibling)
		for (let text = node.data, from = 0; from < text.length; from += PIECE)
			await writer.write(base64.take(text.length <= PIECE ? text : text.slice(from, from + PIECE), false));
	await writer.write(base64.take('', true));
	await writer.close();
}

// How many bytes it says it unfolds to: the last four of a gzip file. A hint: files lie.
function unfoldedSize(element) {
	let tail = '', length = 0;
	for (let node = element.lastChild; node; node = node.previousSibling) {
		length += node.length;
		if (tail.length < 12)
			tail = (node.data.slice(-100) + tail).trimEnd();
	}
	const bytes = new Base64().take(tail.slice(-12), true), n = bytes.length;
	const size = n < 4 ? 0 : new DataView(bytes.buffer).getUint32(n - 4, true);
	return Math.min(size, MAX_BYTES, 1032 * length); // no byte of gzip is more than that
}

async function collect(reader, size) {
	let all = new Uint8Array(size), to = 0;
	for (;;) {
		const {done, value} = await reader.read();
		if (done)
			return all.subarray(0, to);
		if (to + value.length > MAX_BYTES)
			throw new Error('it unfolds to more than 2 GB');
		if (to + value.length > all.length) {
			const more = new Uint8Array(Math.min(MAX_BYTES, 2 * (to + value.length)));
			more.set(all.subarray(0, to));
			all = more;
		}
		all.set(value, to);
		to += value.length;
	}
}

// The bytes that an element carries as base64 of gzip.
async function readCarried(element) {
	const stream = new DecompressionStream('gzip'), reader = stream.readable.getReader();
	const feeding = feedBase64(element, stream.writable.getWriter());
	const [bytes] = await Promise.all([collect(reader, unfoldedSize(element)), feeding]);
	return bytes;
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

	// As a number: exact up to 2^53. Nearly all are short, and those are whole numbers to the engine, too.
	varint() {
		const bytes = this.bytes, pos = this.pos;
		if (pos + 4 > this.end)
			return this.longVarint();
		let byte = bytes[pos], value = byte & 127;
		if (byte < 128) {
			this.pos = pos + 1;
			return value;
		}
		byte = bytes[pos + 1];
		value |= (byte & 127) << 7;
		if (byte < 128) {
			this.pos = pos + 2;
			return value;
		}
		byte = bytes[pos + 2];
		value |= (byte & 127) << 14;
		if (byte < 128) {
			this.pos = pos + 3;
			return value;
		}
		return this.longVarint();
	}

	longVarint() {
		const bytes = this.bytes, end = this.end;
		let pos = this.pos, value = 0, scale = 1;
		for (let i = 0; i < 10; i++) {
			if (pos >= end)
				this.torn();
			const byte = bytes[pos++];
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
		let tag = this.bytes[this.pos];
		if (tag < 128)
			this.pos++;
		else
			tag = this.varint();
		if (tag < 8 || tag >= 2 ** 32)
			this.torn();
		this.wire = tag & 7;
		return tag >>> 3;
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

// Arrays of numbers that grow: one is made as large as what is to come, where that is known.
class Column {
	constructor(Type, room) {
		this.Type = Type;
		this.data = new Type(room);
		this.length = 0;
	}

	// Room for so many more. What is not written yet takes no memory.
	reserve(more) {
		if (this.length + more > this.data.length)
			this.resize(this.length + more);
	}

	grow() {
		this.resize(Math.max(1024, 2 * this.data.length));
	}

	resize(room) {
		const data = new this.Type(room);
		data.set(this.data.subarray(0, this.length));
		this.data = data;
	}

	done() {
		const data = this.data.subarray(0, this.length);
		this.data = null;
		return data;
	}
}

// A push for each type of array: what the engine learns of a function it learns of its text, and one for all would have
// to ask each time which type it has.
class Bytes extends Column {
	constructor(room = 0) {
		super(Uint8Array, room);
	}

	push(value) {
		if (this.length === this.data.length)
			this.grow();
		this.data[this.length++] = value;
	}
}

class Ints extends Column {
	constructor(room = 0) {
		super(Int32Array, room);
	}

	push(value) {
		if (this.length === this.data.length)
			this.grow();
		this.data[this.length++] = value;
	}
}

class Words extends Column {
	constructor(room = 0) {
		super(Uint32Array, room);
	}

	push(value) {
		if (this.length === this.data.length)
			this.grow();
		this.data[this.length++] = value;
	}
}

class Floats extends Column {
	constructor(room = 0) {
		super(Float64Array, room);
	}

	push(value) {
		if (this.length === this.data.length)
			this.grow();
		this.data[this.length++] = value;
	}
}

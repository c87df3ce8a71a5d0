// SPDX-License-Identifier: Apache-2.0
//
// The dictionary of a message: strings, attributes, mappings, functions, locations and stacks, to the columns of a
// Profile. It is most of a file, and all of it has to be read before anything can be drawn: one look finds where
// its tables are and how long, so that each column is made once, as long as it will be.

const MAX_CELLS = 1 << 26; // frames of all stacks

// Attributes that are known, by key: names of conventions, and those of exporters/shared/otlp/file_names.h.
const KEYS = ['', 'profile.frame.type', 'thread.name', 'thread.id', 'cpu.logical_number', 'ebpf_profiler.unnamed',
	'ebpf_profiler.pointer_walk', 'ebpf_profiler.gap', 'ebpf_profiler.kind', 'ebpf_profiler.stack.error_text',
	'ebpf_profiler.count', 'ebpf_profiler.lost_samples', 'ebpf_profiler.due_samples', 'ebpf_profiler.cpus',
	'ebpf_profiler.cost.agent_ns', 'ebpf_profiler.cost.bpf_ns', 'ebpf_profiler.frequency', 'ebpf_profiler.duration',
	'ebpf_profiler.weight_unit', 'ebpf_profiler.sample_type', 'ebpf_profiler.stack.unverified', 'ebpf_profiler.title'];
const KEY = new Map(KEYS.map((key, i) => [key, i]));
const FRAME_TYPE = 1, THREAD_NAME = 2, THREAD_ID = 3, CPU = 4, UNNAMED = 5, IS_POINTER_WALK = 6, IS_GAP = 7, KIND = 8,
	STACK_ERROR = 9, COUNT = 10, UNVERIFIED = 20;
// Tables, by field.
const MAPPINGS = 1, LOCATIONS = 2, FUNCTIONS = 3, STRINGS = 5, ATTRIBUTES = 6, STACKS = 7, TABLES = 8;

class Dictionary {
	constructor(profile, bytes) {
		this.profile = profile;
		this.reader = new Reader(bytes);
		this.side = profile.sides.length;
		this.texts = new Texts(bytes);
		profile.texts.push(this.texts);
		this.attributeKey = new Bytes();
		this.attributeText = new Ints(); // -1: it is a number
		this.attributeNumber = new Floats();
		this.functionName = new Ints();
		this.functionFile = new Ints();
		this.functionLine = new Words(); // where it begins
		this.mappings = new Ints(); // file's name
		this.locationCells = new Words(); // the first of each
		this.keyOf = new Map();
		this.frameOf = new Map();
		this.madeOf = new Map();
		this.kindsKnown = [];
		this.scratch = {lines: new Floats(), attributes: new Floats(), locations: new Words(), ret: {kind: 0, flags: 0}};
	}

	within([pos, end], work) {
		const r = this.reader;
		r.pos = pos;
		r.end = end;
		work();
	}

	// Calls take(field) for each field of the message in hand; what it does not take (false) is skipped.
	fields(take) {
		const r = this.reader;
		for (let field; (field = r.next());)
			if (take(field) === false)
				r.skip();
	}

	message(take) {
		const outer = this.reader.enter();
		this.fields(take);
		this.reader.leave(outer);
	}

	dictionary(range) {
		this.findTables(range);
		// Strings first, then attributes, then what refers to them: in a file the order is another.
		this.readStrings();
		this.readTable(ATTRIBUTES, [this.attributeKey, this.attributeText, this.attributeNumber], () => this.attribute());
		this.readTable(MAPPINGS, [this.mappings], () => this.mapping());
		this.readTable(FUNCTIONS, [this.functionName, this.functionFile, this.functionLine], () => this.function());
		if (!this.profile.isCompared)
			this.nameApart();
		this.readLocations();
		this.readStacks();
	}

	// How many rows each table has, and where they are: rows of one kind mostly stand together.
	findTables(range) {
		const r = this.reader;
		this.rows = new Array(TABLES).fill(0);
		this.runs = Array.from({length: TABLES}, () => []); // first byte, behind the last, ...
		this.within(range, () => {
			let last = 0;
			for (let pos = r.pos, field; (field = r.next()); pos = r.pos) {
				r.skip();
				if (field >= TABLES || r.wire !== BYTES) {
					last = 0;
					continue;
				}
				const runs = this.runs[field];
				this.rows[field]++;
				if (field === last)
					runs[runs.length - 1] = r.pos;
				else
					runs.push(pos, r.pos);
				last = field;
			}
		});
	}

	readTable(field, columns, read) {
		const r = this.reader, runs = this.runs[field];
		for (const column of columns)
			column.reserve(this.rows[field]);
		for (let i = 0; i < runs.length; i += 2)
			for (r.pos = runs[i], r.end = runs[i + 1]; r.next();)
				read();
	}

	readStrings() {
		const r = this.reader, {texts} = this;
		texts.reserve(this.rows[STRINGS] + 2 * this.rows[ATTRIBUTES]); // an attribute's text is none of the strings
		this.readTable(STRINGS, [], () => {
			const outer = r.enter();
			texts.add(r.pos, r.end);
			r.leave(outer);
		});
		this.strings = texts.length;
		this.usual = new Int32Array(this.strings);
	}

	// Of a string, 0: it is none that is known.
	key(string) {
		let key = this.keyOf.get(string);
		if (key === undefined) {
			key = this.texts.size.data[string] < 40 ? KEY.get(this.texts.get(string)) || 0 : 0;
			this.keyOf.set(string, key);
		}
		return key;
	}

	// AnyValue: a text's row, or the number.
	value(ret) {
		const r = this.reader;
		ret.text = -1;
		ret.number = 0;
		this.message((field) => {
			if (field === 1) {
				const outer = r.enter();
				ret.text = this.texts.add(r.pos, r.end);
				r.leave(outer);
			} else if (field === 2 || field === 3) {
				ret.number = r.number();
			} else if (field === 8) {
				ret.text = r.index(this.strings);
			} else {
				return false;
			}
		});
	}

	attribute() {
		const r = this.reader, value = {text: -1, number: 0};
		let key = 0;
		this.message((field) => {
			if (field === 1)
				key = this.key(r.index(this.strings));
			else if (field === 2)
				this.value(value);
			else
				return false;
		});
		this.attributeKey.push(key);
		this.attributeText.push(value.text);
		this.attributeNumber.push(value.number);
	}

	mapping() {
		const r = this.reader;
		let file = 0;
		this.message((field) => field === 4 ? void (file = r.index(this.strings)) : false);
		this.mappings.push(file);
	}

	function() {
		const r = this.reader, outer = r.enter();
		let name = 0, system = 0, file = 0, line = 0;
		for (let field; (field = r.next());) {
			if (field === 1)
				name = r.index(this.strings);
			else if (field === 2)
				system = r.index(this.strings);
			else if (field === 3)
				file = r.index(this.strings);
			else if (field === 4)
				line = r.number();
			else
				r.skip();
		}
		r.leave(outer);
		this.functionName.push(name || system);
		this.functionFile.push(file);
		this.functionLine.push(Math.min(line, 0xffffffff));
	}

	// Functions that share a name get their place as well, as in reports: "search (a.py:12)", and with the whole path
	// where that is not their own either. Two sides of a diff are compared by names alone.
	nameApart() {
		const names = this.functionName.data, files = this.functionFile.data, lines = this.functionLine.data;
		const rows = this.functionName.length, first = new Int32Array(this.strings), isShared = new Uint8Array(this.strings);
		for (let row = 1; row < rows; row++) {
			const other = first[names[row]];
			if (!other)
				first[names[row]] = row;
			else if (files[other] !== files[row] || lines[other] !== lines[row])
				isShared[names[row]] = 1;
		}
		const label = (row, file) => `${this.texts.get(names[row])} (${file}${lines[row] ? `:${lines[row]}` : ''})`;
		const fileOf = new Map(), shared = [];
		for (let row = 1; row < rows; row++) {
			if (!isShared[names[row]] || !files[row])
				continue;
			const text = label(row, baseName(this.texts.get(files[row]))), file = fileOf.get(text);
			fileOf.set(text, file === undefined || file === files[row] ? files[row] : -1);
			shared.push(row);
		}
		for (const row of shared) {
			const path = this.texts.get(files[row]), text = label(row, baseName(path));
			names[row] = this.labelled(fileOf.get(text) < 0 ? label(row, path) : text);
		}
	}

	labelled(text) {
		let name = this.madeOf.get(text);
		if (name === undefined) {
			name = this.texts.make(text);
			this.madeOf.set(text, name);
		}
		return name;
	}

	// --- locations ---

	// Kind and flags of a location, from its attributes.
	kindOfLocation(attributes, ret) {
		let type = 0, kind = 0, flags = 0, isGap = false;
		for (let i = 0; i < attributes.length; i++) {
			const row = attributes.data[i];
			if (row >= this.attributeKey.length)
				throw new Error(`there is no attribute ${row}`);
			const key = this.attributeKey.data[row];
			if (key === FRAME_TYPE)
				type = row;
			else if (key === KIND)
				kind = row;
			else if (key === IS_POINTER_WALK)
				flags |= POINTER_WALK;
			else if (key === IS_GAP)
				isGap = true;
		}
		ret.kind = this.kindOf(kind || type, isGap);
		ret.flags = flags;
	}

	// Of the attribute that says it, 0: none.
	kindOf(attribute, isGap) {
		const key = 2 * attribute + (isGap ? 1 : 0);
		let kind = this.kindsKnown[key];
		if (kind === undefined) {
			const row = this.attributeText.data[attribute];
			let type = attribute === 0 || row < 0 ? 'unknown' : this.texts.get(row).slice(0, 40);
			if (type === 'abort-marker' || type === 'error' || type === 'gap')
				type = isGap || type === 'gap' ? GAP_KIND : ERROR_KIND;
			kind = this.kindsKnown[key] = this.profile.kind(type);
		}
		return kind;
	}

	frame(name, kind) {
		const profile = this.profile;
		// Nearly every name has one kind: a look into an array, where a map would hash.
		const usual = name < this.usual.length ? this.usual[name] - 1 : -1;
		if (usual >= 0 && profile.frameKind.data[usual] === kind)
			return usual;
		const isFirst = name < this.usual.length && usual < 0, key = name * 64 + kind;
		let frame = isFirst ? undefined : this.frameOf.get(key);
		if (frame === undefined && this.side === 1)
			frame = this.sharedFrame(name, kind);
		if (frame === undefined) {
			frame = profile.frameKind.length;
			profile.frameKind.push(kind);
			profile.frameName.push(name);
			profile.frameSide.push(this.side);
		}
		if (isFirst)
			this.usual[name] = frame + 1;
		else
			this.frameOf.set(key, frame);
		return frame;
	}

	// A frame of the first side that has this text and kind.
	sharedFrame(name, kind) {
		const profile = this.profile;
		if (!this.byText) {
			this.byText = new Map();
			for (let i = 0; i < profile.frameKind.length; i++)
				this.byText.set(profile.text(0, profile.frameName.data[i]) + '\0' + profile.frameKind.data[i], i);
		}
		return this.byText.get(this.texts.get(name) + '\0' + kind);
	}

	// What stands for code without a name.
	madeName(mapping, address) {
		const file = this.texts.get(this.mappings.data[mapping] || 0);
		return this.labelled(`${file ? baseName(file) + '+' : ''}0x${address.toString(16)}`);
	}

	readLocations() {
		const {profile} = this;
		this.readTable(LOCATIONS, [this.locationCells, profile.frameKind, profile.frameName, profile.frameSide, profile.cellFrame,
			profile.cellLine, profile.cellStart, profile.cellFlags, profile.cellFile, profile.cellModule], () => this.location());
		this.locationCells.push(profile.cellFrame.length);
	}

	location() {
		const r = this.reader, {lines, attributes, ret} = this.scratch, outer = r.enter();
		let mapping = 0, address = 0;
		lines.length = attributes.length = 0;
		for (let field; (field = r.next());) {
			if (field === 1)
				mapping = r.index(this.mappings.length);
			else if (field === 2)
				address = r.number();
			else if (field === 3)
				this.line(lines);
			else if (field === 4)
				r.numbers(attributes);
			else
				r.skip();
		}
		r.leave(outer);
		this.locationCells.push(this.profile.cellFrame.length);
		if (this.locationCells.length === 1)
			return; // row 0 is none
		this.kindOfLocation(attributes, ret);
		if (lines.length === 0) {
			lines.push(-1);
			lines.push(0);
		}
		this.cells(lines, mapping, address, ret);
	}

	// A cell for each line, the caller first.
	cells(lines, mapping, address, {kind, flags}) {
		const {profile} = this, module = this.mappings.data[mapping] || 0;
		for (let i = lines.length - 2; i >= 0; i -= 2) {
			const row = lines.data[i];
			const name = row > 0 && this.functionName.data[row] || this.madeName(mapping, address);
			profile.cellFrame.push(this.frame(name, kind));
			profile.cellLine.push(lines.data[i + 1]);
			profile.cellFlags.push(flags | (i < lines.length - 2 ? INLINED : 0));
			profile.cellStart.push(row > 0 ? this.functionLine.data[row] : 0);
			profile.cellFile.push(row > 0 ? this.functionFile.data[row] : 0);
			profile.cellModule.push(module);
		}
	}

	line(lines) {
		const r = this.reader;
		const outer = r.enter();
		let row = 0, line = 0;
		for (let field; (field = r.next());) {
			if (field === 1)
				row = r.index(this.functionName.length);
			else if (field === 2)
				line = r.number();
			else
				r.skip();
		}
		r.leave(outer);
		lines.push(row);
		lines.push(Math.min(line, 0xffffffff));
	}

	// --- stacks ---

	readStacks() {
		const {profile} = this, runs = this.runs[STACKS];
		// A frame of a stack takes two bytes and more, unless the locations are few.
		profile.stackCells.reserve(runs.reduce((sum, pos, i) => sum + (i % 2 ? pos : -pos), 0) >> 1);
		this.readTable(STACKS, [profile.stackFirst, profile.stackCut], () => this.stack());
	}

	stack() {
		const profile = this.profile, r = this.reader, {locations} = this.scratch, outer = r.enter();
		locations.length = 0;
		for (let field; (field = r.next());) {
			if (field === 1)
				this.locations(locations);
			else
				r.skip();
		}
		r.leave(outer);
		const first = profile.stackCells.length;
		profile.stackFirst.push(first);
		this.addCells(locations.data, locations.length);
		if (profile.stackCells.length > MAX_CELLS)
			throw new Error('its stacks have more frames than a page can hold');
		let cut = -1;
		if (profile.stackCells.length > first) {
			const frame = profile.cellFrame.data[profile.stackCells.data[first]];
			if (profile.kinds[profile.frameKind.data[frame]] === ERROR_KIND)
				cut = frame;
		}
		profile.stackCut.push(cut);
	}

	// Rows of locations. Nearly all that a file has of frames: read here, without a call for each.
	locations(list) {
		const r = this.reader, {bytes} = r;
		if (r.wire === VARINT) {
			list.push(r.varint());
			return;
		}
		const outer = r.enter(), end = r.end;
		list.reserve(end - r.pos);
		const {data} = list;
		let to = list.length, pos = r.pos;
		while (pos < end) {
			let row = bytes[pos++];
			if (row > 127) {
				r.pos = pos - 1;
				row = r.varint();
				pos = r.pos;
			}
			data[to++] = row;
		}
		list.length = to;
		r.leave(outer);
	}

	// The cells of a stack's locations, the root's first.
	addCells(rows, n) {
		const {stackCells} = this.profile, first = this.locationCells.data, known = this.locationCells.length - 1;
		let to = stackCells.length, count = 0;
		for (let i = 0; i < n; i++) {
			if (rows[i] >= known)
				throw new Error(`there is no location ${rows[i]}`);
			count += first[rows[i] + 1] - first[rows[i]];
		}
		while (to + count > stackCells.data.length)
			stackCells.grow();
		const {data} = stackCells;
		for (let i = n - 1; i >= 0; i--)
			for (let cell = first[rows[i]], end = first[rows[i] + 1]; cell < end; cell++)
				data[to++] = cell;
		stackCells.length = to;
	}
}

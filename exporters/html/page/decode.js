// SPDX-License-Identifier: Apache-2.0
//
// ProfilesData of OTLP Profiles (opentelemetry-proto 1.10 and 1.11, equal on the wire) to the columns of a Profile.
// Every length and every row is checked: what is wrong with a file becomes one sentence. Whatever is absent is
// unknown, and stays so.

const MAX_CELLS = 1 << 26; // frames of all stacks

// Attributes that are known, by key: names of conventions, and those of exporters/shared/otlp/file_names.h.
const KEYS = ['', 'profile.frame.type', 'thread.name', 'thread.id', 'cpu.logical_number', 'ebpf_profiler.unnamed',
	'ebpf_profiler.pointer_walk', 'ebpf_profiler.gap', 'ebpf_profiler.kind', 'ebpf_profiler.stack.error_text',
	'ebpf_profiler.count', 'ebpf_profiler.lost_samples', 'ebpf_profiler.due_samples', 'ebpf_profiler.cpus',
	'ebpf_profiler.cost.agent_ns', 'ebpf_profiler.cost.bpf_ns', 'ebpf_profiler.frequency', 'ebpf_profiler.duration',
	'ebpf_profiler.weight_unit', 'ebpf_profiler.sample_type'];
const KEY = new Map(KEYS.map((key, i) => [key, i]));
const FRAME_TYPE = 1, THREAD_NAME = 2, THREAD_ID = 3, CPU = 4, UNNAMED = 5, IS_POINTER_WALK = 6, IS_GAP = 7, KIND = 8,
	STACK_ERROR = 9, COUNT = 10;

// Decodes one message, which becomes a side of the profile: 0 is what is shown, 1 what it is compared with.
class Decoder {
	constructor(profile, bytes) {
		this.profile = profile;
		this.reader = new Reader(bytes);
		this.side = profile.sides.length;
		this.texts = new Texts(bytes);
		profile.texts.push(this.texts);
		this.info = {start: 0, end: 0, base: null, period: 0, unit: '', type: '', facts: {}, host: '', scope: '',
			version: '', others: 0, stacks: profile.stackCut.length, rows: profile.rowStack.length};
		profile.sides.push(this.info);
		this.time = new Floats();
		this.row = new Ints();
		this.weight = null; // of events: only where values stand beside times
		this.processOf = new Map();
		this.scratch = {lines: new Floats(), attributes: new Floats(), ret: {kind: 0, flags: 0}};
	}

	run() {
		const r = this.reader, resources = [];
		let dictionary = null;
		for (let field; (field = r.next());) {
			if (r.wire !== BYTES || field > 2) {
				r.skip();
				continue;
			}
			const outer = r.enter();
			if (field === 1)
				resources.push([r.pos, r.end]);
			else if (dictionary)
				throw new Error('it has two dictionaries');
			else
				dictionary = [r.pos, r.end];
			r.leave(outer);
		}
		if (!dictionary)
			throw new Error('it has no dictionary: it is not OTLP Profiles 1.10');
		this.dictionary(dictionary);
		for (const range of resources)
			this.within(range, () => this.resource());
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
		this.attributeKey = new Bytes();
		this.attributeText = new Ints(); // -1: it is a number
		this.attributeNumber = new Floats();
		this.functions = {name: new Ints(), file: new Ints()};
		this.mappings = new Ints(); // file's name
		this.locationCells = new Words();
		this.locationFlags = new Bytes(); // of enum below
		// Strings first, then attributes, then what refers to them: in a file the order is another.
		this.within(range, () => this.fields((field) => field === 5 ? this.string() : false));
		this.strings = this.texts.length;
		this.keyOf = new Map();
		for (let i = 0; i < this.strings; i++) {
			const size = this.texts.size.data[i];
			const key = size > 5 && size < 40 ? KEY.get(this.texts.get(i)) : undefined;
			if (key)
				this.keyOf.set(i, key);
		}
		this.within(range, () => this.fields((field) => field === 6 ? this.attribute() : false));
		this.within(range, () => this.fields((field) =>
			field === 1 ? this.mapping() : field === 3 ? this.function() : false));
		this.frameOf = new Map();
		this.usual = new Int32Array(this.strings);
		this.madeOf = new Map();
		this.kindsKnown = [];
		this.within(range, () => this.fields((field) => field === 2 ? this.location() : false));
		this.locationCells.push(this.profile.cellFrame.length);
		this.within(range, () => this.fields((field) => field === 7 ? this.stack() : false));
	}

	string() {
		const r = this.reader, outer = r.enter();
		this.texts.add(r.pos, r.end);
		r.leave(outer);
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
				key = this.keyOf.get(r.index(this.strings)) || 0;
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
		let name = 0, system = 0, file = 0;
		for (let field; (field = r.next());) {
			if (field === 1)
				name = r.index(this.strings);
			else if (field === 2)
				system = r.index(this.strings);
			else if (field === 3)
				file = r.index(this.strings);
			else
				r.skip();
		}
		r.leave(outer);
		this.functions.name.push(name || system);
		this.functions.file.push(file);
	}

	// Kind and flags of a location, from its attributes.
	kindOfLocation(attributes, ret) {
		let type = 0, kind = 0, flags = 0, isGap = false;
		for (let i = 0; i < attributes.length; i++) {
			const row = attributes.data[i], key = this.attributeKey.data[row];
			if (row >= this.attributeKey.length)
				throw new Error(`there is no attribute ${row}`);
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
		const profile = this.profile, key = name * 64 + kind;
		// Nearly every name has one kind: a look into an array, where a map would hash.
		const usual = name < this.usual.length ? this.usual[name] - 1 : -1;
		if (usual >= 0 && profile.frameKind.data[usual] === kind)
			return usual;
		let frame = this.frameOf.get(key);
		if (frame === undefined && this.side === 1)
			frame = this.sharedFrame(name, kind);
		if (frame === undefined) {
			frame = profile.frameKind.length;
			profile.frameKind.push(kind);
			profile.frameName.push(name);
			profile.frameSide.push(this.side);
		}
		if (name < this.usual.length && usual < 0)
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
		const text = `${file ? baseName(file) + '+' : ''}0x${address.toString(16)}`;
		let name = this.madeOf.get(text);
		if (name === undefined) {
			name = this.texts.make(text);
			this.madeOf.set(text, name);
		}
		return name;
	}

	location() {
		const r = this.reader, profile = this.profile, {lines, attributes, ret} = this.scratch, outer = r.enter();
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
		this.locationCells.push(profile.cellFrame.length);
		if (this.locationCells.length === 1)
			return; // row 0 is none
		this.kindOfLocation(attributes, ret);
		if (lines.length === 0) {
			lines.push(-1);
			lines.push(0);
		}
		for (let i = lines.length - 2; i >= 0; i -= 2) {
			const row = lines.data[i];
			const name = row > 0 && this.functions.name.data[row] || this.madeName(mapping, address);
			profile.cellFrame.push(this.frame(name, ret.kind));
			profile.cellLine.push(lines.data[i + 1]);
			profile.cellFlags.push(ret.flags | (i < lines.length - 2 ? INLINED : 0));
			profile.cellFile.push(row > 0 ? this.functions.file.data[row] : 0);
			profile.cellModule.push(this.mappings.data[mapping] || 0);
		}
	}

	line(lines) {
		const r = this.reader;
		const outer = r.enter();
		let row = 0, line = 0;
		for (let field; (field = r.next());) {
			if (field === 1)
				row = r.index(this.functions.name.length);
			else if (field === 2)
				line = r.number();
			else
				r.skip();
		}
		r.leave(outer);
		lines.push(row);
		lines.push(Math.min(line, 0xffffffff));
	}

	stack() {
		const profile = this.profile, r = this.reader, locations = this.scratch.lines, outer = r.enter();
		locations.length = 0;
		for (let field; (field = r.next());) {
			if (field === 1)
				r.numbers(locations);
			else
				r.skip();
		}
		r.leave(outer);
		profile.stackFirst.push(profile.stackCells.length);
		let cut = -1;
		for (let i = locations.length - 1; i >= 0; i--) {
			const row = locations.data[i];
			if (row >= this.locationCells.length - 1)
				throw new Error(`there is no location ${row}`);
			for (let cell = this.locationCells.data[row]; cell < this.locationCells.data[row + 1]; cell++)
				profile.stackCells.push(cell);
		}
		if (profile.stackCells.length > MAX_CELLS)
			throw new Error('its stacks have more frames than a page can hold');
		const first = profile.stackFirst.data[profile.stackFirst.length - 1];
		if (profile.stackCells.length > first) {
			const frame = profile.cellFrame.data[profile.stackCells.data[first]];
			if (profile.kinds[profile.frameKind.data[frame]] === ERROR_KIND)
				cut = frame;
		}
		profile.stackCut.push(cut);
	}

	// --- resources, profiles, samples ---

	resource() {
		const r = this.reader, scopes = [], facts = {};
		this.fields((field) => {
			if (field === 1)
				this.message((inner) => inner === 1 ? this.keyValue(facts) : false);
			else if (field === 2)
				scopes.push(this.range());
			else
				return false;
		});
		this.info.host = this.info.host || facts['host.name'] || '';
		this.process = this.addProcess(facts);
		this.threadOf = new Map();
		for (const range of scopes)
			this.within(range, () => this.scope());
		r.pos = r.end;
	}

	range() {
		const r = this.reader, outer = r.enter(), range = [r.pos, r.end];
		r.leave(outer);
		return range;
	}

	keyValue(facts) {
		const r = this.reader, value = {text: -1, number: 0};
		let key = '';
		this.message((field) => {
			if (field === 1) {
				const outer = r.enter();
				key = this.texts.decoder.decode(r.bytes.subarray(r.pos, Math.min(r.end, r.pos + 200)));
				r.leave(outer);
			} else if (field === 2) {
				this.value(value);
			} else if (field === 3) {
				key = this.texts.get(r.index(this.strings));
			} else {
				return false;
			}
		});
		if (/^(host\.name|container\.id|process\.[a-z_.]+|ebpf_profiler\.[a-z_.]+)$/.test(key))
			facts[key] = value.text < 0 ? value.number : this.texts.get(value.text);
	}

	addProcess(facts) {
		const pid = Number(facts['process.pid']) || 0, exe = String(facts['process.executable.path'] || '');
		const name = String(facts['ebpf_profiler.process.comm'] || facts['process.command'] ||
			facts['process.executable.name'] || baseName(exe) || (pid ? '?' : 'kernel'));
		const container = String(facts['container.id'] || '');
		const key = JSON.stringify([pid, facts['process.creation.time'], facts['ebpf_profiler.process.image'], exe,
			name, container]);
		let process = this.processOf.get(key);
		if (process === undefined) {
			process = this.profile.processes.length;
			this.profile.processes.push({pid, exe, name, container});
			this.processOf.set(key, process);
		}
		return process;
	}

	scope() {
		const profiles = [], r = this.reader;
		this.fields((field) => {
			if (field === 1)
				this.message((inner) => {
					const text = inner === 1 ? 'scope' : inner === 2 ? 'version' : '';
					if (!text)
						return false;
					const outer = r.enter();
					this.info[text] = this.texts.decoder.decode(r.bytes.subarray(r.pos, Math.min(r.end, r.pos + 200)));
					r.leave(outer);
				});
			else if (field === 2)
				profiles.push(this.range());
			else
				return false;
		});
		for (const range of profiles)
			this.profileMessage(range);
	}

	valueType() {
		const r = this.reader, type = {type: '', unit: ''};
		this.message((field) => {
			if (field === 1)
				type.type = this.texts.get(r.index(this.strings));
			else if (field === 2)
				type.unit = this.texts.get(r.index(this.strings));
			else
				return false;
		});
		return type;
	}

	profileMessage(range) {
		const r = this.reader, info = this.info, attributes = new Floats();
		let type = {type: '', unit: ''}, low = 0, high = 0, duration = 0, period = 0;
		this.within(range, () => this.fields((field) => {
			if (field === 1) {
				type = this.valueType();
			} else if (field === 3) {
				if (r.wire !== FIXED64 || r.pos + 8 > r.end)
					r.torn();
				low = r.low();
				high = r.high();
				r.pos += 8;
			} else if (field === 4) {
				duration = r.number();
			} else if (field === 6) {
				period = r.number();
			} else if (field === 11) {
				r.numbers(attributes);
			} else {
				return false;
			}
		}));
		for (const row of attributes.data.subarray(0, attributes.length))
			if (row < this.attributeKey.length && this.attributeKey.data[row])
				this.fact(KEYS[this.attributeKey.data[row]], row);
		// Our own files say what they count, and have Profiles of several shapes for it; in others the first counts.
		const isOwn = 'ebpf_profiler.weight_unit' in info.facts;
		if (info.type && info.type !== type.type && !isOwn) {
			info.others++;
			return;
		}
		info.type = info.type || type.type;
		info.unit = info.unit || (isOwn ? info.facts['ebpf_profiler.weight_unit'] : type.unit);
		this.isCount = type.type === 'samples' && type.unit === 'count';
		info.period = Math.max(info.period, period);
		if (!info.base) {
			info.base = [low, high];
			info.end = -Infinity;
			info.start = Infinity;
		}
		this.low = info.base[0];
		this.high = info.base[1];
		const start = (high - this.high) * 4294967296 + (low - this.low);
		if (low || high) {
			info.start = Math.min(info.start, start);
			info.end = Math.max(info.end, start + duration);
		}
		this.period = period > 0 && period < 2 ** 53 ? period : 0;
		this.isTime = type.unit === 'nanoseconds';
		this.within(range, () => this.samples());
	}

	fact(key, row) {
		const {facts} = this.info, text = this.attributeText.data[row];
		facts[key] = text < 0 ? Math.max(facts[key] || 0, this.attributeNumber.data[row]) : this.texts.get(text);
	}

	samples() {
		const r = this.reader, attributes = new Floats(), values = new Floats();
		const nStacks = this.profile.stackCut.length - this.info.stacks;
		for (let field; (field = r.next());) {
			if (field !== 2) {
				r.skip();
				continue;
			}
			const outer = r.enter();
			let stack = 0, times = 0, timesEnd = 0;
			attributes.length = 0;
			values.length = 0;
			for (let inner; (inner = r.next());) {
				if (inner === 1) {
					stack = r.index(nStacks);
				} else if (inner === 2) {
					r.numbers(attributes);
				} else if (inner === 4) {
					r.numbers(values);
				} else if (inner === 5 && r.wire === BYTES) {
					const behind = r.enter();
					times = r.pos;
					timesEnd = r.end;
					r.leave(behind);
				} else {
					r.skip();
				}
			}
			this.sample(stack, attributes, values, times, timesEnd);
			r.pos = r.end;
			r.leave(outer);
		}
	}

	sample(stack, attributes, values, times, timesEnd) {
		const profile = this.profile, row = profile.rowStack.length;
		let tid = -1, tidRow = 0, nameRow = 0, cpu = -1, unnamed = 0, cut = 0, count = 0;
		for (let i = 0; i < attributes.length; i++) {
			const at = attributes.data[i];
			if (at >= this.attributeKey.length)
				throw new Error(`there is no attribute ${at}`);
			const key = this.attributeKey.data[at];
			if (key === THREAD_NAME) {
				nameRow = at;
			} else if (key === THREAD_ID) {
				tidRow = at;
				tid = this.attributeNumber.data[at];
			} else if (key === CPU) {
				cpu = this.attributeNumber.data[at];
			} else if (key === UNNAMED) {
				unnamed = this.reason(at);
			} else if (key === STACK_ERROR) {
				cut = this.reason(at);
			} else if (key === COUNT) {
				count = this.attributeNumber.data[at];
			}
		}
		profile.rowStack.push(stack + this.info.stacks);
		profile.rowThread.push(this.thread(tidRow, nameRow, tid));
		profile.rowCpu.push(cpu);
		profile.rowUnnamed.push(unnamed);
		profile.rowCut.push(cut);
		this.events(row, values, times, timesEnd, count);
	}

	events(row, values, times, timesEnd, counted) {
		const {profile, low, high} = this, view = this.reader.view, n = timesEnd - times >>> 3;
		const scale = this.isCount ? this.period || 1 : 1;
		if (n === 0) {
			const value = values.length ? values.data[0] : 0, guess = this.isTime && this.period ? Math.round(value / this.period) : 1;
			this.rowOf(value * scale, this.isCount ? value : counted || Math.max(1, guess), 1);
			this.event(NaN, row, value * scale);
			return;
		}
		const each = this.period || 1, isPaired = values.length > 0;
		if (isPaired && !this.weight)
			this.weighEvents();
		for (let pos = times, i = 0; i < n; pos += 8, i++) {
			const time = (view.getUint32(pos + 4, true) - high) * 4294967296 + (view.getUint32(pos, true) - low);
			this.event(time, row, isPaired ? (i < values.length ? values.data[i] : 0) * scale : each);
		}
		this.rowOf(each, 1, n);
		if (isPaired)
			profile.rowTotal.data[row] = values.data.subarray(0, Math.min(n, values.length)).reduce((sum, value) => sum + value * scale, 0);
	}

	// From here on each event has a weight of its own; those before have their rows'.
	weighEvents() {
		this.weight = new Floats(Math.max(1024, this.row.length));
		for (let i = 0; i < this.row.length; i++)
			this.weight.push(this.profile.rowWeight.data[this.row.data[i]]);
	}

	rowOf(weight, count, n) {
		const {profile} = this;
		profile.rowWeight.push(weight);
		profile.rowCount.push(count);
		profile.rowTotal.push(weight * n);
		profile.rowSamples.push(count * n);
	}

	event(time, row, weight) {
		this.time.push(time);
		this.row.push(row);
		if (this.weight)
			this.weight.push(weight);
	}

	reason(attribute) {
		const row = this.attributeText.data[attribute];
		this.reasonOf = this.reasonOf || new Map();
		let reason = this.reasonOf.get(row);
		if (reason === undefined) {
			const text = row < 0 ? 'unknown' : this.texts.get(row) || 'unknown';
			reason = this.profile.reasons.indexOf(text);
			if (reason < 0)
				reason = this.profile.reasons.push(text) - 1;
			this.reasonOf.set(row, reason);
		}
		return reason;
	}

	thread(tidRow, nameRow, tid) {
		const key = tidRow * 4294967296 + nameRow;
		if (key === this.lastKey && this.lastMap === this.threadOf)
			return this.lastThread;
		let thread = this.threadOf.get(key);
		if (thread === undefined) {
			const text = nameRow ? this.attributeText.data[nameRow] : -1;
			thread = this.profile.threads.length;
			this.profile.threads.push({process: this.process, tid, name: text < 0 ? '' : this.texts.get(text)});
			this.threadOf.set(key, thread);
		}
		this.lastKey = key;
		this.lastMap = this.threadOf;
		this.lastThread = thread;
		return thread;
	}
}

// Rows of `keys` in the order of the upper 22 of their 32 bits, which is as finely as anything is drawn or chosen:
// a radix sort, stable.
function sortedOrder(keys) {
	const n = keys.length;
	let order = new Uint32Array(n), other = new Uint32Array(n);
	const low = new Uint32Array(2048), high = new Uint32Array(2048);
	for (let i = 0; i < n; i++) {
		low[keys[i] >>> 10 & 2047]++;
		high[keys[i] >>> 21]++;
	}
	for (let i = 0, lows = 0, highs = 0; i < 2048; i++) {
		const a = low[i], b = high[i];
		low[i] = lows;
		high[i] = highs;
		lows += a;
		highs += b;
	}
	for (let i = 0; i < n; i++)
		other[low[keys[i] >>> 10 & 2047]++] = i;
	for (let i = 0; i < n; i++)
		order[high[keys[other[i]] >>> 21]++] = other[i];
	return order;
}

// The events of a side in their order. Times are 32 bits of the recording's length; those without one are last.
function sortEvents(decoder) {
	const time = decoder.time.done(), info = decoder.info;
	let start = info.base ? info.start : Infinity, end = info.base ? info.end : -Infinity, timed = 0;
	for (let i = 0; i < time.length; i++) {
		if (time[i] !== time[i])
			continue;
		timed++;
		if (time[i] < start)
			start = time[i];
		if (time[i] > end)
			end = time[i];
	}
	info.start = start <= end ? start : 0;
	info.end = start <= end ? Math.max(end, start + 1) : 1;
	const scale = 4294967294 / (info.end - info.start), keys = new Uint32Array(time.length);
	for (let i = 0; i < time.length; i++)
		keys[i] = time[i] === time[i] ? (time[i] - info.start) * scale : 4294967295;
	const order = sortedOrder(keys), n = order.length, row = decoder.row.done(), weight = decoder.weight && decoder.weight.done();
	const events = {n, timed, time: new Uint32Array(n), row: new Int32Array(n), weight: weight && new Float64Array(n)};
	for (let i = 0; i < n; i++) {
		const from = order[i];
		events.time[i] = keys[from];
		events.row[i] = row[from];
	}
	for (let i = 0; weight && i < n; i++)
		events.weight[i] = weight[order[i]];
	return events;
}

// One or two messages: what is shown, and what it is compared with.
function decodeProfile(bytes, baseBytes) {
	const profile = new Profile(), decoder = new Decoder(profile, bytes);
	decoder.run();
	profile.events = sortEvents(decoder);
	profile.baseRows = profile.rowStack.length;
	profile.baseCells = profile.cellFrame.length;
	if (baseBytes) {
		const base = new Decoder(profile, baseBytes);
		base.run();
		profile.baseEvents = sortEvents(base);
	}
	profile.stackFirst.push(profile.stackCells.length);
	profile.freeze();
	return profile;
}

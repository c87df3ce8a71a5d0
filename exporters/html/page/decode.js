// SPDX-License-Identifier: Apache-2.0
//
// ProfilesData of OTLP Profiles (opentelemetry-proto 1.10 and 1.11, equal on the wire) to the columns of a Profile.
// Every length and every row is checked: what is wrong with a file becomes one sentence. Whatever is absent is
// unknown, and stays so.

const NO_PROGRAM = 'unknown program';

// The innermost unit of systemd in a line of /proc/PID/cgroup, a slice where it is alone; else its whole path.
function unitOf(line) {
	const path = line.replace(/^0::/, ''), names = path.split('/');
	const find = (type) => names.findLast((name) => type.test(name));
	return find(/.\.(service|scope|socket|mount|swap)$/) || find(/.\.slice$/) || path;
}

// Decodes one message, which becomes a side of the profile: 0 is what is shown, 1 what it is compared with.
class Decoder extends Dictionary {
	constructor(profile, bytes) {
		super(profile, bytes);
		this.info = {start: 0, end: 0, base: null, period: 0, unit: '', type: '', facts: {}, host: '', scope: '',
			version: '', others: 0, stacks: profile.stackCut.length, rows: profile.rowStack.length};
		profile.sides.push(this.info);
		this.start = Infinity; // of its events
		this.end = -Infinity;
		this.times = new Words(); // of each row, where the times of its events are
		this.counts = new Words(); // of each row, how many these are
		this.weight = null; // of events: only where values stand beside times
		this.processOf = new Map();
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
		this.threadAt = new Int32Array(this.attributeKey.length + 1).fill(-1); // by the row of its id, the last one
		const rows = resources.reduce((sum, [pos, end]) => sum + this.countSamples(pos, end, 0), 0);
		for (const column of [this.times, this.counts, ...this.profile.rowColumns()])
			column.reserve(rows);
		for (const range of resources)
			this.within(range, () => this.resource());
		this.findSpan();
	}

	// --- resources, profiles, samples ---

	// Resources hold scopes, those hold profiles, those samples: all as field 2.
	countSamples(pos, end, depth) {
		const r = this.reader;
		let count = 0;
		r.pos = pos;
		r.end = end;
		for (let field; (field = r.next());) {
			if (field !== 2 || r.wire !== BYTES) {
				r.skip();
				continue;
			}
			const outer = r.enter();
			count += depth === 2 ? 1 : this.countSamples(r.pos, r.end, depth + 1);
			r.leave(outer);
		}
		return count;
	}

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
		this.firstThread = this.profile.threads.length;
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
			facts['process.executable.name'] || baseName(exe) || (pid ? '?' : NO_PROGRAM));
		const container = String(facts['container.id'] || '');
		const user = String(facts['process.owner'] || ''), unit = unitOf(String(facts['process.linux.cgroup'] || ''));
		const key = JSON.stringify([pid, facts['process.creation.time'], facts['ebpf_profiler.process.image'], exe,
			name, container, user, unit]);
		let process = this.processOf.get(key);
		if (process === undefined) {
			process = this.profile.processes.length;
			this.profile.processes.push({pid, exe, name, container, user, unit});
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
			r.leave(outer);
			this.profile.rowStack.push(stack + this.info.stacks);
			this.weigh(values, times, timesEnd - times >>> 3, this.sample(attributes));
		}
	}

	// Who was sampled; returns how many samples it says it stands for, 0: it does not say.
	sample(attributes) {
		const profile = this.profile, rows = this.attributeKey.length, keys = this.attributeKey.data;
		let tidRow = 0, nameRow = 0, cpu = -1, unnamed = 0, cut = 0, count = 0, unverified = 0;
		for (let i = 0; i < attributes.length; i++) {
			const at = attributes.data[i];
			if (at >= rows)
				throw new Error(`there is no attribute ${at}`);
			const key = keys[at];
			if (key === THREAD_NAME)
				nameRow = at;
			else if (key === THREAD_ID)
				tidRow = at;
			else if (key === CPU)
				cpu = this.attributeNumber.data[at];
			else if (key === UNNAMED)
				unnamed = this.reason(at);
			else if (key === STACK_ERROR)
				cut = this.reason(at);
			else if (key === UNVERIFIED)
				unverified = 1;
			else if (key === COUNT)
				count = this.attributeNumber.data[at];
		}
		profile.rowThread.push(this.thread(tidRow, nameRow));
		profile.rowCpu.push(cpu);
		profile.rowUnnamed.push(unnamed);
		profile.rowCut.push(cut);
		profile.rowUnverified.push(unverified);
		return count;
	}

	// Weight and samples of a row, and where its n times are.
	weigh(values, times, n, counted) {
		const {profile, period} = this, scale = this.isCount ? period || 1 : 1;
		this.times.push(times);
		this.counts.push(n);
		if (n === 0) {
			const value = values.length ? values.data[0] : 0, guess = this.isTime && period ? Math.round(value / period) : 1;
			profile.rowTotal.push(value * scale);
			profile.rowSamples.push(this.isCount ? value : counted || Math.max(1, guess));
			return;
		}
		this.seeTimes(times, n);
		profile.rowSamples.push(n);
		if (values.length === 0 && !this.weight) {
			profile.rowTotal.push((period || 1) * n);
			return;
		}
		if (!this.weight)
			this.weighEvents();
		let total = 0;
		for (let i = 0; i < n; i++) {
			const own = values.length === 0 ? period || 1 : i < values.length ? values.data[i] * scale : 0;
			this.weight.push(own);
			total += own;
		}
		profile.rowTotal.push(total);
	}

	// When the first and the last event were.
	seeTimes(pos, n) {
		const {view} = this.reader, {low, high} = this;
		for (const end = pos + 8 * n; pos < end; pos += 8) {
			const time = (view.getUint32(pos + 4, true) - high) * 4294967296 + (view.getUint32(pos, true) - low);
			if (time < this.start)
				this.start = time;
			if (time > this.end)
				this.end = time;
		}
	}

	// From here on each event has a weight of its own; those before have a share of their row's.
	weighEvents() {
		const {counts} = this, totals = this.profile.rowTotal.data.subarray(this.info.rows);
		this.weight = new Floats();
		for (let row = 0; row < counts.length - 1; row++)
			for (let n = counts.data[row], i = 0; i < n; i++)
				this.weight.push(totals[row] / n);
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

	// The row of its id mostly says which it is: an array of the last one of each is asked first.
	thread(tidRow, nameRow) {
		const {threads} = this.profile, last = this.threadAt[tidRow];
		if (last >= this.firstThread && threads[last].nameRow === nameRow)
			return last;
		const key = `${tidRow} ${nameRow}`;
		let thread = this.threadOf.get(key);
		if (thread === undefined) {
			const text = nameRow ? this.attributeText.data[nameRow] : -1, tid = tidRow ? this.attributeNumber.data[tidRow] : -1;
			thread = threads.push({process: this.process, tid, name: text < 0 ? '' : this.texts.get(text), nameRow}) - 1;
			this.threadOf.set(key, thread);
		}
		this.threadAt[tidRow] = thread;
		return thread;
	}

	// A recording's length is that of its profiles, and of its events where those say more; hasSpan: one of them says it.
	findSpan() {
		const {info} = this, start = Math.min(info.base ? info.start : Infinity, this.start);
		const end = Math.max(info.base ? info.end : -Infinity, this.end);
		info.hasSpan = start <= end;
		info.start = start <= end ? start : 0;
		info.end = start <= end ? Math.max(end, start + 1) : 1;
	}
}

// The events of the first side, in the order of their rows: those of row i are first[i] to first[i + 1] - 1. Times are
// 32 bits of the recording's length, so that no more than 4294967294 is one. They are read when they are asked for.
class Events {
	constructor(decoder) {
		const {info, reader, weight} = decoder;
		this.view = reader.view;
		this.base = info.base || [0, 0];
		this.from = info.start;
		this.scale = 4294967294 / (info.end - info.start);
		this.rowTimes = decoder.times.done();
		this.weight = weight && weight.done();
		this.first = firstOf(decoder.counts.done());
		this.timed = this.first[this.rowTimes.length];
	}

	get time() {
		this.times = this.times || this.read();
		return this.times;
	}

	read() {
		const {view, rowTimes, first, from, scale} = this, [low, high] = this.base, time = new Uint32Array(this.timed);
		for (let row = 0; row < rowTimes.length; row++)
			for (let i = first[row], pos = rowTimes[row]; i < first[row + 1]; i++, pos += 8) {
				const at = (view.getUint32(pos + 4, true) - high) * 4294967296 + (view.getUint32(pos, true) - low);
				time[i] = (at - from) * scale;
			}
		this.rowTimes = this.view = null;
		return time;
	}
}

// Where each of what is counted begins, and behind the last the end.
function firstOf(counts) {
	const first = new Uint32Array(counts.length + 1);
	for (let i = 0; i < counts.length; i++)
		first[i + 1] = first[i] + counts[i];
	return first;
}

// One or two messages: what is shown, and what it is compared with.
function decodeProfile(bytes, baseBytes) {
	const profile = new Profile(), decoder = new Decoder(profile, bytes);
	profile.isCompared = Boolean(baseBytes);
	decoder.run();
	profile.baseRows = profile.rowStack.length;
	profile.baseCells = profile.cellFrame.length;
	profile.events = new Events(decoder);
	if (baseBytes)
		new Decoder(profile, baseBytes).run();
	profile.stackFirst.push(profile.stackCells.length);
	profile.freeze();
	return profile;
}

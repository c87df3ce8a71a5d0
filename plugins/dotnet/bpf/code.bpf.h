/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From an address to the function that it is in:
 *
 *	range map ──► range ─┬─ heap: nibble map ──► start ──► word before it: RealCodeHeader, or a
 *			     │  stub
 *			     ├─ image: search of its RUNTIME_FUNCTIONs
 *			     └─ stubs: their kind
 */
#ifndef DOTNET_CODE_BPF_H
#define DOTNET_CODE_BPF_H

#include "plugins/dotnet/bpf/scratch.bpf.h"

/* --- the range map (vm/codeman.h: RangeSectionMap, v8.0.0) ---------------------------------- */

/* The list of fragments for an address into s->search. */
static __always_inline bool find_fragments(const struct dotnet_walk *w, __u64 addr)
{
	w->s->search = w->state->range_map;
	for (__u64 i = 0; i < DOTNET_MAP_LEVELS; i++) {
		__u64 shift =
			DOTNET_MAP_SHIFT + DOTNET_MAP_LEVEL_BITS * (DOTNET_MAP_LEVELS - 1 - i);

		if (!ep_read_word(w->s->search + 8 * (addr >> shift & (DOTNET_MAP_ENTRIES - 1)),
				  &w->s->search))
			return false;
		w->s->search &= ~1ull;
		if (!w->s->search)
			return false;
	}
	return true;
}

/* The RangeSection of the one that holds it. */
static __always_inline bool find_section(const struct dotnet_walk *w, __u64 addr)
{
	struct dotnet_scratch *s = w->s;

	for (__u64 i = 0; i < DOTNET_MAX_FRAGMENTS; i++) {
		if (!s->search ||
		    bpf_probe_read_user(s->fragment, sizeof(s->fragment), (void *)s->search))
			return false;
		if (addr - s->fragment[1] < s->fragment[2] - s->fragment[1])
			return !bpf_probe_read_user(s->section, sizeof(s->section),
						    (void *)s->fragment[3]);
		s->search = s->fragment[0] & ~1ull;
	}
	return false;
}

static __always_inline bool find_range(const struct dotnet_walk *w, __u64 addr)
{
	const struct dotnet_state *state = w->state;
	struct dotnet_scratch *s = w->s;

	if (addr - s->range.begin < s->range.bytes)
		return true;
	if (!find_fragments(w, addr))
		return false;
	EP_MEET();
	if (!find_section(w, addr))
		return false;
	EP_MEET();
	s->range.begin = s->section[0];
	s->range.bytes = s->section[1] - s->section[0];
	s->range.flags = DOTNET_INT(s->section, state->range_flags);
	s->range.module = DOTNET_WORD(s->section, state->range_module);
	s->range.heap = DOTNET_WORD(s->section, state->range_heap);
	s->range.list = DOTNET_WORD(s->section, state->range_list);
	return addr - s->range.begin < s->range.bytes;
}

static __always_inline bool is_in_code(const struct dotnet_walk *w, __u64 addr)
{
	return find_range(w, addr) && !(w->s->range.flags & DOTNET_RANGE_STUBS);
}

/* --- the nibble map (inc/nibblemapmacros.h, v8.0.0, v10.0.0) -------------------------------- */

/* Of a word, what lies not after an address at `delta`: nibbles of earlier buckets, and its own if
 * its method begins at or below. A pointer says it all. */
static __always_inline __u64 cut_word(__u64 word, __u64 delta)
{
	__u64 shift = 28 - 4 * (delta >> 5 & 7), own = word >> shift & 15;
	__u64 is_pointer = (DOTNET_NIBBLE_POINTER - (word & 15)) >> 63;
	__u64 counts = 1 ^ (((delta & 31) >> 2) + 1 - own) >> 63;
	__u64 earlier = word >> shift >> 4 << 4 << shift;

	return ep_pick(is_pointer, word, earlier | (own * counts) << shift);
}

/* The words that end with the one at `last`, or the first ones of the map. */
static __always_inline bool read_nibbles(const struct dotnet_walk *w, __u64 map, __u64 last)
{
	__u64 back = ep_at_most(last, DOTNET_NIBBLE_WORDS - 1);

	w->s->first = last - back;
	return !bpf_probe_read_user(w->s->nibbles, sizeof(w->s->nibbles),
				    (void *)(map + 4 * w->s->first));
}

static __always_inline __u64 any_nibble(const struct dotnet_walk *w)
{
	__u64 any = 0;

#pragma unroll
	for (__u32 i = 0; i < DOTNET_NIBBLE_WORDS / 2; i++)
		any |= w->s->nibble_pairs[i];
	return any;
}

/* The last one up to `last` that is not 0 into s->word, and where it is. */
static __always_inline void scan_nibbles(const struct dotnet_walk *w, __u64 last)
{
	struct dotnet_scratch *s = w->s;

	s->word = 0;
	for (__u64 i = 0; i < DOTNET_NIBBLE_WORDS; i++) {
		__u64 word = s->nibbles[i], is_set;

		if (s->first + i > last)
			break;
		is_set = ep_is_set(word);
		s->word += is_set * (word - s->word);
		s->word_at += is_set * (s->first + i - s->word_at);
	}
}

/* Where the method begins that a word tells of: the lowest nibble that is set, or a pointer. */
static __always_inline __u64 start_of_word(const struct dotnet_walk *w)
{
	__u64 word = w->s->word, low = word & 15, is_pointer = (DOTNET_NIBBLE_POINTER - low) >> 63;
	__u64 off = 0, is_found = 0;

#pragma unroll
	for (__u32 i = 0; i < 8; i++) {
		__u64 nibble = word >> (4 * i) & 15, is_first = ep_is_set(nibble) & (1 ^ is_found);

		off += is_first * (((7 - i) << 5) + 4 * (nibble - 1));
		is_found |= is_first;
	}
	return ep_pick(is_pointer, (word & ~15ull & 0xffffffff) + ((low - 9) << 2),
		       (w->s->word_at << 8) + off);
}

/* Into s->found: where the code begins that holds an address of the heap in s->heap. */
static __always_inline bool find_start(const struct dotnet_walk *w, __u64 addr)
{
	const struct dotnet_state *state = w->state;
	struct dotnet_scratch *s = w->s;
	__u64 base = DOTNET_WORD(s->heap, state->heap_map_base),
	      map = DOTNET_WORD(s->heap, state->heap_map);
	__u64 delta = addr - base;
	__u32 *last;

	if (delta >> 32)
		return false;
	s->search = delta >> 8;
	if (!read_nibbles(w, map, s->search))
		return false;
	last = &s->nibbles[(s->search - s->first) & (DOTNET_NIBBLE_WORDS - 1)];
	*last = (__u32)cut_word(*last, delta);
	scan_nibbles(w, s->search);
	EP_MEET();
	s->is_cut = ep_is_set(s->word);
	for (__u64 i = 1; i < DOTNET_NIBBLE_WINDOWS; i++) {
		if (s->word || !s->first)
			break;
		s->search = s->first - 1;
		if (!read_nibbles(w, map, s->search))
			return false;
		s->word = any_nibble(w);
	}
	EP_MEET();
	if (!s->word)
		return false;
	if (!s->is_cut)
		scan_nibbles(w, s->search);
	EP_MEET();
	s->found = base + start_of_word(w);
	return s->found <= addr;
}

#define CLAUSES_COUNT	8 /* before the clauses' header */
#define CLAUSES_AT	8 /* after it */
#define CLAUSE_BYTES	32
#define CLAUSE_HANDLER	12 /* HandlerStartPC */

/* --- JIT code ------------------------------------------------------------------------------- */

static __always_inline void be(const struct dotnet_walk *w, __u64 is)
{
	w->s->at.is = is;
}

static __always_inline void be_stub(const struct dotnet_walk *w, __u64 kind)
{
	be(w, DOTNET_IS_STUB);
	w->s->at.kind = DOTNET_FRAME_STUB;
	w->s->at.stub = kind;
}

/* Of n RUNTIME_FUNCTIONs at s->search, the last one that begins at or below an offset, into
 * s->function. */
static __always_inline bool find_function(const struct dotnet_walk *w, __u64 n, __u64 off,
					  __u32 steps)
{
	struct dotnet_scratch *s = w->s;

	s->found = 0;
	s->len = n;
	for (__u64 i = 0; i < steps; i++) {
		__u64 half = s->len >> 1;

		if (!half)
			break;
		if (bpf_probe_read_user(
			    &s->begin, sizeof(s->begin),
			    (void *)(s->search + (s->found + half) * DOTNET_FUNCTION_BYTES)))
			return false;
		s->found += half * (1 ^ (off - s->begin) >> 63);
		s->len -= half;
	}
	return !bpf_probe_read_user(s->function, sizeof(s->function),
				    (void *)(s->search + s->found * DOTNET_FUNCTION_BYTES));
}

/* What was found begins at an offset to `base`. */
static __always_inline void take_function(const struct dotnet_walk *w, __u64 base, __u64 addr)
{
	struct dotnet_frame_at *at = &w->s->at;

	at->begin = base + w->s->function[0];
	at->end = base + w->s->function[1];
	at->unwind = base + w->s->function[2];
	be(w, addr - at->begin < at->end - at->begin ? DOTNET_IS_CODE : DOTNET_IS_LOST);
}

/*
 * A funclet that catches, or runs at the end: its offset in the method is that of a clause's
 * handler. A filter's is not (vm/codeman.h: EE_ILEXCEPTION, EE_ILEXCEPTION_CLAUSE; vm/codeman.cpp:
 * EEJitManager::allocEHInfoRaw, v8.0.0).
 */
static __always_inline void find_handler(const struct dotnet_walk *w, __u64 off, __u64 clauses)
{
	struct dotnet_scratch *s = w->s;

	if (bpf_probe_read_user(&s->count, sizeof(s->count), (void *)(clauses - CLAUSES_COUNT)))
		return;
	for (__u64 i = 0; i < DOTNET_MAX_CLAUSES; i++) {
		if (i >= s->count || s->at.is_funclet ||
		    bpf_probe_read_user(
			    &s->begin, sizeof(s->begin),
			    (void *)(clauses + CLAUSES_AT + CLAUSE_BYTES * i + CLAUSE_HANDLER)))
			break;
		s->at.is_funclet = ep_is_same(s->begin, off);
	}
}

static __always_inline void read_header(const struct dotnet_walk *w, __u64 addr, __u64 start,
					__u64 header)
{
	const struct dotnet_state *state = w->state;
	struct dotnet_scratch *s = w->s;
	__u64 n, first;

	if (bpf_probe_read_user(s->header, DOTNET_HEADER_BYTES, (void *)header))
		return;
	n = DOTNET_INT(s->header, state->header_n_unwinds);
	first = DOTNET_INT(s->header, state->header_unwinds);
	s->at.method = DOTNET_WORD(s->header, state->header_method);
	s->at.start = start;
	s->search = header + state->header_unwinds;
	s->base = start - first;
	if (n - 1 >= DOTNET_MAX_FUNCLETS ||
	    !find_function(w, n, addr - s->base, DOTNET_FUNCLET_STEPS))
		return;
	EP_MEET();
	take_function(w, s->base, addr);
	EP_MEET();
	if (s->found)
		find_handler(w, s->at.begin - start, DOTNET_WORD(s->header, state->header_eh));
}

static __always_inline void find_jit(const struct dotnet_walk *w, __u64 addr)
{
	const struct dotnet_state *state = w->state;
	struct dotnet_scratch *s = w->s;

	be(w, DOTNET_IS_LOST);
	s->at.is_kept = 1 ^ (s->range.flags & DOTNET_RANGE_COLLECTIBLE);
	s->at.kind = ep_pick(s->at.is_kept, DOTNET_FRAME_JIT, DOTNET_FRAME_COLLECTIBLE);
	if (bpf_probe_read_user(s->heap, DOTNET_HEAP_BYTES, (void *)s->range.heap))
		return;
	if (addr - DOTNET_WORD(s->heap, state->heap_start) >
	    DOTNET_WORD(s->heap, state->heap_end) - DOTNET_WORD(s->heap, state->heap_start))
		return;
	if (!find_start(w, addr))
		return;
	EP_MEET();
	s->search = s->found;
	if (!ep_read_word(s->search - 8, &s->value))
		return;
	if (s->value <= DOTNET_STUB_LAST)
		be_stub(w, s->value);
	else
		read_header(w, addr, s->search, s->value);
}

/* --- code of images ------------------------------------------------------------------------- */

/* The ReadyToRunInfo that has the functions: the image's, or the composite's that it is in. */
static __always_inline bool find_info(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;

	if (!ep_read_word(s->range.module + w->state->module_r2r, &s->search) || !s->search ||
	    !ep_read_word(s->search + w->state->r2r_composite, &s->value))
		return false;
	if (s->value)
		s->search = s->value;
	return true;
}

/* Thunks that load what is called: IMAGE_DATA_DIRECTORY, an offset and a size. */
static __always_inline bool is_thunk(const struct dotnet_walk *w, __u64 off)
{
	struct dotnet_scratch *s = w->s;

	return ep_read_word(s->search + w->state->r2r_thunks, &s->value) && s->value &&
	       ep_read_word(s->value, &s->value) && off - (__u32)s->value < s->value >> 32;
}

/* After the slots of an UNWIND_INFO, which are an even number: into s->kind. */
static __always_inline bool read_personality(const struct dotnet_walk *w, __u64 unwind)
{
	struct dotnet_scratch *s = w->s;

	return !bpf_probe_read_user(&s->count, sizeof(s->count), (void *)unwind) &&
	       !bpf_probe_read_user(
		       &s->kind, sizeof(s->kind),
		       (void *)(unwind + ((7 + 2 * (__u64)(s->count >> 16 & 255)) & ~3ull)));
}

/*
 * In images of 8 and 9 a funclet sets rbp after its prologue: mov rbp, [rdi + n]
 * (jit/codegenxarch.cpp: genFuncletProlog, v8.0.0), and nothing else begins so: of CoreLib's 37 548
 * and 47 301 functions the 1 599 and 1 765 funclets do. A filter's personality routine is another
 * one than that of all others, and of the first function.
 */
static __always_inline void find_r2r_handler(const struct dotnet_walk *w, __u64 functions)
{
	struct dotnet_scratch *s = w->s;
	__u32 personality;

	if (!read_personality(w, s->at.unwind) ||
	    !ep_read_word(s->at.begin + (s->count >> 8 & 255), &s->before) ||
	    (s->before & 0x3fffff) != 0x2f8b48 || (s->before >> 22 & 3) == 3)
		return;
	personality = s->kind;
	if (ep_read_word(functions + 4, &s->value) &&
	    read_personality(w, s->range.begin + (s->value >> 32)))
		s->at.is_funclet = ep_is_same(personality, s->kind);
}

static __always_inline void find_r2r(const struct dotnet_walk *w, __u64 addr)
{
	struct dotnet_scratch *s = w->s;
	__u64 off = addr - s->range.begin;

	/* Pages of the file may not be in memory: then the address itself names it, and rbp has to
	 * do. */
	be(w, DOTNET_IS_CODE);
	s->at.is_kept = 1;
	s->at.kind = DOTNET_FRAME_R2R;
	s->at.start = addr;
	s->at.begin = s->at.end = s->at.unwind = 0;
	if (!find_info(w))
		return;
	EP_MEET();
	if (is_thunk(w, off)) {
		be_stub(w, DOTNET_STUB_DELAY_LOAD);
		return;
	}
	EP_MEET();
	if (bpf_probe_read_user(&s->count, sizeof(s->count),
				(void *)(s->search + w->state->r2r_n_functions)) ||
	    !ep_read_word(s->search + w->state->r2r_functions, &s->search) || !s->count ||
	    s->count > DOTNET_MAX_R2R_FUNCTIONS)
		return;
	EP_MEET();
	if (!find_function(w, s->count, off, DOTNET_R2R_STEPS))
		return;
	EP_MEET();
	take_function(w, s->range.begin, addr);
	s->at.start = s->at.begin;
	EP_MEET();
	find_r2r_handler(w, s->search);
}

/* --- any of them ---------------------------------------------------------------------------- */

static __always_inline void find_code(const struct dotnet_walk *w, __u64 addr)
{
	struct dotnet_scratch *s = w->s;

	be(w, DOTNET_IS_OUTSIDE);
	s->at.is_funclet = 0;
	if (!find_range(w, addr))
		return;
	EP_MEET();
	if (s->range.flags & DOTNET_RANGE_STUBS) {
		s->kind = 0;
		(void)bpf_probe_read_user(&s->kind, sizeof(s->kind),
					  (void *)(s->range.list + w->state->list_kind));
		be_stub(w, s->kind & DOTNET_STUB_LAST);
	} else if (s->range.flags & DOTNET_RANGE_HEAP) {
		find_jit(w, addr);
	} else {
		find_r2r(w, addr);
	}
}

#endif

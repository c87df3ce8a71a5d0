/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the names of a recently started program's frames are made of, as symbolize/ reads it:
 *
 *	frame ─┬─► body of the iseq ─┬─► label
 *	       │                     ├─► (of an eval) iseq around ─► its body ─► label
 *	       │                     ├─► path, or an array ─► real path
 *	       │                     └─► table of lines
 *	       └─► method entry ─┬─► definition ─► (a method in C) table of IDs ─► name
 *	                         └─► class ─► (an included module) class ─► singleton ─► name
 *
 * All that a frame needs is sent with it, once more if it was sent with another one: the collector
 * frees code and its names apart, and puts others at their addresses (EP_BPF_KEEPS_WHOLE).
 *
 * Not kept are lines after the first RUBY_KEPT_LINES bytes of a table, texts of more than
 * RUBY_KEPT_TEXT bytes, and what compaction has moved a moment ago.
 */
#include "plugins/ruby/ruby_shared.h"
#include "plugins/shared/bpf/keep.bpf.h"

EP_KEEPER();

#define KEPT_FRAMES 24	 /* new ones; others come with the next sample */
#define ITEM_BYTES  5120 /* of a frame at most, with its pieces' heads */
#define MAX_CLASSES 3	 /* included module, singleton class, the object's class */
#define FIRST_VARIABLES 8

/* The parts that are the same in 2.5 to 4.0: symbolize/ says what they are. */
#define TYPE_EVAL     6 /* of a body, its first 32 bits */
#define BODY_PATHOBJ  64
#define BODY_LABEL    80
#define ISEQ_BYTES    24
#define ENTRY_BYTES   40
#define ENTRY_DEF     16
#define ENTRY_OWNER   32
#define DEF_BYTES     48
#define DEF_ORIGINAL  32
#define CLASS_KLASS   8
#define ARRAY_BYTES   40
#define TYPE_MASK     0x1full
#define TYPE_CLASS    0x02
#define TYPE_STRING   0x05
#define TYPE_ICLASS   0x1c
#define NOEMBED	      (1ull << 13) /* a string */
#define EMBED	      (1ull << 13) /* an array */
#define ST_BYTES      56
#define ST_START      32
#define ST_BOUND      40
#define ST_ENTRIES    48
#define VARIABLE_BYTES 24
#define IDS_IN_UNIT    512

/* In a map, not on the stack: see step.bpf.h. */
struct ruby_keeper {
	__u64 sequence;
	__u64 n;
	/* Of the frame in hand; 0: none. */
	__u64 string, array, class, object, id;
	__u64 info, info_bytes, table, table_bytes; /* of lines */
	/* That were kept in this event, the last ones. */
	__u64 last_path, last_class;
	/* What is here is not zeroed. */
	struct ep_kept_frame frames[EP_KEEP_LISTED];
};

EP_SCRATCH_UP_TO(struct ruby_keeper, frames)

struct ruby_keeping {
	const struct ep_record *rec;
	const struct ruby_state *state;
	struct ep_keep *keep;
	struct ruby_keeper *s;
};

/* A word of the process, kept. 0: it cannot be read. */
static __always_inline __u64 keep_word(const struct ruby_keeping *k, __u64 addr)
{
	const __u8 *piece = ep_keep_memory(k->keep, addr, 8);

	return piece ? ep_kept_word(piece, 0) : 0;
}

/* --- objects ---------------------------------------------------------------------------------- */

/* `string`: its head, and its bytes where they are not in it. Another object: `array`. */
static __always_inline void keep_string(const struct ruby_keeping *k)
{
	__u64 addr = k->s->string, flags, bytes, apart;
	const __u8 *head;

	k->s->array = 0;
	if (!addr)
		return;
	head = ep_keep_memory(k->keep, addr, RUBY_HEAD_BYTES);
	if (!head)
		return;
	flags = ep_kept_word(head, 0);
	if ((flags & TYPE_MASK) != TYPE_STRING) {
		k->s->array = addr;
		return;
	}
	bytes = ep_at_most(ep_kept_word(head, 16), RUBY_KEPT_TEXT);
	apart = ep_is_set(flags & NOEMBED);
	addr = ep_pick(apart, ep_kept_word(head, 24), addr + 24);
	apart |= (1 ^ k->state->string_in_flags) & ((RUBY_HEAD_BYTES - 24 - bytes) >> 63);
	if (apart)
		ep_keep_memory(k->keep, addr, bytes);
}

/* The path of what is no string: the array of a path and the real path, which is nil for what is in
 * no file. */
static __always_inline void keep_path(const struct ruby_keeping *k)
{
	const __u8 *head = k->s->array ? ep_keep_memory(k->keep, k->s->array, ARRAY_BYTES) : NULL;
	__u64 real;

	if (!head)
		return;
	real = ep_kept_word(head, 24);
	k->s->string = ep_pick(ep_is_set(real & 7), ep_kept_word(head, 16), real);
	EP_MEET();
	keep_string(k);
}

static __always_inline __u64 keep_element(const struct ruby_keeping *k, __u64 array, __u64 i)
{
	const __u8 *head = array ? ep_keep_memory(k->keep, array, ARRAY_BYTES) : NULL;
	__u64 elements;

	if (!head)
		return 0;
	elements = ep_pick(ep_is_set(ep_kept_word(head, 0) & EMBED), array + 16,
			   ep_kept_word(head, 32));
	return keep_word(k, elements + 8 * i);
}

/* The name of a method in C. */
static __always_inline void keep_id(const struct ruby_keeping *k)
{
	__u64 id = k->s->id, serial = ep_pick((k->state->last_op_id - id) >> 63, id >> 4, id),
	      units;
	const __u8 *symbols = id ? ep_keep_memory(k->keep, k->state->symbols_addr, 24) : NULL;

	if (!symbols)
		return;
	units = keep_element(k, ep_kept_word(symbols, 16), serial / IDS_IN_UNIT);
	EP_MEET();
	k->s->string = keep_element(k, units, serial % IDS_IN_UNIT * 2);
	EP_MEET();
	keep_string(k);
}

/* --- classes ---------------------------------------------------------------------------------- */

/* To 3.1 names and objects are among the variables of a class, the first ones. */
static __always_inline void keep_variables(const struct ruby_keeping *k, __u64 ext)
{
	__u64 table = keep_word(k, ext + k->state->class_variables), from, count, is;
	const __u8 *words;

	if (!table)
		return;
	words = ep_keep_memory(k->keep, table, ST_BYTES);
	if (!words)
		return;
	from = ep_kept_word(words, ST_START);
	count = ep_at_most(ep_kept_word(words, ST_BOUND) - from, RUBY_MAX_VARIABLES);
	words = ep_keep_memory(k->keep, ep_kept_word(words, ST_ENTRIES) + from * VARIABLE_BYTES,
			       count * VARIABLE_BYTES);
	if (!words)
		return;
	/* After the last one is what was kept before: at worst something that nobody asks for is
	 * kept. */
#pragma unroll
	for (__u32 i = 0; i < FIRST_VARIABLES; i++) {
		is = ep_is_same(ep_kept_word(words, i * VARIABLE_BYTES + 8), k->state->path_id);
		k->s->string =
			ep_pick(is, ep_kept_word(words, i * VARIABLE_BYTES + 16), k->s->string);
		is = ep_is_same(ep_kept_word(words, i * VARIABLE_BYTES + 8), k->state->attached_id);
		k->s->object =
			ep_pick(is, ep_kept_word(words, i * VARIABLE_BYTES + 16), k->s->object);
	}
}

/* `class` is the one whose name its methods have. False: `class` is another one now, or 0. */
static __always_inline bool keep_class(const struct ruby_keeping *k)
{
	__u64 type, klass, ext, singleton;
	const __u8 *head;

	k->s->string = 0;
	k->s->object = 0;
	head = ep_keep_memory(k->keep, k->s->class, RUBY_CLASS_BYTES);
	if (!head)
		return true;
	type = ep_kept_word(head, 0);
	singleton = type >> (k->state->class_singleton & 31) &
		    ep_is_same(type & TYPE_MASK, TYPE_CLASS) & 1;
	type &= TYPE_MASK;
	klass = ep_kept_word(head, CLASS_KLASS);
	ext = ep_kept_word(head, k->state->class_ext & 63);
	if (k->state->class_variables) {
		keep_variables(k, ext);
	} else {
		k->s->string = ep_kept_word(head, k->state->class_path & 255);
		k->s->object = ep_kept_word(head, k->state->class_attached & 255);
	}
	EP_MEET();
	k->s->class = ep_pick(ep_is_same(type, TYPE_ICLASS), klass, k->s->object * singleton);
	return !k->s->class;
}

static __always_inline void keep_owner(const struct ruby_keeping *k)
{
	if (!k->s->class || k->s->class == k->s->last_class)
		return;
	k->s->last_class = k->s->class;
	for (__u64 i = 0; i < MAX_CLASSES; i++) {
		if (keep_class(k))
			break;
		EP_MEET();
	}
	EP_MEET();
	keep_string(k);
}

/* --- frames ----------------------------------------------------------------------------------- */

static __always_inline void keep_lines(const struct ruby_keeping *k)
{
	struct ruby_keeper *s = k->s;

	ep_keep_memory(k->keep, s->info, s->info_bytes);
	if (s->table_bytes)
		ep_keep_memory(k->keep, s->table, s->table_bytes);
}

/* lines.h: how long the tables are. */
static __always_inline void measure_lines(const struct ruby_keeping *k, const __u8 *body)
{
	__u64 positions = ep_kept_word(body, 0) >> 32, n, blocks, is_long;
	const struct ruby_state *state = k->state;
	struct ruby_keeper *s = k->s;

	n = ep_kept_word(body, state->body_info_size & 252) & 0xffffffff;
	s->info = ep_kept_word(body, state->body_info & 255);
	s->info_bytes = ep_at_most(n * state->info_bytes,
				   RUBY_KEPT_LINES / state->info_bytes * state->info_bytes);
	s->table = ep_kept_word(body,
				(state->body_succ ? state->body_succ : state->body_info + 8) & 255);
	s->table_bytes = ep_at_most(4 * n, RUBY_KEPT_LINES);
	if (state->body_succ) {
		is_long = (53 - positions) >> 63;
		blocks = (positions - 54 + 511) >> 9;
		s->table_bytes = ep_pick(is_long, 48 + 80 * blocks, (positions + 8) / 9 * 8);
	}
	s->table_bytes *= ep_is_set(n & ~1ull);
}

/* What an eval is called by from 3.4 on; not what is around an eval in it. */
static __always_inline void keep_label_around(const struct ruby_keeping *k, __u64 iseq)
{
	const __u8 *piece = iseq ? ep_keep_memory(k->keep, iseq, ISEQ_BYTES) : NULL;

	if (piece)
		piece = ep_keep_memory(k->keep, ep_kept_word(piece, 16), k->state->body_bytes);
	if (!piece)
		return;
	k->s->string = ep_kept_word(piece, BODY_LABEL);
	EP_MEET();
	keep_string(k);
}

static __always_inline void keep_body(const struct ruby_keeping *k, __u64 addr)
{
	struct ruby_keeper *s = k->s;
	const __u8 *body = addr ? ep_keep_memory(k->keep, addr, k->state->body_bytes) : NULL;
	__u64 path, local, around;

	if (!body)
		return;
	local = ep_kept_word(body, k->state->body_local & 255);
	s->string = ep_kept_word(body, BODY_LABEL);
	path = ep_kept_word(body, BODY_PATHOBJ);
	around = ep_kept_word(body, k->state->body_parent & 255) *
		 ep_is_same(ep_kept_word(body, 0) & 0xffffffff, TYPE_EVAL);
	measure_lines(k, body);
	EP_MEET();
	ep_keep_memory(k->keep, local, ISEQ_BYTES);
	EP_MEET();
	keep_lines(k);
	EP_MEET();
	keep_string(k);
	EP_MEET();
	keep_label_around(k, around);
	EP_MEET();
	if (path == s->last_path)
		return;
	s->last_path = path;
	s->string = path;
	keep_string(k);
	EP_MEET();
	keep_path(k);
}

/* `id`: of a method in C. */
static __always_inline void keep_entry(const struct ruby_keeping *k, __u64 addr, __u64 is_c)
{
	const __u8 *piece = addr ? ep_keep_memory(k->keep, addr, ENTRY_BYTES) : NULL;

	k->s->id = 0;
	k->s->class = 0;
	if (!piece)
		return;
	k->s->class = ep_kept_word(piece, ENTRY_OWNER);
	piece = ep_keep_memory(k->keep, ep_kept_word(piece, ENTRY_DEF), DEF_BYTES);
	if (piece)
		k->s->id = ep_kept_word(piece, DEF_ORIGINAL) * is_c;
}

static __always_inline void keep_frame(const struct ruby_keeping *k,
				       const struct ep_kept_frame *frame)
{
	__u64 kind = ruby_kind(EP_FRAME_AUX(frame->header));

	EP_MEET();
	if (kind == RUBY_KIND_ISEQ)
		keep_body(k, ruby_address(frame->word0));
	EP_MEET();
	keep_entry(k, ruby_address(frame->word1), kind);
	EP_MEET();
	keep_owner(k);
	EP_MEET();
	keep_id(k);
	EP_MEET();
}

static __always_inline void forget(struct ruby_keeper *s)
{
	s->last_path = 0;
	s->last_class = 0;
}

SEC("perf_event")
int ruby_keep(struct bpf_perf_event_data *ctx)
{
	struct ruby_keeping k = {};

	EP_KEEP_FRAMES(ctx, k, KEPT_FRAMES, ITEM_BYTES, 0, forget, keep_frame);
	return 0;
}

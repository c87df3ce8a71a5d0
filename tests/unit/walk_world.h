/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delta store over plain memory with an invented process in it, and events with copies of its
 * stack, for tests and the fuzz target of core/walk. Each function of the process takes 16 bytes
 * of stack, the upper 8 of which are its return address.
 */
#ifndef EP_TESTS_WALK_WORLD_H
#define EP_TESTS_WALK_WORLD_H

#include "core/unwind/delta_store.h"
#include "core/unwind/table.h"
#include "core/walk/walk.h"
#include "tests/unit/heap_chunks.h"

#include <assert.h>
#include <string.h>

/* --- the store ------------------------------------------------------------------------------- */

#define WALK_MAX_TEXTS 64

struct walk_world {
	struct ep_rule rules[EP_MAX_RULES];
	struct ep_delta_store *store;
	struct ep_delta_store_text *texts[WALK_MAX_TEXTS];
	size_t n_texts;
	struct ep_walker *walker;
};

static inline void walk_world_init(struct walk_world *world)
{
	struct ep_delta_store_ops ops = {
		.arg = world,
		.add_chunk = heap_add_chunk,
		.remove_chunk = heap_remove_chunk,
		.rules = world->rules,
	};
	struct ep_walker_options options = {.rules = world->rules};

	memset(world, 0, sizeof(*world));
	if (ep_delta_store_new(&ops, 64u << 20, &world->store) < 0)
		abort();
	options.store = world->store;
	if (ep_walker_new(&options, &world->walker) < 0)
		abort();
}

static inline void walk_world_fini(struct walk_world *world)
{
	ep_walker_free(world->walker);
	for (size_t i = 0; i < world->n_texts; i++)
		ep_delta_store_drop_text(world->store, world->texts[i]);
	ep_delta_store_free(world->store);
}

/* The segment of the text that was put. */
static inline struct ep_delta_store_segment walk_put_text(struct walk_world *world,
							  const struct ep_unwind_table *table)
{
	const struct ep_delta_store_segment *segments;

	if (world->n_texts == WALK_MAX_TEXTS ||
	    ep_delta_store_put_text(world->store, table, &world->texts[world->n_texts]) < 0)
		abort();
	if (ep_delta_store_text_segments(world->texts[world->n_texts++], &segments) != 1)
		abort();
	return segments[0];
}

/* --- the process ----------------------------------------------------------------------------- */

#define WALK_SLOT 2 /* of its language */

/* Where its code is: one page each. */
#define WALK_CODE     0x400000ull /* functions */
#define WALK_ROOT     0x401800ull /* from here to the end of the second page of the functions */
#define WALK_SIGNAL   0x402000ull /* the signal trampoline */
#define WALK_TABLES   0x403000ull /* rules that are not in the delta: see walk_invented */
#define WALK_PENDING  0x500000ull
#define WALK_DROPPED  0x510000ull
#define WALK_ABSENT   0x520000ull
#define WALK_MARKED   0x600000ull
#define WALK_ENTER    0x610000ull
#define WALK_ANON     0x700000ull
#define WALK_NOTHING  0x900000ull /* no mapping */
#define WALK_CODE_ID  1
#define WALK_OTHER_ID 2
#define WALK_MARK_ID  4
#define WALK_VA	      0x1000ull /* of WALK_CODE in its file, and of the others in theirs */
#define WALK_N_ROWS   8

/* Addresses in WALK_TABLES with the rule they have. */
#define WALK_DEREF    (WALK_TABLES + 0x000) /* CFA = *(sp + 16) + 16, the caller's rbx at CFA - 16 */
#define WALK_PLT      (WALK_TABLES + 0x200) /* CFA = sp + 8, or 16 after the 11th byte of a slot */
#define WALK_RBX      (WALK_TABLES + 0x400) /* CFA = rbx + 16 */
#define WALK_IN_REG   (WALK_TABLES + 0x600) /* return address in rax */
#define WALK_FP	      (WALK_TABLES + 0x800) /* CFA = fp + 16, fp at CFA - 16 */
#define WALK_INJECTED (WALK_TABLES + 0x900) /* CFA = sp + 16; the caller was interrupted */
#define WALK_NO_RULE  (WALK_TABLES + 0xa00)
#define WALK_UNSUPPORTED (WALK_TABLES + 0xc00)
#define WALK_SWITCH   (WALK_TABLES + 0xd00) /* CFA = fp + 16, on any stack, fp at CFA - 16 */
#define WALK_VFORK    (WALK_TABLES + 0xe00) /* CFA = sp, return address in rdi */
#define WALK_OUTER    (WALK_TABLES + 0xf00) /* CFA = sp + 8, within the frame of the next: */
#define WALK_OUTER_OF (WALK_CODE + 0x123)   /* CFA = sp + 16 */

static inline struct ep_delta_store_segment walk_put_invented(struct walk_world *world)
{
	static struct ep_rule rules[] = {
		{.cfa_kind = EP_CFA_DEREF, .cfa_reg = EP_REG_SP, .cfa_off = 16, .cfa_add = 16,
		 .ra_kind = EP_REG_AT_CFA, .ra_off = -8, .others = 3, .base_slot = 2},
		{.cfa_kind = EP_CFA_PLT, .cfa_reg = EP_REG_SP, .cfa_off = 8, .cfa_add = 11,
		 .ra_kind = EP_REG_AT_CFA, .ra_off = -8},
		{.cfa_reg = 3, .cfa_off = 16, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
		 .fp_kind = EP_REG_IS_CFA, .fp_off = 8},
		{.cfa_reg = EP_REG_SP, .cfa_off = 16, .ra_kind = EP_REG_IN_REG, .ra_reg = 0,
		 .fp_kind = EP_REG_AT_REG, .fp_reg = EP_REG_SP},
		{.cfa_reg = EP_REG_SP, .ra_kind = EP_REG_IN_REG, .ra_reg = 5},
		{.cfa_reg = EP_REG_SP, .cfa_off = 16, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
		 .others = EP_OTHERS_INTERRUPTED},
		{.cfa_reg = EP_REG_FP, .cfa_off = 16, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
		 .fp_kind = EP_REG_AT_CFA, .fp_off = -16, .others = EP_OTHERS_SWITCH},
		{.cfa_reg = EP_REG_SP, .cfa_off = 8, .ra_kind = EP_REG_IS_CODE,
		 .ra_off = WALK_OUTER_OF - WALK_CODE + WALK_VA, .others = EP_OTHERS_SWITCH},
	};
	static uint32_t deltas[] = {
		EP_DELTA(0, EP_RULE_IMM(0, 0, 16)), EP_DELTA(0x800, EP_RULE_STOP),
		EP_DELTA(0, 16), EP_DELTA(0x200, 17), EP_DELTA(0x400, 18), EP_DELTA(0x600, 19),
		EP_DELTA(0x800, EP_RULE_IMM(1, 2, 16)), EP_DELTA(0x900, 21), EP_DELTA(0xa00, EP_RULE_NONE),
		EP_DELTA(0xc00, EP_RULE_UNSUPPORTED), EP_DELTA(0xd00, 22), EP_DELTA(0xe00, 20),
		EP_DELTA(0xf00, 23),
	};
	static uint64_t pages[] = {EP_PAGE(0, EP_RULE_IMM(0, 0, 16)), EP_PAGE(2, 0),
				   EP_PAGE(0, EP_RULE_SIGNAL), EP_PAGE(11, 2)};
	static struct ep_unwind_segment segment = {.va = WALK_VA, .n_pages = 4};
	struct ep_unwind_table table = {
		.segments = &segment, .n_segments = 1, .pages = pages, .n_pages = 4,
		.deltas = deltas, .n_deltas = EP_LEN(deltas), .rules = rules,
		.n_rules = EP_LEN(rules),
	};

	return walk_put_text(world, &table);
}

/* Its rows, sorted. */
static inline void walk_invented(struct walk_world *world, struct ep_row rows[WALK_N_ROWS])
{
	uint32_t pages = walk_put_invented(world).pages, mark = WALK_SLOT << EP_ROW_SLOT_SHIFT;
	const struct ep_row all[WALK_N_ROWS] = {
		{WALK_CODE, WALK_CODE + 0x4000, WALK_VA, WALK_CODE_ID, pages},
		{WALK_PENDING, WALK_PENDING + 0x1000, WALK_VA, WALK_OTHER_ID, EP_PAGES_PENDING},
		{WALK_DROPPED, WALK_DROPPED + 0x1000, WALK_VA, WALK_OTHER_ID, EP_PAGES_DROPPED},
		{WALK_ABSENT, WALK_ABSENT + 0x1000, WALK_VA, WALK_OTHER_ID, EP_PAGES_ABSENT},
		{WALK_MARKED, WALK_MARKED + 0x1000, WALK_VA, WALK_MARK_ID | mark, pages},
		{WALK_ENTER, WALK_ENTER + 0x1000, WALK_VA, WALK_MARK_ID | mark | EP_ROW_ENTER,
		 pages},
		{WALK_ANON, WALK_ANON + 0x1000, 0, 0, EP_PAGES_ABSENT},
		{WALK_ANON + 0x1000, WALK_ANON + 0x2000, 0, mark | EP_ROW_ENTER, EP_PAGES_ABSENT},
	};

	memcpy(rows, all, sizeof(all));
}

/* --- events ----------------------------------------------------------------------------------- */

#define WALK_STACK 0x7ffe00000000ull /* where the copy of the stack begins */
#define WALK_SP	   (WALK_STACK + 0x10)

struct walk_event {
	struct ep_sample sample;
	uint64_t words[EP_MAX_KERNEL + EP_MAX_WORDS + 8]; /* kernel, then user */
	struct ep_copy copy;
	uint64_t stack[EP_COPY_PAGES * EP_COPY_PAGE_BYTES / 8];
	uint64_t other[EP_COPY_OTHER_BYTES / 8];
	uint8_t flat[2 * EP_WALK_MAX_BYTES]; /* all of it, one after the other */
	size_t bytes;
};

/* A sample at `pc`, nothing walked yet, with `pages` of stack. */
static inline void walk_event_init(struct walk_event *event, uint64_t pc, uint32_t pages)
{
	memset(event, 0, sizeof(*event));
	event->sample.event.type = EP_EVENT_TRACE;
	event->sample.hash = 1;
	event->sample.pid = event->sample.tid = 7;
	event->sample.start_ns = 77;
	event->sample.image = 3;
	event->sample.error = EP_ERROR_NOT_ANALYSED;
	event->copy.pc = pc;
	event->copy.addr = WALK_STACK;
	event->copy.bytes = pages * EP_COPY_PAGE_BYTES;
	event->copy.known_regs = EP_KNOWN_ALL;
	event->copy.regs[EP_REG_SP] = WALK_SP;
	event->sample.copy_bytes = (uint32_t)sizeof(event->copy) + event->copy.bytes;
}

/* A piece of another stack as well. */
static inline void walk_event_other(struct walk_event *event, uint64_t addr)
{
	event->copy.other_addr = addr;
	event->copy.other_bytes = EP_COPY_OTHER_BYTES;
	event->sample.copy_bytes += EP_COPY_OTHER_BYTES;
}

/* The return address of function number n, from the one at the leaf. */
static inline void walk_event_return(struct walk_event *event, uint32_t n, uint64_t address)
{
	event->stack[(WALK_SP - WALK_STACK) / 8 + 2 * n + 1] = address;
}

static inline void walk_event_word(struct walk_event *event, uint64_t word)
{
	event->words[event->sample.n_kernel + event->sample.n_words++] = word;
}

static inline void walk_event_frame(struct walk_event *event, uint32_t kind, uint32_t flags,
				    uint32_t aux, uint64_t word)
{
	walk_event_word(event, EP_FRAME_HEADER(kind, flags, 1, aux));
	walk_event_word(event, word);
	event->sample.n_frames++;
}

static inline void walk_event_put(struct walk_event *event, const void *data, size_t bytes)
{
	memcpy(event->flat + event->bytes, data, bytes);
	event->bytes += bytes;
}

static inline void walk_event_flatten(struct walk_event *event)
{
	event->bytes = 0;
	walk_event_put(event, &event->sample, sizeof(event->sample));
	walk_event_put(event, event->words,
		       8 * ((size_t)event->sample.n_kernel + event->sample.n_words));
	walk_event_put(event, &event->copy, sizeof(event->copy));
	walk_event_put(event, event->stack, event->copy.bytes);
	walk_event_put(event, event->other, event->copy.other_bytes);
}

#endif

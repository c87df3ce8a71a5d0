/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writer of packed stack deltas (bpf/shared.h, "delta store"): takes rules by ascending address
 * and writes pages and deltas straight into their final arrays. A rule holds from its address to
 * the next one; equal neighbours melt; a page with one rule costs no delta. The newest rule is
 * held back until an address beyond it comes, so one of no length costs nothing.
 *
 * Text is a list of ranges, ascending and on pages of their own; each begins with EP_RULE_NONE.
 * What is over it (ep_pack_fix) hides what is put there:
 *
 *	put	A        B   C           D
 *	over	     [X        )    [Y )
 *	written	A    X         C    Y  C D	at the end of an over: what was put last
 */
#ifndef EP_UNWIND_PACK_H
#define EP_UNWIND_PACK_H

#include "bpf/rule.h"
#include "bpf/shared.h"
#include "core/base/util.h"

struct ep_pack_range {
	uint64_t start, end; /* va */
	size_t first_page;   /* of the page that contains `start` */
};

/* A range that has this rule, whatever is put there. */
struct ep_pack_over {
	uint64_t start, end;
	uint32_t rule;
};

struct ep_pack {
	uint64_t *pages;
	uint32_t *deltas;
	size_t max_deltas;
	bool (*more)(void *arg); /* raises max_deltas, or is not asked again; NULL: it is final */
	void *more_arg;
	bool full; /* a delta did not fit: the caller's bound was wrong, the table is of no use */

	size_t n_deltas;
	size_t page;	     /* index of the page being written */
	uint64_t page_va;    /* its address */
	size_t page_first;   /* its first delta */
	uint32_t rule;	     /* the last one written */
	uint32_t held_rule;  /* the last one put */
	uint64_t held_va;

	uint64_t fixed_va;	/* where overs[over] begins; UINT64_MAX: none is left */
	const struct ep_pack_over *overs;
	size_t n_overs, over;
	bool is_over;	     /* overs[over] has begun */
	uint32_t under_rule; /* the last one put that it hides */
};

void ep_pack_begin_range(struct ep_pack *pack, const struct ep_pack_range *range);
/* Writes the rest of the range. */
void ep_pack_end_range(struct ep_pack *pack, const struct ep_pack_range *range);

/*
 * Before the first range: `overs` are ascending, disjoint, and borrowed until the last one ended.
 * Not together with ep_pack_cut.
 */
void ep_pack_fix(struct ep_pack *pack, const struct ep_pack_over *overs, size_t n);

/* Forgets what was put for va and beyond, which lies in the range being written. */
void ep_pack_cut(struct ep_pack *pack, uint64_t va);

/* The same as ep_pack_write, where there may be no space. Internal. */
void ep_pack_write_more(struct ep_pack *pack);
/* Closes pages until the one that contains va is open. Internal. */
void ep_pack_turn(struct ep_pack *pack, uint64_t va);

static inline void ep_pack_write(struct ep_pack *pack)
{
	uint64_t off = pack->held_va - pack->page_va;

	if (__builtin_expect(off >= EP_PAGE_BYTES, 0)) {
		ep_pack_turn(pack, pack->held_va);
		off = pack->held_va - pack->page_va;
	}
	if (__builtin_expect(pack->n_deltas == pack->max_deltas, 0)) {
		ep_pack_write_more(pack);
		return;
	}
	/* The delta that carries the previous page's rule in has this offset too: replace it. */
	if (off == 0)
		pack->n_deltas = pack->page_first;
	pack->deltas[pack->n_deltas++] = EP_DELTA(off, pack->held_rule);
	pack->rule = pack->held_rule;
}

/* As ep_pack_put, whatever is over it. Internal. */
static inline void ep_pack_put_plain(struct ep_pack *pack, uint64_t va, uint32_t rule)
{
	if (va != pack->held_va) {
		if (rule == pack->held_rule)
			return;
		if (pack->held_rule != pack->rule)
			ep_pack_write(pack);
		pack->held_va = va;
	}
	pack->held_rule = rule;
}

/* The same where something is over it, or was since the last put. Internal. */
void ep_pack_put_under(struct ep_pack *pack, uint64_t va, uint32_t rule);

/* `rule` holds from va on. Addresses never go down within a range. */
static inline void ep_pack_put(struct ep_pack *pack, uint64_t va, uint32_t rule)
{
	if (__builtin_expect(va >= pack->fixed_va, 0))
		ep_pack_put_under(pack, va, rule);
	else
		ep_pack_put_plain(pack, va, rule);
}

#endif

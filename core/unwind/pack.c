/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/pack.h"

static bool pack_has_room(struct ep_pack *pack)
{
	if (!pack->full && pack->n_deltas == pack->max_deltas)
		pack->full = !pack->more || !pack->more(pack->more_arg);
	return !pack->full;
}

void ep_pack_write_more(struct ep_pack *pack)
{
	if (pack_has_room(pack))
		ep_pack_write(pack);
}

/* Every open page begins with a delta at offset 0 that carries the rule in force. */
static void open_page(struct ep_pack *pack, size_t page, uint64_t va)
{
	pack->page = page;
	pack->page_va = va;
	pack->page_first = pack->n_deltas;
	if (!pack_has_room(pack))
		return;
	pack->deltas[pack->n_deltas++] = EP_DELTA(0, pack->rule);
}

static void close_page(struct ep_pack *pack)
{
	size_t count = pack->n_deltas - pack->page_first;

	if (count > 1) {
		pack->pages[pack->page] = EP_PAGE(count, pack->page_first);
		return;
	}
	pack->pages[pack->page] = EP_PAGE(0, pack->rule);
	pack->n_deltas = pack->page_first;
}

static void fill_pages(struct ep_pack *pack, size_t from, size_t to)
{
	for (size_t page = from; page < to; page++)
		pack->pages[page] = EP_PAGE(0, pack->rule);
}

void ep_pack_turn(struct ep_pack *pack, uint64_t va)
{
	size_t page = pack->page + (size_t)((va - pack->page_va) >> EP_PAGE_SHIFT);

	close_page(pack);
	fill_pages(pack, pack->page + 1, page);
	open_page(pack, page, EP_ALIGN_DOWN(va, EP_PAGE_BYTES));
}

/* The next one that is not before `va`, or what is left of it. */
static void take_over(struct ep_pack *pack, uint64_t va)
{
	while (pack->over < pack->n_overs && pack->overs[pack->over].end <= va)
		pack->over++;
	pack->is_over = false;
	pack->fixed_va = pack->over < pack->n_overs ? EP_MAX(pack->overs[pack->over].start, va)
						    : UINT64_MAX;
}

void ep_pack_fix(struct ep_pack *pack, const struct ep_pack_over *overs, size_t n)
{
	pack->overs = overs;
	pack->n_overs = n;
	pack->over = 0;
	take_over(pack, 0);
}

/* Writes those that begin at or before va; true when the last one goes on there. */
static bool write_overs(struct ep_pack *pack, uint64_t va)
{
	while (va >= pack->fixed_va) {
		const struct ep_pack_over *over = &pack->overs[pack->over];

		if (!pack->is_over) {
			pack->under_rule = pack->held_rule;
			ep_pack_put_plain(pack, pack->fixed_va, over->rule);
			pack->is_over = true;
		}
		if (va < over->end)
			return true;
		ep_pack_put_plain(pack, over->end, pack->under_rule);
		take_over(pack, over->end);
	}
	return false;
}

void ep_pack_put_under(struct ep_pack *pack, uint64_t va, uint32_t rule)
{
	if (write_overs(pack, va))
		pack->under_rule = rule;
	else
		ep_pack_put_plain(pack, va, rule);
}

void ep_pack_begin_range(struct ep_pack *pack, const struct ep_pack_range *range)
{
	if (pack->n_overs)
		take_over(pack, range->start);
	pack->rule = EP_RULE_NONE;
	pack->held_rule = EP_RULE_NONE;
	pack->held_va = EP_ALIGN_DOWN(range->start, EP_PAGE_BYTES);
	open_page(pack, range->first_page, pack->held_va);
}

void ep_pack_end_range(struct ep_pack *pack, const struct ep_pack_range *range)
{
	uint64_t start = EP_ALIGN_DOWN(range->start, EP_PAGE_BYTES);
	uint64_t end = EP_ALIGN_UP(range->end, EP_PAGE_BYTES);

	/* A replaced range that is longer than the range of text ends with it. */
	if (range->end && write_overs(pack, range->end - 1))
		pack->is_over = false;
	pack->fixed_va = UINT64_MAX;
	if (range->end < end)
		ep_pack_put(pack, range->end, EP_RULE_NONE);
	if (pack->held_rule != pack->rule && pack->held_va < end)
		ep_pack_write(pack);
	close_page(pack);
	fill_pages(pack, pack->page + 1, range->first_page + (size_t)((end - start) >> EP_PAGE_SHIFT));
}

/* Where the deltas of a finished page begin, or would if it had any. */
static size_t page_first(const struct ep_pack *pack, size_t page)
{
	for (; page < pack->page; page++)
		if (EP_PAGE_COUNT(pack->pages[page]))
			return EP_PAGE_REF(pack->pages[page]);
	return pack->page_first;
}

/* Opens a finished page again. */
static void turn_back(struct ep_pack *pack, uint64_t va)
{
	size_t page = pack->page - (size_t)((pack->page_va - va) >> EP_PAGE_SHIFT);
	uint64_t entry = pack->pages[page];

	pack->page_first = page_first(pack, page);
	pack->page = page;
	pack->page_va = va;
	pack->n_deltas = pack->page_first + EP_PAGE_COUNT(entry);
	if (EP_PAGE_COUNT(entry) == 0) /* there is space: a later page took at least one */
		pack->deltas[pack->n_deltas++] = EP_DELTA(0, EP_PAGE_REF(entry));
}

void ep_pack_cut(struct ep_pack *pack, uint64_t va)
{
	if (pack->held_va < va || pack->full)
		return; /* the newest rule is older than that */
	if (pack->page_va > va)
		turn_back(pack, EP_ALIGN_DOWN(va, EP_PAGE_BYTES));
	while (pack->n_deltas > pack->page_first + 1 &&
	       pack->page_va + (pack->deltas[pack->n_deltas - 1] >> 20) >= va)
		pack->n_deltas--;
	pack->rule = EP_DELTA_RULE(pack->deltas[pack->n_deltas - 1]);
	pack->held_rule = pack->rule;
	pack->held_va = va;
}

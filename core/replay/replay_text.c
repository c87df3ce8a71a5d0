/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rules between a fixture, which has those of the text pages that were walked through, and
 * the delta store, which wants all pages. A page that was not kept has EP_RULE_UNSUPPORTED.
 */
#include "core/replay/capture_files.h"
#include "core/replay/replay_internal.h"
#include "core/unwind/table.h"

#include <errno.h>
#include <string.h>

/* --- fixture to store ------------------------------------------------------------------------ */

static uint64_t *page_entry(const struct ep_unwind_table *table, uint64_t va)
{
	for (size_t i = 0; i < table->n_segments; i++) {
		const struct ep_unwind_segment *segment = &table->segments[i];
		uint64_t number = (va - segment->va) / EP_PAGE_BYTES;

		if (va >= segment->va && number < segment->n_pages)
			return &table->pages[segment->first_page + number];
	}
	return NULL;
}

static void fill_table(const struct ep_fixture_executable *executable,
		       struct ep_unwind_table *table)
{
	const struct ep_fixture_text_page *page;
	const struct ep_fixture_text *text = executable->text.data;
	uint32_t first = 0;

	for (size_t i = 0; i < table->n_segments; i++) {
		table->segments[i] = (struct ep_unwind_segment){text[i].va, text[i].n_pages, first};
		first += text[i].n_pages;
	}
	for (uint32_t i = 0; i < first; i++)
		table->pages[i] = EP_PAGE(0, EP_RULE_UNSUPPORTED);
	ep_vec_each (&executable->text_pages, page) {
		uint64_t *entry = page_entry(table, page->va);

		if (entry)
			*entry = page->n_deltas ? EP_PAGE(page->n_deltas, page->first)
						: EP_PAGE(0, page->rule);
	}
}

static int put_recorded(struct ep_replay *replay, const struct ep_fixture_executable *executable,
			struct ep_delta_store_text **ret_text)
{
	const struct ep_fixture_text *text;
	struct ep_unwind_table table = {
		.n_segments = executable->text.len,
		.deltas = executable->deltas.data,
		.n_deltas = executable->deltas.len,
		.rules = executable->rules.data,
		.n_rules = executable->rules.len,
	};
	int r = -ENOMEM;

	ep_vec_each (&executable->text, text)
		table.n_pages += text->n_pages;
	table.segments = calloc(table.n_segments, sizeof(*table.segments));
	table.pages = calloc(table.n_pages, sizeof(*table.pages));
	if (table.segments && table.pages) {
		fill_table(executable, &table);
		r = ep_delta_store_put_text(replay->store, &table, ret_text);
	}
	free(table.segments);
	free(table.pages);
	return r;
}

/* --- source to fixture and store ------------------------------------------------------------- */

static int keep_segments(struct ep_fixture_executable *executable,
			 const struct ep_unwind_table *table)
{
	for (size_t i = 0; i < table->n_segments; i++) {
		struct ep_fixture_text *text = ep_vec_push(&executable->text);

		if (!text)
			return -E2BIG;
		*text = (struct ep_fixture_text){table->segments[i].va, table->segments[i].n_pages};
	}
	return 0;
}

int ep_replay_put_table(struct ep_replay *replay, uint32_t index)
{
	struct ep_fixture_executable *executable = ep_replay_executable(replay, index);
	const struct ep_unwind_table *table =
		replay->source ? ep_capture_files_table(replay->source->files, index) : NULL;
	struct ep_delta_store_text *text = NULL;
	int r = 0;

	if (table && executable->text.len == 0)
		r = keep_segments(executable, table);
	if (r == 0 && table)
		r = ep_delta_store_put_text(replay->store, table, &text);
	else if (r == 0 && executable->text.len > 0)
		r = put_recorded(replay, executable, &text);
	if (r < 0)
		return r;
	ep_delta_store_drop_text(replay->store, replay->executables[index].text);
	replay->executables[index].text = text;
	return 0;
}

static int keep_rule(struct ep_fixture_executable *executable, const struct ep_unwind_table *table,
		     uint32_t rule, uint32_t *ret_rule)
{
	const struct ep_rule *wanted, *have;
	uint32_t n = 0;

	*ret_rule = rule;
	if ((rule & EP_RULE_IMMEDIATE) || rule < EP_RULE_FIRST_TABLE)
		return 0;
	wanted = &table->rules[rule - EP_RULE_FIRST_TABLE];
	ep_vec_each (&executable->rules, have) {
		if (memcmp(have, wanted, sizeof(*have)) == 0)
			break;
		n++;
	}
	*ret_rule = EP_RULE_FIRST_TABLE + n;
	return n < executable->rules.len ? 0 : ep_vec_append(&executable->rules, wanted, 1);
}

static int keep_deltas(struct ep_fixture_executable *executable,
		       const struct ep_unwind_table *table, uint64_t entry,
		       struct ep_fixture_text_page *page)
{
	const uint32_t *deltas = table->deltas + EP_PAGE_REF(entry);
	int r = 0;

	page->first = (uint32_t)executable->deltas.len;
	page->n_deltas = EP_PAGE_COUNT(entry);
	for (uint32_t i = 0; r == 0 && i < page->n_deltas; i++) {
		uint32_t rule, *slot;

		r = keep_rule(executable, table, EP_DELTA_RULE(deltas[i]), &rule);
		slot = r == 0 ? ep_vec_push(&executable->deltas) : NULL;
		if (slot)
			*slot = EP_DELTA(deltas[i] >> 20, rule);
		else
			r = -E2BIG;
	}
	return r;
}

/* Where a page is to go: pages ascend. NULL: it is there, or there is no space. */
static struct ep_fixture_text_page *insert_page(struct ep_vec *pages, uint64_t va)
{
	struct ep_fixture_text_page *page;
	size_t i = pages->len;

	ep_vec_each (pages, page) {
		if (page->va == va)
			return NULL;
	}
	if (!ep_vec_push(pages))
		return NULL;
	page = pages->data;
	for (; i > 0 && page[i - 1].va > va; i--)
		page[i] = page[i - 1];
	page[i] = (struct ep_fixture_text_page){.va = va};
	return &page[i];
}

int ep_replay_keep_text(struct ep_replay *replay, uint32_t index, uint64_t va)
{
	struct ep_fixture_executable *executable = ep_replay_executable(replay, index);
	const struct ep_unwind_table *table =
		replay->source ? ep_capture_files_table(replay->source->files, index) : NULL;
	const uint64_t *entry = table ? page_entry(table, va) : NULL;
	struct ep_fixture_text_page *page;

	if (!entry)
		return 0;
	page = insert_page(&executable->text_pages, EP_ALIGN_DOWN(va, EP_PAGE_BYTES));
	if (!page)
		return 0;
	if (EP_PAGE_COUNT(*entry) == 0)
		return keep_rule(executable, table, EP_PAGE_REF(*entry), &page->rule);
	return keep_deltas(executable, table, *entry, page);
}

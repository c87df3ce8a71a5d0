/* SPDX-License-Identifier: Apache-2.0 */
/* What core/replay/fixture_format.c promises of a fixture that was read. */
#include "bpf/rule.h"
#include "core/elf/lookup.h"
#include "core/replay/fixture.h"

#include <errno.h>
#include <string.h>

static bool is_rule(const struct ep_fixture_executable *executable, uint32_t rule)
{
	return (rule & EP_RULE_IMMEDIATE) || rule <= EP_RULE_UNSUPPORTED ||
	       (rule >= EP_RULE_FIRST_TABLE && rule - EP_RULE_FIRST_TABLE < executable->rules.len);
}

static bool is_in_text(const struct ep_fixture_executable *executable, uint64_t va)
{
	const struct ep_fixture_text *text;

	ep_vec_each (&executable->text, text) {
		if (va >= text->va && va - text->va < (uint64_t)text->n_pages * EP_PAGE_BYTES)
			return va % EP_PAGE_BYTES == 0;
	}
	return false;
}

static bool are_deltas(const struct ep_fixture_executable *executable,
		       const struct ep_fixture_text_page *page)
{
	const uint32_t *deltas = executable->deltas.data;

	if (page->n_deltas > EP_PAGE_BYTES ||
	    !ep_in_bounds(page->first, page->n_deltas, executable->deltas.len))
		return false;
	for (uint32_t i = 0; i < page->n_deltas; i++) {
		uint32_t delta = deltas[page->first + i];

		if (!is_rule(executable, EP_DELTA_RULE(delta)) ||
		    (i == 0 ? delta >> 20 != 0 : delta >> 20 <= deltas[page->first + i - 1] >> 20))
			return false;
	}
	return page->n_deltas > 0 || is_rule(executable, page->rule);
}

static bool is_text_sound(const struct ep_fixture_executable *executable, uint64_t *total)
{
	const struct ep_fixture_text_page *page, *last = NULL;
	const struct ep_fixture_text *text;
	uint64_t end = 0;

	ep_vec_each (&executable->text, text) {
		*total += text->n_pages;
		if (text->va < end || text->va % EP_PAGE_BYTES || text->n_pages == 0 ||
		    text->n_pages > EP_ROW_MAX_PAGES ||
		    __builtin_add_overflow(text->va, (uint64_t)text->n_pages * EP_PAGE_BYTES, &end))
			return false;
	}
	ep_vec_each (&executable->text_pages, page) {
		if ((last && page->va <= last->va) || !is_in_text(executable, page->va) ||
		    !are_deltas(executable, page))
			return false;
		last = page;
	}
	return *total <= EP_FIXTURE_MAX_TEXT_PAGES;
}

/* Each begins with the prefix and can be looked up, and they ascend. */
static bool are_symbols_sound(const struct ep_fixture *fixture,
			      const struct ep_fixture_answer *answer)
{
	size_t n = 0, prefix = strlen(answer->name);
	const char *name, *last = "";
	struct ep_symbol symbol;
	uint64_t at = 0;

	if (!ep_in_bounds(answer->data, answer->symbol.bytes, fixture->data.len))
		return false;
	while (ep_fixture_next_symbol(fixture, answer, &at, &name, &symbol)) {
		if (++n > EP_MAX_SYMBOLS || strncmp(name, answer->name, prefix) != 0 ||
		    strcmp(name, last) <= 0 || strlen(name) >= EP_ELF_MAX_SYMBOL)
			return false;
		last = name;
	}
	return at == answer->symbol.bytes;
}

static bool are_answers_sound(const struct ep_fixture *fixture, const struct ep_vec *answers)
{
	const struct ep_fixture_answer *answer;

	ep_vec_each (answers, answer) {
		if ((answer->question == EP_FIXTURE_READ || answer->question == EP_FIXTURE_BESIDE) && answer->result == 0 &&
		    !ep_in_bounds(answer->data, answer->bytes, fixture->data.len))
			return false;
		if (answer->question == EP_FIXTURE_SYMBOLS && answer->result == 0 &&
		    !are_symbols_sound(fixture, answer))
			return false;
		if (answer->result > 0 || answer->tls.steps > EP_TLS_MAX_STEPS)
			return false;
	}
	return true;
}

static bool are_mappings_sound(const struct ep_fixture *fixture)
{
	const struct ep_fixture_mapping *mapping;
	uint64_t end = 0;

	ep_vec_each (&fixture->mappings, mapping) {
		if (mapping->start < end || mapping->end <= mapping->start ||
		    mapping->executable > fixture->executables.len)
			return false;
		end = mapping->end;
	}
	return true;
}

int ep_fixture_check(struct ep_fixture *fixture)
{
	const struct ep_fixture_executable *executable;
	struct ep_replay_thread *thread;
	uint64_t total = 0;
	int r = 0;

	if (!fixture->arch || !are_mappings_sound(fixture) ||
	    !are_answers_sound(fixture, &fixture->answers))
		return -EBADMSG;
	ep_vec_each (&fixture->executables, executable) {
		if (!is_text_sound(executable, &total) ||
		    !are_answers_sound(fixture, &executable->answers))
			return -EBADMSG;
	}
	ep_vec_each (&fixture->threads, thread) {
		thread->arch = fixture->arch;
		thread->pid = fixture->pid;
		thread->start_ns = fixture->start_ns;
	}
	if (fixture->block_addrs.len != fixture->block_bytes.len)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < fixture->block_addrs.len; i++) {
		uint64_t addr = *ep_vec_at(&fixture->block_addrs, uint64_t, i);

		r = ep_map_set(&fixture->block_index, addr / EP_FIXTURE_BLOCK_BYTES, i);
	}
	return r;
}

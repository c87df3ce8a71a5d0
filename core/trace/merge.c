/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/kinds.h"
#include "core/trace/merge.h"

#include <assert.h>
#include <string.h>

static uint64_t header_at(const struct ep_merge *m, uint32_t at)
{
	uint64_t header;

	memcpy(&header, m->words + at * sizeof(header), sizeof(header));
	return header;
}

static uint32_t next_at(uint64_t header, uint32_t at)
{
	return at + 1 + EP_FRAME_WORDS(header);
}

static struct ep_merge_language *language_of_marker(struct ep_merge *m, uint64_t header)
{
	uint32_t slot = EP_FRAME_FLAGS(header) >> EP_FRAME_SLOT_SHIFT;

	if (EP_FRAME_KIND(header) != EP_FRAME_NATIVE || !slot)
		return NULL;
	return &m->languages[slot % EP_SLOT_COUNT];
}

/* --- what there is --- */

/* Slot 0, which has no markers, is for frames of no slot that a marker could name. */
static uint32_t slot_of_kind(uint32_t kind)
{
	uint32_t slot = kind - EP_FRAME_FIRST_DYNAMIC;

	return slot < EP_SLOT_COUNT ? slot : 0;
}

/* An error directly after the native frames is theirs, unless it is of a language they run. */
static void take_native_error(struct ep_merge *m)
{
	uint64_t header;

	if (m->native_end == m->n_words)
		return;
	header = header_at(m, m->native_end);
	if (EP_FRAME_KIND(header) != EP_FRAME_ERROR ||
	    m->languages[ep_error_slot(EP_FRAME_AUX(header))].n_markers)
		return;
	m->native_failed = true;
	m->native_end = next_at(header, m->native_end);
}

/* The markers that come are after the last gap, as far as is known. */
static void take_gap(struct ep_merge *m)
{
	m->n_gaps++;
	for (size_t i = 0; i < EP_LEN(m->languages); i++)
		m->languages[i].n_behind = 0;
}

static void take_marker(struct ep_merge *m, struct ep_merge_language *language)
{
	language->n_markers++;
	language->n_before += m->n_gaps == 0;
	language->n_behind += m->n_gaps > 0;
}

static void find_native_part(struct ep_merge *m)
{
	uint64_t header;

	m->native_end = 0;
	for (uint32_t at = 0; at < m->n_words; at = next_at(header, at)) {
		struct ep_merge_language *language;

		header = header_at(m, at);
		if (EP_FRAME_KIND(header) == EP_FRAME_ERROR ||
		    EP_FRAME_KIND(header) >= EP_FRAME_FIRST_DYNAMIC)
			continue;
		m->native_end = next_at(header, at);
		if (EP_FRAME_KIND(header) == EP_FRAME_GAP)
			take_gap(m);
		language = language_of_marker(m, header);
		if (language)
			take_marker(m, language);
	}
	take_native_error(m);
}

static struct ep_merge_item *add_item(struct ep_merge *m, uint32_t slot, uint32_t at, bool is_error)
{
	struct ep_merge_language *language = &m->languages[slot];
	struct ep_merge_item *item = &m->items[++m->n_items];

	*item = (struct ep_merge_item){.at = (uint16_t)at, .n_frames = 1, .is_error = is_error};
	if (language->tail)
		m->items[language->tail].next = (uint16_t)m->n_items;
	else
		language->head = (uint16_t)m->n_items;
	language->tail = (uint16_t)m->n_items;
	language->n_groups += !is_error;
	language->failed |= is_error;
	m->native_failed |= is_error && !language->n_markers;
	language->doubtful |= m->n_items == language->head && header_at(m, at) & EP_FRAME_DOUBTFUL;
	return item;
}

static void drop_doubtful(struct ep_merge *m, struct ep_merge_language *language)
{
	struct ep_merge_item *first = &m->items[language->head];

	if (!language->doubtful || language->n_groups <= language->n_markers || first->n_frames != 1)
		return;
	first->is_placed = true;
	language->head = first->next;
	language->n_groups--;
}

/* Cuts what is after the native part into items. */
static void find_items(struct ep_merge *m)
{
	struct ep_merge_item *group = NULL; /* that goes on */
	uint32_t slot = 0;		    /* of the last frame of a language */
	uint64_t header;

	for (uint32_t at = m->native_end; at < m->n_words; at = next_at(header, at)) {
		uint32_t last = slot, owner;

		header = header_at(m, at);
		if (EP_FRAME_KIND(header) == EP_FRAME_ERROR) {
			owner = ep_error_slot(EP_FRAME_AUX(header));
			add_item(m, owner ? owner : slot, at, true);
			group = NULL;
			continue;
		}
		slot = slot_of_kind(EP_FRAME_KIND(header));
		if (group && slot == last)
			group->n_frames++;
		else
			group = add_item(m, slot, at, false);
		if (EP_FRAME_FLAGS(header) & EP_FRAME_ENTRY)
			group = NULL;
	}
}

/* --- where it goes --- */

static void put_item(struct ep_merge *m, struct ep_merge_item *item)
{
	uint32_t at = item->at;

	for (uint32_t i = 0; i < item->n_frames; i++) {
		m->order[m->n_order++] = (uint16_t)at;
		at = next_at(header_at(m, at), at);
	}
	item->is_placed = true;
}

static void put_next(struct ep_merge *m, struct ep_merge_language *language)
{
	struct ep_merge_item *item = &m->items[language->head];

	language->head = item->next;
	put_item(m, item);
}

static void put_errors(struct ep_merge *m, struct ep_merge_language *language)
{
	while (language->head && m->items[language->head].is_error)
		put_next(m, language);
}

/* Groups that belong before the first gap, or into one: those after the last one come first. */
static uint32_t groups_left(const struct ep_merge_language *language)
{
	return language->n_groups > language->n_behind ? language->n_groups - language->n_behind : 0;
}

/* The same where there is a gap; a walk that failed says nothing of what is after it. */
static uint32_t groups_around_gap(const struct ep_merge *m, const struct ep_merge_language *language,
				  uint32_t n)
{
	uint32_t behind = language->n_markers - language->n_behind;
	bool failed = m->native_failed || language->failed;

	if (failed)
		return n < language->n_before && n < language->n_groups;
	if (n < language->n_before)
		return n + EP_MIN(groups_left(language), (uint32_t)language->n_before) >=
		       language->n_before;
	if (n < behind)
		return n < groups_left(language);
	return n - behind + language->n_groups >= language->n_behind;
}

/* Of one language, those that no marker takes. */
static uint32_t groups_in_gap(const struct ep_merge *m, const struct ep_merge_language *language)
{
	uint32_t taken = language->n_markers - language->n_behind;

	if (m->native_failed || language->failed)
		return language->n_groups > language->n_before
			       ? language->n_groups - language->n_before
			       : 0;
	return groups_left(language) > taken ? groups_left(language) - taken : 0;
}

/* How many groups take the place of a marker: number n of its language, from the leaf, from 0. */
static uint32_t groups_of_marker(const struct ep_merge *m, const struct ep_merge_language *language,
				 uint32_t n)
{
	uint32_t markers = language->n_markers, groups = language->n_groups;

	if (m->n_gaps)
		return groups_around_gap(m, language, n);
	if (m->native_failed || language->failed) {
		if (n == markers - 1 && groups > markers && !m->native_failed)
			return groups - n;
		return n < groups;
	}
	if (n == 0 && groups > markers)
		return groups - markers + 1;
	return n + groups >= markers;
}

static void put_marker(struct ep_merge *m, struct ep_merge_language *language, uint32_t at)
{
	uint32_t n = language->n_seen++, groups = groups_of_marker(m, language, n);

	if (n == 0)
		put_errors(m, language);
	if (!groups)
		m->order[m->n_order++] = (uint16_t)at;
	for (; groups; groups--) {
		put_next(m, language);
		put_errors(m, language);
	}
}

/* The first one: groups that have no marker come here. */
static void put_gap(struct ep_merge *m, uint32_t at)
{
	m->order[m->n_order++] = (uint16_t)at;
	if (m->passed_gap)
		return;
	m->passed_gap = true;
	for (size_t i = 0; i < EP_LEN(m->languages); i++) {
		struct ep_merge_language *language = &m->languages[i];

		for (uint32_t n = groups_in_gap(m, language); n && language->head; n--) {
			put_errors(m, language);
			if (language->head)
				put_next(m, language);
		}
	}
}

static void put_native_part(struct ep_merge *m)
{
	uint64_t header;

	for (uint32_t at = 0; at < m->native_end; at = next_at(header, at)) {
		struct ep_merge_language *language;

		header = header_at(m, at);
		language = language_of_marker(m, header);
		if (language)
			put_marker(m, language, at);
		else if (EP_FRAME_KIND(header) == EP_FRAME_GAP)
			put_gap(m, at);
		else
			m->order[m->n_order++] = (uint16_t)at;
	}
}

uint32_t ep_merge_frames(struct ep_merge *m, const void *words, uint32_t n_words, bool failed)
{
	assert(n_words <= EP_MAX_WORDS);
	memset(m, 0, offsetof(struct ep_merge, items));
	m->words = words;
	m->n_words = n_words;
	find_native_part(m);
	find_items(m);
	for (size_t i = 0; i < EP_LEN(m->languages); i++)
		drop_doubtful(m, &m->languages[i]);
	/* it says so, and no frame does */
	m->native_failed |= failed;
	put_native_part(m);
	for (uint32_t i = 1; i <= m->n_items; i++) {
		if (!m->items[i].is_placed)
			put_item(m, &m->items[i]);
	}
	return m->n_order;
}

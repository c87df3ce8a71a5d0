/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	the interpreter's queue ──► codelets (interpreter.c)  ─┐
 *	heaps ──► blocks ──► blobs that are made once (blobs.c) ─┴─► rules ──► ranges; names
 */
#include "plugins/hotspot/code/stubs_internal.h"
#include "plugins/hotspot/code/heaps.h"
#include "plugins/shared/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int hs_read(struct hs_reader *reader, uint64_t addr, void *buf, size_t bytes)
{
	if (bytes > reader->left)
		return -E2BIG;
	reader->left -= bytes;
	return memory_read(reader->memory, addr, buf, bytes);
}

static int read_budgeted(void *reader, uint64_t addr, void *buf, size_t bytes)
{
	return hs_read(reader, addr, buf, bytes);
}

int hs_read_string(struct hs_reader *reader, uint64_t addr, char *buf, size_t size)
{
	const struct memory memory = {.read = read_budgeted, .arg = reader};

	return memory_read_string(&memory, addr, buf, size, 64); /* few names are longer */
}

static int keep_name(struct hotspot_stubs *stubs, const char *name, uint32_t *ret)
{
	size_t len = strlen(name) + 1;

	if (stubs->n_pieces &&
	    !strcmp(stubs->names + stubs->pieces[stubs->n_pieces - 1].name, name)) {
		*ret = stubs->pieces[stubs->n_pieces - 1].name;
		return 0;
	}
	if (len > HS_MAX_NAMES - stubs->n_names)
		return -E2BIG;
	memcpy(stubs->names + stubs->n_names, name, len);
	*ret = (uint32_t)stubs->n_names;
	stubs->n_names += len;
	return 0;
}

int hs_add_piece(struct hotspot_stubs *stubs, uint64_t start, uint64_t end, const char *name)
{
	uint32_t at;
	int r;

	if (start >= end)
		return 0;
	if (stubs->n_pieces == HS_MAX_PIECES)
		return -E2BIG;
	r = keep_name(stubs, name, &at);
	if (r)
		return r;
	stubs->pieces[stubs->n_pieces++] =
		(struct hs_piece){.start = start, .end = end, .name = at};
	return 0;
}

/* Bytes between two pieces of code that never run: one range goes over them. */
#define HS_GAP 128

int hs_add_data(struct hotspot_stubs *stubs, uint64_t start, uint64_t end, uint64_t data,
		uint32_t blob)
{
	struct hs_range *last = stubs->n_found ? &stubs->found[stubs->n_found - 1] : NULL;

	if (last && last->blob == blob && last->end <= start && start - last->end < HS_GAP) {
		if (last->data == data) {
			last->end = end;
			return 0;
		}
		if (last->end < start)
			last->end = start;
	}
	if (stubs->n_found == HS_MAX_FOUND)
		return -E2BIG;
	stubs->found[stubs->n_found++] =
		(struct hs_range){ .start = start, .end = end, .data = data, .blob = blob };
	return 0;
}

int hs_add_range(struct hotspot_stubs *stubs, uint64_t start, uint64_t end, uint64_t rule,
		 uint32_t blob)
{
	enum hotspot_code code = HOTSPOT_RULE_METHOD(rule) == HOTSPOT_METHOD_NONE
					 ? HOTSPOT_CODE_STUB
					 : HOTSPOT_CODE_INTERPRETER;

	return hs_add_data(stubs, start, end, rule | (uint64_t)code << HOTSPOT_CODE_SHIFT, blob);
}

int hs_add_rules(struct hotspot_stubs *stubs, const struct x86_flow *flow, uint64_t addr,
		 size_t bytes, uint32_t blob)
{
	const struct x86_node *last = NULL;
	uint64_t rule = 0;

	for (size_t off = 0, len; off < bytes; off += len) {
		const struct x86_node *node = x86_flow_at(flow, off);
		int r;

		len = node ? node->insn.bytes : 1;
		if (!node)
			continue;
		/* Most instructions leave all as it was before them. */
		if (!last || memcmp(&node->state, &last->state, sizeof(node->state)))
			rule = hs_flow_rule(&node->state);
		last = node;
		r = hs_add_range(stubs, addr + off, addr + off + len, rule, blob);
		if (r)
			return r;
	}
	return 0;
}

/* --- what is given */

/* Ranges and pieces, by the word that they begin with: start. */
static int compare_starts(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* The blob with the most ranges; 0: none that has more than one. */
static uint32_t largest_blob(const struct hotspot_stubs *stubs)
{
	uint32_t ret = 0;
	size_t most = 1, n = 0;

	for (size_t i = 0; i < stubs->n_found; i++) {
		n = i && stubs->found[i].blob == stubs->found[i - 1].blob ? n + 1 : 1;
		if (n > most && stubs->found[i].blob != HS_BLOB_INTERPRETER) {
			most = n;
			ret = stubs->found[i].blob;
		}
	}
	return ret;
}

/* One range of an unknown rule in place of a blob's. */
static void coarsen(struct hotspot_stubs *stubs, uint32_t blob)
{
	size_t to = 0;

	for (size_t i = 0; i < stubs->n_found; i++) {
		struct hs_range range = stubs->found[i];

		if (range.blob == blob && to && stubs->found[to - 1].blob == blob) {
			stubs->found[to - 1].end = range.end;
			continue;
		}
		if (range.blob == blob)
			range.data = (uint64_t)HOTSPOT_CODE_STUB << HOTSPOT_CODE_SHIFT |
				     HOTSPOT_RULE(0, HOTSPOT_RULE_UNKNOWN, 0, HOTSPOT_RULE_ON_STACK,
						  HOTSPOT_METHOD_NONE);
		stubs->found[to++] = range;
	}
	stubs->n_found = to;
}

/* Hostile memory may say that blobs overlap. */
static void cut_overlaps(struct hotspot_stubs *stubs)
{
	uint64_t end = 0;
	size_t to = 0;

	for (size_t i = 0; i < stubs->n_found; i++) {
		struct hs_range range = stubs->found[i];

		if (range.start < end)
			range.start = end;
		if (range.start >= range.end)
			continue;
		end = range.end;
		stubs->found[to++] = range;
	}
	stubs->n_found = to;
}

/* The ranges of a process, with what is left of the heaps between them and at their ends. */
static size_t count_ranges(const struct hotspot_stubs *stubs)
{
	size_t n = stubs->n_found + 2 * HOTSPOT_MAX_HEAPS;

	for (size_t i = 1; i < stubs->n_found; i++)
		n += stubs->found[i].start != stubs->found[i - 1].end;
	return n;
}

static int make_ranges(struct hotspot_stubs *stubs)
{
	qsort(stubs->found, stubs->n_found, sizeof(*stubs->found), compare_starts);
	cut_overlaps(stubs);
	while (count_ranges(stubs) > EP_MAX_RANGES) {
		uint32_t blob = largest_blob(stubs);

		if (!blob) {
			stubs->n_found = EP_MAX_RANGES / 2 - HOTSPOT_MAX_HEAPS;
			stubs->n_coarse++;
			break;
		}
		coarsen(stubs, blob);
		stubs->n_coarse++;
	}
	stubs->ranges = calloc(stubs->n_found ? stubs->n_found : 1, sizeof(*stubs->ranges));
	if (!stubs->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < stubs->n_found; i++)
		stubs->ranges[i] = (struct ep_range){
			.start = stubs->found[i].start,
			.end = stubs->found[i].end,
			.mode = EP_RANGE_ENTER,
			.data = stubs->found[i].data,
		};
	stubs->n_ranges = stubs->n_found;
	return 0;
}

/* Keeps no more than there is. */
static void shrink(struct hotspot_stubs *stubs)
{
	void *less;

	free(stubs->found);
	stubs->found = NULL;
	less = realloc(stubs->pieces, (stubs->n_pieces + 1) * sizeof(*stubs->pieces));
	if (less)
		stubs->pieces = less;
	less = realloc(stubs->names, stubs->n_names + 1);
	if (less)
		stubs->names = less;
}

static int new_stubs(struct hotspot_stubs **ret)
{
	struct hotspot_stubs *stubs = calloc(1, sizeof(*stubs));

	if (!stubs)
		return -ENOMEM;
	ep_vec_init(&stubs->kept, sizeof(struct hs_kept), HS_MAX_KEPT);
	stubs->pieces = malloc(HS_MAX_PIECES * sizeof(*stubs->pieces));
	stubs->names = malloc(HS_MAX_NAMES);
	stubs->found = malloc(HS_MAX_FOUND * sizeof(*stubs->found));
	if (!stubs->pieces || !stubs->names || !stubs->found) {
		hotspot_stubs_free(stubs);
		return -ENOMEM;
	}
	*ret = stubs;
	return 0;
}

static int read_all(struct hotspot_stubs *stubs, struct hs_reader *reader)
{
	int r = hs_read_interpreter(stubs, reader);

	if (!r)
		r = hs_read_blobs(stubs, reader);
	if (r == -E2BIG) /* of what is there, what fits */
		r = 0;
	if (r)
		return r;
	qsort(stubs->pieces, stubs->n_pieces, sizeof(*stubs->pieces), compare_starts);
	hs_end_kept(stubs);
	return make_ranges(stubs);
}

int hotspot_stubs_read(const struct memory *memory, const struct hotspot_layout *layout,
		       const struct hotspot_named_address *names, size_t n_names,
		       const struct hotspot_stubs *earlier, struct hotspot_stubs **ret)
{
	struct hs_reader reader = {
		.memory = memory,
		.layout = layout,
		.names = names,
		.n_names = n_names,
		.earlier = earlier,
		.left = HS_MAX_READ,
		.flow = { .ops = &hs_flow_ops },
	};
	struct hotspot_stubs *stubs = NULL;
	int r = new_stubs(&stubs);

	if (r)
		return r;
	r = read_all(stubs, &reader);
	x86_flow_fini(&reader.flow);
	free(reader.code);
	if (r) {
		hotspot_stubs_free(stubs);
		return r;
	}
	shrink(stubs);
	*ret = stubs;
	return 0;
}

void hotspot_stubs_free(struct hotspot_stubs *stubs)
{
	if (!stubs)
		return;
	free(stubs->pieces);
	free(stubs->names);
	free(stubs->found);
	ep_vec_fini(&stubs->kept);
	free(stubs->ranges);
	free(stubs);
}

const char *hotspot_stubs_name(const struct hotspot_stubs *stubs, uint64_t addr)
{
	const struct hs_piece *pieces = stubs->pieces;
	size_t n = search_sorted(stubs->n_pieces, i, pieces[i].start <= addr);

	return n && addr < pieces[n - 1].end ? stubs->names + pieces[n - 1].name : NULL;
}

size_t hotspot_stubs_ranges(const struct hotspot_stubs *stubs, const struct ep_range **ret)
{
	*ret = stubs->ranges;
	return stubs->n_ranges;
}

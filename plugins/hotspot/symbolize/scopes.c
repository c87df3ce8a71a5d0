/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/symbolize/scopes.h"

#include "core/base/map.h"
#include "core/base/util.h"
#include "core/base/vec.h"
#include "plugins/hotspot/symbolize/unsigned5.h"
#include "plugins/shared/search.h"

#include <errno.h>
#include <string.h>

struct builder {
	const struct hotspot_scopes_input *input;
	struct ep_vec pcs, scopes, methods; /* of struct hotspot_scopes */
	uint32_t excluded;
	struct ep_map scope_of;	 /* offset ──► number, and above it its depth */
	struct ep_map method_of; /* number in the metadata ──► in `methods` */
};

/* A scope as it is in the data. */
struct record {
	uint32_t off, caller_off, metadata, bci;
};

static int read_record(const struct builder *b, uint32_t off, struct record *ret)
{
	const struct hotspot_scopes_input *in = b->input;
	size_t pos = off;
	uint32_t bci;

	ret->off = off;
	if (!hotspot_unsigned5(in->data, in->data_bytes, &pos, b->excluded, &ret->caller_off) ||
	    !hotspot_unsigned5(in->data, in->data_bytes, &pos, b->excluded, &ret->metadata) ||
	    !hotspot_unsigned5(in->data, in->data_bytes, &pos, b->excluded, &bci))
		return -EBADMSG;
	if (ret->caller_off >= off || ret->metadata < 1 || ret->metadata > in->n_metadata ||
	    bci > HOTSPOT_NO_BCI)
		return -EBADMSG;
	if (!ret->caller_off && in->metadata[ret->metadata - 1] != in->method)
		return -EBADMSG;
	ret->bci = bci ? bci - 1 : HOTSPOT_NO_BCI;
	return 0;
}

/* 0, *ret: its number in `methods`. */
static int find_method(struct builder *b, uint32_t metadata, uint16_t *ret)
{
	uint64_t addr = b->input->metadata[metadata - 1];
	uint64_t *known = ep_map_find(&b->method_of, metadata);
	uint32_t number = 0;
	int r;

	if (known) {
		*ret = (uint16_t)*known;
		return 0;
	}
	if (addr != b->input->method) {
		number = (uint32_t)b->methods.len;
		r = ep_vec_append(&b->methods, &addr, 1);
		if (r < 0)
			return r;
	}
	*ret = (uint16_t)number;
	return ep_map_set(&b->method_of, metadata, number);
}

static int add_scope(struct builder *b, const struct record *record, uint32_t caller,
		     uint64_t depth)
{
	struct hotspot_scope scope = {.caller = caller, .bci = (uint16_t)record->bci};
	int r;

	r = find_method(b, record->metadata, &scope.method);
	if (r == 0)
		r = ep_map_set(&b->scope_of, record->off, b->scopes.len | depth << 32);
	return r < 0 ? r : ep_vec_append(&b->scopes, &scope, 1);
}

/* Inwards from the outermost that is not known yet. */
static int find_scope(struct builder *b, uint32_t off, uint32_t *ret)
{
	struct record chain[HOTSPOT_MAX_CHAIN];
	uint32_t caller = HOTSPOT_NO_SCOPE;
	uint64_t depth = 0;
	size_t n = 0;
	int r;

	while (off) {
		const uint64_t *known = ep_map_find(&b->scope_of, off);

		if (known) {
			caller = (uint32_t)*known;
			depth = *known >> 32;
			break;
		}
		if (n >= EP_LEN(chain))
			return -E2BIG;
		r = read_record(b, off, &chain[n]);
		if (r < 0)
			return r;
		off = chain[n++].caller_off;
	}
	if (n + depth > HOTSPOT_MAX_CHAIN)
		return -E2BIG;
	while (n > 0) {
		r = add_scope(b, &chain[--n], caller, ++depth);
		if (r < 0)
			return r;
		caller = (uint32_t)b->scopes.len - 1;
	}
	*ret = caller;
	return 0;
}

static int add_pc(struct builder *b, const uint8_t *desc)
{
	const struct hotspot_pc *last = b->pcs.data;
	struct hotspot_pc pc;
	int32_t off = (int32_t)ep_get_u32(desc + b->input->pc_off);
	int32_t scope = (int32_t)ep_get_u32(desc + b->input->pc_scope);
	int r;

	pc.off = (uint32_t)off;
	if (off < 0 || scope < 0 || (b->pcs.len && pc.off <= last[b->pcs.len - 1].off))
		return -EBADMSG;
	r = find_scope(b, (uint32_t)scope, &pc.scope);
	return r < 0 ? r : ep_vec_append(&b->pcs, &pc, 1);
}

static int build(struct builder *b)
{
	const struct hotspot_scopes_input *in = b->input;
	int r = ep_vec_reserve(&b->pcs, in->n_pcs);

	if (r == 0)
		r = ep_vec_append(&b->methods, &in->method, 1);
	for (size_t i = 1; r == 0 && i + 1 < in->n_pcs; i++)
		r = add_pc(b, in->pcs + i * in->pc_bytes);
	return r;
}

static int try_parse(const struct hotspot_scopes_input *input, uint32_t excluded,
		     struct hotspot_scopes *ret)
{
	struct builder b = {.input = input, .excluded = excluded};
	struct hotspot_scopes out;
	int r;

	ep_map_init(&b.scope_of, HOTSPOT_MAX_SCOPES);
	ep_map_init(&b.method_of, HOTSPOT_MAX_SCOPES);
	ep_vec_init(&b.pcs, sizeof(struct hotspot_pc), HOTSPOT_MAX_SCOPES);
	ep_vec_init(&b.scopes, sizeof(struct hotspot_scope), HOTSPOT_MAX_SCOPES);
	ep_vec_init(&b.methods, sizeof(uint64_t), UINT16_MAX + 1);
	r = build(&b);
	ep_map_fini(&b.scope_of);
	ep_map_fini(&b.method_of);
	ep_vec_shrink(&b.pcs);
	ep_vec_shrink(&b.scopes);
	ep_vec_shrink(&b.methods);
	out = (struct hotspot_scopes){
		.pcs = b.pcs.data,
		.scopes = b.scopes.data,
		.methods = b.methods.data,
		.n_pcs = (uint32_t)b.pcs.len,
		.n_scopes = (uint32_t)b.scopes.len,
		.n_methods = (uint32_t)b.methods.len,
	};
	if (r < 0)
		hotspot_scopes_fini(&out);
	else
		*ret = out;
	return r;
}

/*
 * An outermost scope begins with 0, a byte that the new code excludes. One of the new code begins
 * with 1, which in the old one is a caller at offset 1: there is none, the data begin with a byte
 * 0xff (DebugInformationRecorder's constructor, share/code/debugInfoRec.cpp, 8 to 27) and then a
 * value that is no scope, whose first number would have to be 0. So one of them is wrong at every
 * scope there is.
 */
int hotspot_scopes_parse(const struct hotspot_scopes_input *input, uint32_t *excluded,
			 struct hotspot_scopes *ret)
{
	int r;

	if (input->pc_bytes < 8 || input->pc_off > input->pc_bytes - 4 ||
	    input->pc_scope > input->pc_bytes - 4 || input->n_pcs > HOTSPOT_MAX_SCOPES)
		return -EBADMSG;
	r = try_parse(input, *excluded, ret);
	if (r != -EBADMSG)
		return r;
	r = try_parse(input, *excluded ^ 1, ret);
	if (r == 0)
		*excluded ^= 1;
	return r;
}

void hotspot_scopes_fini(struct hotspot_scopes *scopes)
{
	free(scopes->pcs);
	free(scopes->scopes);
	free(scopes->methods);
	*scopes = (struct hotspot_scopes){0};
}

uint32_t hotspot_pcs_find(const struct hotspot_pc *pcs, uint32_t n, int64_t off)
{
	return (uint32_t)search_sorted(n, i, pcs[i].off < off);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/symbolize/nmethods.h"

#include "core/base/util.h"
#include "plugins/hotspot/hotspot_shared.h"

#include <errno.h>
#include <string.h>

#define MAX_BLOCK_BYTES	   32 /* of HeapBlock; 8 or 16 */
#define MAX_SECTION_BYTES  (4u << 20)
#define MAX_METADATA_BYTES (1u << 20)

/* A header as it is in memory. */
struct raw {
	const struct hotspot_layout *layout;
	uint64_t blob;
	size_t bytes; /* of blob */
	const uint8_t *block; /* HeapBlock */
	const uint8_t *at;    /* CodeBlob */
};

static uint64_t get(const struct raw *raw, enum hotspot_field_id id)
{
	return hotspot_get(raw->layout, id, raw->at, raw->bytes);
}

static bool has(const struct raw *raw, enum hotspot_field_id id)
{
	return hotspot_has(raw->layout, id);
}

/* [begin, end) as a section; empty where it makes no sense, what is left out is then not found. */
static uint32_t get_bytes(uint64_t begin, uint64_t end, uint32_t max)
{
	return end > begin && end - begin <= max ? (uint32_t)(end - begin) : 0;
}

/* 23 on: the sections that the compiler wrote and nobody changes are apart. */
static void find_immutable(const struct raw *raw, struct hotspot_header *h)
{
	uint64_t base = get(raw, HOTSPOT_F_names_immutable_data);
	uint64_t bytes = get(raw, HOTSPOT_F_names_immutable_bytes);
	uint64_t data = get(raw, HOTSPOT_F_names_scopes_off);
	uint64_t pcs = get(raw, HOTSPOT_F_names_pcs_off);
	uint64_t checks = get(raw, HOTSPOT_F_names_null_checks_off);

	h->data = base + data;
	h->data_bytes = get_bytes(data, bytes, MAX_SECTION_BYTES);
	h->pcs = base + pcs;
	h->pcs_bytes = get_bytes(pcs, data, MAX_SECTION_BYTES);
	h->null_checks = base + checks;
	h->null_bytes = get_bytes(checks, get(raw, HOTSPOT_F_names_handlers_off),
				  MAX_METADATA_BYTES);
	h->metadata = get(raw, HOTSPOT_F_names_mutable_data) +
		      get(raw, HOTSPOT_F_names_relocation_bytes);
	h->metadata_bytes = get_bytes(get(raw, HOTSPOT_F_names_relocation_bytes),
				      get(raw, HOTSPOT_F_names_mutable_bytes), MAX_METADATA_BYTES);
}

/* 23 and 24: metadata are in the block, from its data on (share/code/nmethod.hpp, jdk-23+37). */
static void find_metadata_in_block(const struct raw *raw, struct hotspot_header *h)
{
	uint64_t begin = get(raw, HOTSPOT_F_blob_data_offset) +
			 get(raw, HOTSPOT_F_names_metadata_off);

	h->metadata = raw->blob + begin;
	h->metadata_bytes =
		get_bytes(begin, get(raw, HOTSPOT_F_blob_size), MAX_METADATA_BYTES);
}

/* To 22: all are in the block, one after the other. */
static void find_in_block(const struct raw *raw, struct hotspot_header *h)
{
	uint64_t pcs = get(raw, HOTSPOT_F_names_pcs_off);
	uint64_t checks = get(raw, HOTSPOT_F_names_null_checks_off);
	uint64_t metadata = get(raw, HOTSPOT_F_names_metadata_off);
	uint64_t data = get(raw, HOTSPOT_F_names_scopes_off);

	if (has(raw, HOTSPOT_F_names_scopes_begin))
		data = get(raw, HOTSPOT_F_names_scopes_begin) - raw->blob;
	h->data = raw->blob + data;
	h->data_bytes = get_bytes(data, pcs, MAX_SECTION_BYTES);
	h->pcs = raw->blob + pcs;
	h->pcs_bytes = get_bytes(pcs, get(raw, HOTSPOT_F_names_dependencies_off),
				 MAX_SECTION_BYTES);
	h->null_checks = raw->blob + checks;
	h->null_bytes =
		get_bytes(checks, get(raw, HOTSPOT_F_names_end_off), MAX_METADATA_BYTES);
	h->metadata = raw->blob + metadata;
	h->metadata_bytes = get_bytes(metadata, data, MAX_METADATA_BYTES);
}

static void parse_header(const struct raw *raw, struct hotspot_header *h)
{
	const struct hotspot_layout *layout = raw->layout;

	*h = (struct hotspot_header){0};
	h->method = get(raw, HOTSPOT_F_nmethod_method);
	h->compile_id = (uint32_t)get(raw, HOTSPOT_F_nmethod_compile_id);
	h->oop_maps = get(raw, HOTSPOT_F_names_oop_maps);
	if (has(raw, HOTSPOT_F_blob_code_begin))
		h->code_off = (uint32_t)(get(raw, HOTSPOT_F_blob_code_begin) - raw->blob);
	else
		h->code_off = (uint32_t)get(raw, HOTSPOT_F_blob_code_offset);
	h->is_used = !hotspot_has(layout, HOTSPOT_F_block_used) ||
		     hotspot_get(layout, HOTSPOT_F_block_used, raw->block, MAX_BLOCK_BYTES);
	if (!has(raw, HOTSPOT_F_names_immutable_data)) {
		find_in_block(raw, h);
		return;
	}
	find_immutable(raw, h);
	if (!has(raw, HOTSPOT_F_names_mutable_data))
		find_metadata_in_block(raw, h);
}

/* Up to after the last field that is looked at. */
static size_t get_head_bytes(const struct hotspot_layout *layout)
{
	static const enum hotspot_field_id ids[] = {
		HOTSPOT_F_nmethod_method,	 HOTSPOT_F_nmethod_compile_id,
		HOTSPOT_F_blob_code_begin,	 HOTSPOT_F_blob_code_offset,
		HOTSPOT_F_blob_data_offset,	 HOTSPOT_F_blob_size,
		HOTSPOT_F_names_oop_maps,	 HOTSPOT_F_names_mutable_data,
		HOTSPOT_F_names_mutable_bytes,	 HOTSPOT_F_names_relocation_bytes,
		HOTSPOT_F_names_metadata_off,	 HOTSPOT_F_names_scopes_begin,
		HOTSPOT_F_names_scopes_off,	 HOTSPOT_F_names_pcs_off,
		HOTSPOT_F_names_dependencies_off, HOTSPOT_F_names_handlers_off,
		HOTSPOT_F_names_null_checks_off, HOTSPOT_F_names_end_off,
		HOTSPOT_F_names_immutable_data,	 HOTSPOT_F_names_immutable_bytes,
	};
	size_t end = 0;

	for (size_t i = 0; i < EP_LEN(ids); i++) {
		if (hotspot_has(layout, ids[i]))
			end = EP_MAX(end, hotspot_off(layout, ids[i]) + 8u);
	}
	return end;
}

static int read_header(const struct hotspot_methods *m, uint64_t blob, struct hotspot_header *ret)
{
	uint8_t buf[MAX_BLOCK_BYTES + HOTSPOT_BLOB_BYTES + MAX_BLOCK_BYTES] = {0};
	uint32_t block = m->layout->sizes[HOTSPOT_Z_block_bytes];
	size_t bytes = get_head_bytes(m->layout);
	struct raw raw = {.layout = m->layout, .blob = blob, .bytes = bytes, .block = buf,
			  .at = buf + block};
	int r;

	if (block > MAX_BLOCK_BYTES || bytes > HOTSPOT_BLOB_BYTES)
		return -ENOTSUP;
	r = memory_read(m->memory, blob - block, buf, block + bytes);
	if (r < 0)
		return r == -EFAULT ? EP_FRAME_GONE : r;
	parse_header(&raw, ret);
	return 0;
}

/* One that is dead has no method any more, and may stay in the heap (8 to 17: zombie, unloaded). */
static bool is_word(const struct hotspot_header *h, uint64_t word)
{
	return h->is_used && h->method && HOTSPOT_COMPILED_WORD(h->compile_id, h->method) == word;
}

static int read_section(const struct hotspot_methods *m, uint64_t addr, uint32_t bytes,
			uint8_t **ret)
{
	int r;

	*ret = malloc((size_t)bytes + 1);
	if (!*ret)
		return -ENOMEM;
	if (!bytes)
		return 0;
	r = memory_read(m->memory, addr, *ret, bytes);
	return r == -EFAULT ? EP_FRAME_GONE : r;
}

static int read_scopes(const struct hotspot_methods *m, struct hotspot_nmethod *nmethod)
{
	const struct hotspot_header *h = &nmethod->header;
	const struct hotspot_layout *layout = m->layout;
	ep_autofree uint8_t *pcs = NULL, *data = NULL, *metadata = NULL;
	struct hotspot_scopes_input input = {
		.pc_bytes = layout->sizes[HOTSPOT_Z_names_pc_bytes],
		.pc_off = hotspot_off(layout, HOTSPOT_F_names_pc_off),
		.pc_scope = hotspot_off(layout, HOTSPOT_F_names_pc_scope),
		.method = h->method,
	};
	int r;

	if (!input.pc_bytes)
		return -ENOTSUP;
	r = read_section(m, h->pcs, h->pcs_bytes, &pcs);
	if (r == 0)
		r = read_section(m, h->data, h->data_bytes, &data);
	if (r == 0)
		r = read_section(m, h->metadata, h->metadata_bytes, &metadata);
	if (r != 0)
		return r;
	input.pcs = pcs;
	input.n_pcs = h->pcs_bytes / input.pc_bytes;
	input.data = data;
	input.data_bytes = h->data_bytes;
	input.metadata = (const uint64_t *)(void *)metadata;
	input.n_metadata = h->metadata_bytes / sizeof(uint64_t);
	return hotspot_scopes_parse(&input, m->excluded, &nmethod->scopes);
}

static int compare_checks(const void *left, const void *right)
{
	const struct hotspot_null_check *a = left, *b = right;

	return a->off < b->off ? -1 : a->off > b->off;
}

static int read_null_checks(const struct hotspot_methods *m, struct hotspot_nmethod *nmethod)
{
	const struct hotspot_header *h = &nmethod->header;
	ep_autofree uint8_t *bytes = NULL;
	uint32_t n;
	int r;

	if (h->null_bytes < sizeof(n))
		return 0;
	r = read_section(m, h->null_checks, h->null_bytes, &bytes);
	if (r != 0)
		return r;
	memcpy(&n, bytes, sizeof(n));
	n = EP_MIN(n, (h->null_bytes - 4) / (uint32_t)sizeof(struct hotspot_null_check));
	nmethod->null_checks = calloc((size_t)n + 1, sizeof(struct hotspot_null_check));
	if (!nmethod->null_checks)
		return -ENOMEM;
	memcpy(nmethod->null_checks, bytes + 4, n * sizeof(struct hotspot_null_check));
	nmethod->n_null_checks = n;
	qsort(nmethod->null_checks, n, sizeof(struct hotspot_null_check), compare_checks);
	return 0;
}

/*
 * Each debug point of a call or poll has an oop map (DebugInformationRecorder::add_safepoint,
 * share/code/debugInfoRec.cpp, 8 to 27), the others have none (add_non_safepoint).
 */
static int read_density(const struct hotspot_methods *m, struct hotspot_nmethod *nmethod)
{
	uint32_t off = hotspot_off(m->layout, HOTSPOT_F_names_oop_map_count);
	uint32_t count = 0;
	int r = 0;

	if (nmethod->header.oop_maps && hotspot_has(m->layout, HOTSPOT_F_names_oop_map_count))
		r = memory_read(m->memory, nmethod->header.oop_maps + off, &count,
				    sizeof(count));
	if (r < 0)
		return r == -EFAULT ? EP_FRAME_GONE : r;
	nmethod->is_dense = nmethod->scopes.n_pcs > count;
	return 0;
}

static void free_nmethod(struct names_item *item)
{
	struct hotspot_nmethod *nmethod = (struct hotspot_nmethod *)item;

	for (uint32_t i = 0; nmethod->methods && i < nmethod->scopes.n_methods; i++)
		names_item_unref(nmethod->methods[i] ? &nmethod->methods[i]->item : NULL);
	hotspot_scopes_fini(&nmethod->scopes);
	free(nmethod->methods);
	free(nmethod->null_checks);
	free(nmethod);
}

static size_t get_size(const struct hotspot_nmethod *nmethod)
{
	const struct hotspot_scopes *scopes = &nmethod->scopes;

	return sizeof(*nmethod) + scopes->n_pcs * sizeof(*scopes->pcs) +
	       scopes->n_scopes * sizeof(*scopes->scopes) +
	       scopes->n_methods * (sizeof(*scopes->methods) + sizeof(*nmethod->methods)) +
	       nmethod->n_null_checks * sizeof(*nmethod->null_checks);
}

static int finish(struct hotspot_nmethod *nmethod, uint64_t blob, uint64_t word)
{
	nmethod->methods = calloc(nmethod->scopes.n_methods, sizeof(struct hotspot_method *));
	if (!nmethod->methods)
		return -ENOMEM;
	nmethod->item = (struct names_item){
		.kind = HOTSPOT_ITEM_NMETHOD,
		.key = {blob, word},
		.bytes = get_size(nmethod),
		.free = free_nmethod,
	};
	return 0;
}

static int read_parts(const struct hotspot_methods *m, struct hotspot_nmethod *nmethod,
		      uint64_t blob, uint64_t word)
{
	int r, parsed;

	r = read_header(m, blob, &nmethod->header);
	if (r != 0)
		return r;
	if (!is_word(&nmethod->header, word))
		return EP_FRAME_GONE;
	parsed = read_scopes(m, nmethod);
	if (parsed == 0)
		parsed = read_null_checks(m, nmethod);
	if (parsed == 0)
		parsed = read_density(m, nmethod);
	r = hotspot_nmethod_check(m, nmethod);
	if (r == 0)
		r = parsed;
	return r == 0 ? finish(nmethod, blob, word) : r;
}

int hotspot_nmethod_check(const struct hotspot_methods *methods,
			  const struct hotspot_nmethod *nmethod)
{
	const struct hotspot_header *was = &nmethod->header;
	struct hotspot_header is;
	int r = read_header(methods, nmethod->item.key[0], &is);

	if (r != 0)
		return r;
	if (!is.is_used || is.method != was->method || is.compile_id != was->compile_id ||
	    is.data != was->data || is.pcs != was->pcs || is.metadata != was->metadata)
		return EP_FRAME_GONE;
	return 0;
}

int hotspot_nmethod_get(const struct hotspot_methods *methods, uint64_t blob, uint64_t word,
			struct hotspot_nmethod **ret)
{
	struct hotspot_nmethod *nmethod;
	int r;

	nmethod = names_cache_find(methods->cache, HOTSPOT_ITEM_NMETHOD, blob, word, 0);
	if (nmethod) {
		*ret = nmethod;
		return 0;
	}
	nmethod = calloc(1, sizeof(*nmethod));
	if (!nmethod)
		return -ENOMEM;
	nmethod->item.key[0] = blob;
	r = read_parts(methods, nmethod, blob, word);
	if (r != 0) {
		free_nmethod(&nmethod->item);
		return r;
	}
	names_cache_put(methods->cache, &nmethod->item);
	*ret = nmethod;
	return 0;
}

int hotspot_nmethod_method(const struct hotspot_methods *methods, struct hotspot_nmethod *nmethod,
			   uint32_t number, struct hotspot_method **ret, bool *ret_read)
{
	struct hotspot_identity identity;
	int r;

	if (nmethod->methods[number]) {
		*ret = nmethod->methods[number];
		return 0;
	}
	*ret_read = true;
	r = hotspot_identity_read(methods, nmethod->scopes.methods[number], &identity);
	if (r == 0)
		r = hotspot_method_get(methods, &identity, &nmethod->methods[number], ret_read);
	if (r == 0)
		*ret = nmethod->methods[number];
	return r;
}

uint32_t hotspot_nmethod_null_check(const struct hotspot_nmethod *nmethod, uint32_t off)
{
	struct hotspot_null_check key = {.off = off};
	const struct hotspot_null_check *found = NULL;

	if (nmethod->n_null_checks)
		found = bsearch(&key, nmethod->null_checks, nmethod->n_null_checks, sizeof(key),
				compare_checks);
	return found ? found->to : off;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded blob (snapshot/embedded/embedded-data.h, embedded-data.cc):
 *
 *	Node	 data: header  descriptor, by id			 code
 *	12, 14	 16		8 {offset, length}			 after the descriptors
 *	16	 24	       16 {offset, length, metadata, its length} apart
 *	18	 24	       28 the same and {handlers, comments, unwinding}
 *	20	 24	       32 the same and {stack slots}
 *	22 to 26 24	       12 {offset, length, metadata}, then n x 8 {end, id}, ascending by end
 *
 * Offsets count from where the code begins; builtins are in the order of ids up to 20. After each
 * there is at least one int3, up to a multiple of kCodeAlignment (PadAndAlignCode), 32 or 64.
 * Whatever version it is, the layout is the one that holds for as many builtins as there are names.
 */
#include "plugins/v8/code/file.h"

#include "core/base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER 24
#define FILL	   0xcc

/* A file that was made to look like much is given up: how many places are looked at closely. */
#define MAX_TABLES  4096   /* by their first two descriptors; in a Node there are 454 at most */
#define MAX_BEGINS  100000 /* of code, by what is after the first builtin; a Node has one */
#define MAX_READS   16	   /* of a whole blob */
#define MAX_LOOKED                                                                                 \
	(64u << 20) /* places of builtins, and bytes that fill up after them; in a Node some 100  \
		       KB */
#define MAX_SEARCH  4	   /* of code in .text, for a table that holds */

struct layout {
	uint8_t header, descriptor;
	bool code_behind; /* the descriptors */
	bool by_address;  /* builtins are in another order than ids: a table of it follows */
};

static const struct layout layouts[] = {
	{ 24, 12, false, true }, { 24, 32, false, false }, { 24, 28, false, false },
	{ 24, 16, false, false }, { 16, 8, true, false },
};

static uint32_t padded(uint32_t bytes, uint32_t alignment)
{
	return (bytes + alignment) & ~(alignment - 1);
}

/* --- descriptors */

/* Where builtins end when they are in the order of their ids. */
static int set_ends_by_id(uint32_t n, struct v8_code_place *places)
{
	uint32_t alignment = 0, end = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (places[i].off != end)
			return -EBADMSG;
		end = places[i].off + padded(places[i].bytes, 32);
		if (i + 1 < n && places[i + 1].off != end)
			end = places[i].off + padded(places[i].bytes, 64);
		places[i].end = end;
		alignment |= end;
	}
	return alignment % 32 ? -EBADMSG : 0;
}

static int set_ends_by_address(const uint8_t *table, uint32_t n, struct v8_code_place *places)
{
	uint32_t start = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t end = ep_get_u32(table + (size_t)i * 8),
			 id = ep_get_u32(table + (size_t)i * 8 + 4);

		if (id >= n || places[id].end || places[id].off != start || end <= start ||
		    end - start <= places[id].bytes || end > V8_MAX_BLOB_BYTES || end % 32)
			return -EBADMSG;
		places[id].end = start = end;
	}
	return 0;
}

static size_t table_bytes(const struct layout *layout, uint32_t n)
{
	return (size_t)n * (layout->descriptor + (layout->by_address ? 8u : 0u));
}

/* table: of a layout, without its header. 0, -EBADMSG: it is none. */
static int parse_table(const struct layout *layout, const uint8_t *table, uint32_t n,
		       struct v8_code_place *places)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t off = ep_get_u32(table + (size_t)i * layout->descriptor);
		uint32_t bytes = ep_get_u32(table + (size_t)i * layout->descriptor + 4);

		sum += bytes;
		if (off > V8_MAX_BLOB_BYTES || bytes > V8_MAX_BLOB_BYTES ||
		    sum > V8_MAX_BLOB_BYTES || off % 32)
			return -EBADMSG;
		places[i] = (struct v8_code_place){ .off = off, .bytes = bytes };
	}
	return layout->by_address
		       ? set_ends_by_address(table + (size_t)n * layout->descriptor, n, places)
		       : set_ends_by_id(n, places);
}

/* --- code */

static uint32_t code_bytes(const struct v8_code_place *places, uint32_t n)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		bytes = EP_MAX(bytes, places[i].end);
	return bytes;
}

static bool is_fill(const uint8_t *code, uint32_t start, uint32_t end, uint64_t *looked)
{
	for (uint32_t at = start; at < end; at++) {
		++*looked;
		if (code[at] != FILL)
			return false;
	}
	return true;
}

/* Is each builtin followed by what fills up, within `bytes` of code? */
static bool is_code(struct v8_blob *blob, uint32_t n, const uint8_t *code, size_t bytes)
{
	const struct v8_code_place *places = blob->places;

	for (uint32_t i = 0; i < n; i++) {
		if (++blob->looked > MAX_LOOKED)
			return false;
		if (places[i].end <= bytes &&
		    !is_fill(code, places[i].off + places[i].bytes, places[i].end, &blob->looked))
			return false;
	}
	return true;
}

static int take_code(const struct v8_reader *reader, uint32_t n, uint64_t va, struct v8_blob *blob)
{
	uint32_t bytes = code_bytes(blob->places, n);
	uint8_t *code;
	int r;

	if (blob->reads++ >= MAX_READS)
		return -EBADMSG;
	code = malloc(bytes ? bytes : 1);
	if (!code)
		return -ENOMEM;
	r = file_read_long(reader->host, reader->file, va, code, bytes);
	if (!r && !is_code(blob, n, code, bytes))
		r = -EBADMSG;
	if (r) {
		free(code);
		return r == -ENOMEM ? r : -EBADMSG;
	}
	blob->code = code;
	blob->va = va;
	blob->bytes = bytes;
	return 0;
}

struct code_search {
	const struct v8_reader *reader;
	struct v8_blob *blob;
	uint32_t n, begins;
	uint32_t first; /* the builtin that comes first, by address */
};

#define OVERLAP (64u << 10)

/* Few bytes tell that it is not here. */
static bool begins_here(struct code_search *search, const uint8_t *code, size_t left)
{
	const struct v8_code_place *places = search->blob->places;
	uint32_t first = search->first, at;

	if (places[first].end >= left)
		return false;
	at = places[first].off + places[first].bytes;
	if (code[at] != FILL || code[places[first].end - 1] != FILL || code[0] == FILL)
		return false;
	return search->begins++ < MAX_BEGINS &&
	       is_code(search->blob, search->n, code, EP_MIN(left, (size_t)OVERLAP));
}

static int find_code(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct code_search *search = arg;

	for (size_t at = (size_t)(-va & 31); at < len; at += 32) {
		int r;

		if (!begins_here(search, bytes + at, len - at))
			continue;
		r = take_code(search->reader, search->n, va + at, search->blob);
		if (r != -EBADMSG)
			return r ? r : 1;
	}
	return 0;
}

/* 0, -EBADMSG: nowhere in .text. */
static int search_code(const struct v8_reader *reader, uint32_t n, struct v8_blob *blob)
{
	struct code_search search = { .reader = reader, .blob = blob, .n = n };
	int r;

	while (search.first < n && blob->places[search.first].off)
		search.first++;
	if (search.first == n || blob->searches++ >= MAX_SEARCH)
		return -EBADMSG;
	r = file_scan(reader->host, reader->file, ".text", OVERLAP, find_code, &search);
	return r < 0 ? r : r ? 0 : -EBADMSG;
}

/* By symbol: up to 18 a variable that points to it, from 20 on it is there itself. */
static int find_named_code(const struct v8_reader *reader, uint32_t n, struct v8_blob *blob)
{
	struct ep_symbol symbol;
	uint64_t pointed = 0;
	int r = reader->host->file_symbol(reader->file, "v8_Default_embedded_blob_code_", &symbol);

	if (r)
		return r;
	r = take_code(reader, n, symbol.va, blob);
	if (r == -EBADMSG && !reader->host->file_read(reader->file, symbol.va, &pointed, 8) &&
	    pointed)
		r = take_code(reader, n, pointed, blob);
	return r;
}

static int find_code_of(const struct v8_reader *reader, const struct layout *layout,
			uint64_t table_va, uint32_t n, struct v8_blob *blob)
{
	int r;

	if (layout->code_behind) /* RawDataOffset, 12: after the descriptors and a byte at least */
		return take_code(reader, n,
				 table_va - layout->header +
					 padded(layout->header + n * layout->descriptor, 32),
				 blob);
	r = find_named_code(reader, n, blob);
	return r == -ENODATA || r == -EBADMSG ? search_code(reader, n, blob) : r;
}

/* --- the whole */

/* One layout, its descriptors at an address. 0, -EBADMSG: it is not so. */
static int try_layout(const struct v8_reader *reader, const struct layout *layout,
		      uint64_t table_va, uint32_t n, struct v8_blob *blob)
{
	ep_autofree uint8_t *table = malloc(table_bytes(layout, n));
	int r;

	if (!table)
		return -ENOMEM;
	if (reader->host->file_read(reader->file, table_va, table, table_bytes(layout, n)))
		return -EBADMSG;
	r = parse_table(layout, table, n, blob->places);
	return r ? r : find_code_of(reader, layout, table_va, n, blob);
}

static int try_data(const struct v8_reader *reader, uint64_t va, uint32_t n, struct v8_blob *blob)
{
	int r = -EBADMSG;

	for (size_t i = 0; i < EP_LEN(layouts) && r == -EBADMSG; i++)
		r = try_layout(reader, &layouts[i], va + layouts[i].header, n, blob);
	return r;
}

/* By symbols, in .symtab only: of the data, or of a variable that points to it. 0, -ENODATA,
 * -EBADMSG. */
static int find_named(const struct v8_reader *reader, uint32_t n, struct v8_blob *blob)
{
	static const char *const names[] = {"v8_Default_embedded_blob_data_",
					    "v8_Default_embedded_blob_"};
	int r = -ENODATA;

	for (size_t i = 0; i < EP_LEN(names); i++) {
		struct ep_symbol symbol;
		uint64_t pointed;
		int found = reader->host->file_symbol(reader->file, names[i], &symbol);

		if (found == -ENODATA)
			continue;
		r = found ? found : try_data(reader, symbol.va, n, blob);
		if (r == -EBADMSG &&
		    !reader->host->file_read(reader->file, symbol.va, &pointed, 8) && pointed)
			r = try_data(reader, pointed, n, blob);
		if (r != -EBADMSG)
			return r;
	}
	return r;
}

struct table_search {
	const struct v8_reader *reader;
	struct v8_blob *blob;
	uint32_t n, tables;
	bool code_behind;
};

/* The first two descriptors. */
static bool is_likely(const struct layout *layout, const uint8_t *table)
{
	uint32_t bytes = ep_get_u32(table + 4), next = ep_get_u32(table + layout->descriptor);

	if (layout->by_address) /* id 0 is first by address, too, and so is its metadata */
		return !ep_get_u32(table + 8) && next > bytes && !(next % 32) &&
		       ep_get_u32(table + 16);
	return next == padded(bytes, 32) || next == padded(bytes, 64);
}

static int find_tables(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct table_search *search = arg;

	for (size_t at = (size_t)(-va & 7); at + 64 <= len; at += 8) {
		uint32_t first = ep_get_u32(bytes + at + 4);

		if (ep_get_u32(bytes + at) || !first || first > OVERLAP / 2)
			continue;
		for (size_t i = 0; i < EP_LEN(layouts); i++) {
			int r;

			if (layouts[i].code_behind != search->code_behind ||
			    !is_likely(&layouts[i], bytes + at))
				continue;
			if (search->tables++ == MAX_TABLES)
				return -EBADMSG;
			r = try_layout(search->reader, &layouts[i], va + at, search->n,
				       search->blob);
			if (r != -EBADMSG)
				return r ? r : 1;
		}
	}
	return 0;
}

/* Without symbols: data is in .rodata, or, with code after, in .text. */
static int search_blob(const struct v8_reader *reader, uint32_t n, struct v8_blob *blob)
{
	struct table_search search = { .reader = reader, .blob = blob, .n = n };
	int r = file_scan(reader->host, reader->file, ".rodata", 64, find_tables, &search);

	if (!r) {
		search.code_behind = true;
		r = file_scan(reader->host, reader->file, ".text", 64, find_tables, &search);
	}
	return r < 0 ? r : r ? 0 : -ENODATA;
}

int v8_blob_read(const struct v8_reader *reader, uint32_t n, struct v8_blob *ret)
{
	struct v8_blob blob = { 0 };
	int r;

	if (!n || n > V8_MAX_BUILTINS)
		return -EBADMSG;
	blob.places = calloc(n, sizeof(*blob.places));
	if (!blob.places)
		return -ENOMEM;
	r = find_named(reader, n, &blob);
	if (r == -ENODATA || r == -EBADMSG) {
		int searched = search_blob(reader, n, &blob);

		r = searched == -ENODATA ? r : searched;
	}
	if (r) {
		v8_blob_free(&blob);
		return r;
	}
	*ret = blob;
	return 0;
}

void v8_blob_free(struct v8_blob *blob)
{
	free(blob->places);
	free(blob->code);
	*blob = (struct v8_blob){ 0 };
}

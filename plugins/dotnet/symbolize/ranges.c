/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/symbolize/ranges.h"

#include "core/base/util.h"

#include <errno.h>

#define MAX_TABLES                                                                                 \
	256 /* of the map; 6 or 7 were seen, 128 MiB of addresses for each of the last level */
#define MAX_ENTRIES	    8192 /* of the last level: 1 GiB of code */
#define MAX_RANGE_BYTES	    (4ull << 30)
#define NIBBLE_WORDS_AT_ONCE 64u

int dotnet_read_word(const struct dotnet_reader *reader, uint64_t addr, uint64_t *ret)
{
	return memory_read(&reader->memory, addr, ret, sizeof(*ret));
}

static int read_range(const struct dotnet_reader *reader, uint64_t section,
		      struct dotnet_range *ret)
{
	const struct dotnet_layout *layout = reader->layout;
	uint8_t bytes[DOTNET_RANGE_BYTES];
	int r = memory_read(&reader->memory, section, bytes, sizeof(bytes));

	if (r < 0)
		return r;
	*ret = (struct dotnet_range){
		.begin = ep_get_u64(bytes + layout->range_begin),
		.end = ep_get_u64(bytes + layout->range_end),
		.module = ep_get_u64(bytes + layout->range_module),
		.heap = ep_get_u64(bytes + layout->range_heap),
		.flags = ep_get_u32(bytes + layout->range_flags),
	};
	if (ret->begin >= ret->end || ret->end - ret->begin > MAX_RANGE_BYTES)
		return -EBADMSG;
	return 0;
}

/* The fragment of a list that holds an address: its range. */
static int find_fragment(const struct dotnet_reader *reader, uint64_t fragment, uint64_t addr,
			 uint64_t *ret)
{
	uint64_t words[DOTNET_FRAGMENT_WORDS];

	for (uint32_t i = 0; i < DOTNET_MAX_FRAGMENTS && fragment; i++) {
		int r = memory_read(&reader->memory, fragment, words, sizeof(words));

		if (r < 0)
			return r;
		if (addr >= words[1] && addr < words[2]) {
			*ret = words[3];
			return 0;
		}
		fragment = words[0] & ~1ull;
	}
	return -ENODATA;
}

int dotnet_range_find(const struct dotnet_reader *reader, uint64_t addr, struct dotnet_range *ret)
{
	uint64_t at = reader->range_map;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < DOTNET_MAP_LEVELS; i++) {
		uint32_t shift =
			DOTNET_MAP_SHIFT + DOTNET_MAP_LEVEL_BITS * (DOTNET_MAP_LEVELS - 1 - i);

		r = dotnet_read_word(reader, at + 8 * (addr >> shift & (DOTNET_MAP_ENTRIES - 1)),
				     &at);
		at &= ~1ull;
		if (r == 0 && !at)
			r = -ENODATA;
	}
	if (r == 0)
		r = find_fragment(reader, at, addr, &at);
	if (r == 0)
		r = read_range(reader, at, ret);
	return r == 0 && (addr < ret->begin || addr >= ret->end) ? -EBADMSG : r;
}

/* --- all of them ---------------------------------------------------------------------------- */

/* One table of each level is open at a time: the path to where the visit is. */
struct visiting {
	const struct dotnet_reader *reader;
	dotnet_range_visit *visit;
	void *arg;
	uint64_t tables[DOTNET_MAP_LEVELS][DOTNET_MAP_ENTRIES];
	uint32_t at[DOTNET_MAP_LEVELS];
	uint64_t section; /* of the last range */
	uint32_t n_tables, n_entries, n_ranges;
};

static int visit_fragments(struct visiting *visiting, uint64_t fragment)
{
	uint64_t words[DOTNET_FRAGMENT_WORDS];
	struct dotnet_range range;
	int r = 0;

	if (++visiting->n_entries > MAX_ENTRIES)
		return -E2BIG;
	for (uint32_t i = 0; r == 0 && i < DOTNET_MAX_FRAGMENTS && fragment; i++) {
		r = memory_read(&visiting->reader->memory, fragment, words, sizeof(words));
		if (r < 0)
			return r;
		fragment = words[0] & ~1ull;
		if (words[3] == visiting->section)
			continue;
		visiting->section = words[3];
		r = read_range(visiting->reader, words[3], &range);
		if (r == 0 && ++visiting->n_ranges > DOTNET_MAX_RANGES)
			return -E2BIG;
		if (r == 0)
			r = visiting->visit(visiting->arg, &range);
		else if (r == -EBADMSG) /* it changes while it is read */
			r = 0;
	}
	return r;
}

static int open_table(struct visiting *visiting, uint32_t level, uint64_t addr)
{
	if (++visiting->n_tables > MAX_TABLES)
		return -E2BIG;
	visiting->at[level] = 0;
	return memory_read(&visiting->reader->memory, addr, visiting->tables[level],
			   sizeof(visiting->tables[level]));
}

int dotnet_ranges_visit(const struct dotnet_reader *reader, dotnet_range_visit *visit, void *arg)
{
	ep_autofree struct visiting *visiting = calloc(1, sizeof(*visiting));
	uint32_t level = 0;
	int r;

	if (!visiting)
		return -ENOMEM;
	visiting->reader = reader;
	visiting->visit = visit;
	visiting->arg = arg;
	r = open_table(visiting, 0, reader->range_map);
	while (r == 0) {
		uint64_t entry;

		if (visiting->at[level] == DOTNET_MAP_ENTRIES) {
			if (level-- == 0)
				break;
			continue;
		}
		entry = visiting->tables[level][visiting->at[level]++] & ~1ull;
		if (!entry)
			continue;
		if (level == DOTNET_MAP_LEVELS - 1)
			r = visit_fragments(visiting, entry);
		else
			r = open_table(visiting, ++level, entry);
	}
	return r;
}

/* --- methods of a heap ---------------------------------------------------------------------- */

/* The word before the code is a RealCodeHeader *, or a kind of stub (vm/codeman.h: CodeHeader,
 * v9.0.0). */
int dotnet_header_of_start(const struct dotnet_reader *reader, uint64_t start, uint64_t *ret)
{
	int r = dotnet_read_word(reader, start - 8, ret);

	return r == 0 && *ret <= DOTNET_STUB_LAST ? -EBADMSG : r;
}

int dotnet_method_of_start(const struct dotnet_reader *reader, uint64_t start, uint64_t *ret)
{
	uint64_t header;
	int r = dotnet_header_of_start(reader, start, &header);

	return r == 0 ? dotnet_read_word(reader, header + reader->layout->header_method, ret) : r;
}

static int visit_method(const struct dotnet_reader *reader, uint64_t start,
			dotnet_method_visit *visit, void *arg)
{
	uint64_t header;
	int r = dotnet_read_word(reader, start - 8, &header);

	return r < 0 || header <= DOTNET_STUB_LAST ? r : visit(arg, start);
}

int dotnet_heap_visit(const struct dotnet_reader *reader, const struct dotnet_range *range,
		      uint32_t bytes, dotnet_method_visit *visit, void *arg)
{
	uint8_t heap[DOTNET_HEAP_BYTES];
	uint32_t words[NIBBLE_WORDS_AT_ONCE];
	uint64_t base, map;
	int r = memory_read(&reader->memory, range->heap, heap, sizeof(heap));

	if (r < 0)
		return r;
	base = ep_get_u64(heap + reader->layout->heap_map_base);
	map = ep_get_u64(heap + reader->layout->heap_map);
	bytes = (uint32_t)EP_MIN(bytes, range->end - range->begin);
	for (uint32_t i = 0; r == 0 && i < bytes >> 8; i++) {
		uint32_t word;

		if (i % NIBBLE_WORDS_AT_ONCE == 0)
			r = memory_read(&reader->memory, map + 4ull * i, words, sizeof(words));
		word = words[i % NIBBLE_WORDS_AT_ONCE];
		if (r < 0 || (word & 15) > DOTNET_NIBBLE_POINTER)
			continue;
		for (uint32_t j = 0; r == 0 && j < 8; j++) {
			uint32_t nibble = word >> (28 - 4 * j) & 15;

			if (nibble)
				r = visit_method(reader,
						 base + 256ull * i + 32 * j + 4 * (nibble - 1),
						 visit, arg);
		}
	}
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/layout.h"

#include "core/base/util.h"
#include "plugins/dotnet/descriptor.h"
#include "plugins/dotnet/dotnet_shared.h"

#include <errno.h>
#include <string.h>

#define ABSENT	   DOTNET_ABSENT
#define MAX_OFFSET 0x4000u
#define MAX_BITS   15u

static const struct {
	const char *type, *field;
	size_t at; /* in the layout */
	uint32_t values[3];
} fields[] = {
#define FIELD(name, type, field, v8, v9, v10)                                                      \
	{type, field, offsetof(struct dotnet_layout, name), {v8, v9, v10}},
#define BPF_FIELD FIELD
#include "plugins/dotnet/fields.def"
};

static uint32_t *field_at(struct dotnet_layout *layout, size_t i)
{
	return (uint32_t *)((char *)layout + fields[i].at);
}

bool dotnet_layout_find(uint32_t major, struct dotnet_layout *ret)
{
	uint32_t column = EP_MIN(major, (uint32_t)DOTNET_NEWEST_KNOWN) - DOTNET_OLDEST;

	if (major < DOTNET_OLDEST)
		return false;
	*ret = (struct dotnet_layout){.major = major};
	for (size_t i = 0; i < EP_LEN(fields); i++)
		*field_at(ret, i) = fields[i].values[column];
	return true;
}

/* --- the data contract ---------------------------------------------------------------------- */

struct publishing {
	struct dotnet_layout layout;
	uint32_t n;
};

static bool is_name(const struct descriptor_text *text, const char *name)
{
	return name && strlen(name) == text->len && memcmp(name, text->at, text->len) == 0;
}

static int publish_field(void *arg, const struct descriptor_text *type,
			 const struct descriptor_text *field, uint64_t value)
{
	struct publishing *publishing = arg;

	for (size_t i = 0; i < EP_LEN(fields); i++) {
		if (!is_name(type, fields[i].type) || !is_name(field, fields[i].field))
			continue;
		if (value > (type->len ? MAX_OFFSET : MAX_BITS))
			return -EBADMSG;
		*field_at(&publishing->layout, i) = (uint32_t)value;
		publishing->n++;
	}
	return 0;
}

/* What is read whole holds the fields that are picked out of it. */
static bool is_sound(const struct dotnet_layout *layout)
{
	const struct {
		uint32_t at, width, bytes;
	} parts[] = {
		{layout->range_begin, 8, DOTNET_RANGE_BYTES},
		{layout->range_end, 8, DOTNET_RANGE_BYTES},
		{layout->range_flags, 8, DOTNET_RANGE_BYTES},
		{layout->range_module, 8, DOTNET_RANGE_BYTES},
		{layout->range_heap, 8, DOTNET_RANGE_BYTES},
		{layout->range_list, 8, DOTNET_RANGE_BYTES},
		{layout->heap_start, 8, DOTNET_HEAP_BYTES},
		{layout->heap_end, 8, DOTNET_HEAP_BYTES},
		{layout->heap_map_base, 8, DOTNET_HEAP_BYTES},
		{layout->heap_map, 8, DOTNET_HEAP_BYTES},
		{layout->header_method, 8, DOTNET_HEADER_BYTES},
		{layout->header_n_unwinds, 4, DOTNET_HEADER_BYTES},
		{layout->header_unwinds, 4, DOTNET_HEADER_BYTES - 8},
		{layout->method_token, 2, DOTNET_METHOD_BYTES},
		{layout->method_chunk, 1, DOTNET_METHOD_BYTES},
		{layout->method_flags, 2, DOTNET_METHOD_BYTES},
		{layout->chunk_table, 8, DOTNET_CHUNK_BYTES},
		{layout->chunk_token, 2, DOTNET_CHUNK_BYTES},
		{layout->table_flags, 4, 8 * DOTNET_TABLE_WORDS},
		{layout->table_flags2, 4, 8 * DOTNET_TABLE_WORDS},
		{layout->table_virtuals, 2, 8 * DOTNET_TABLE_WORDS},
		{layout->table_module, 8, 8 * DOTNET_TABLE_WORDS},
	};

	for (size_t i = 0; i < EP_LEN(parts); i++) {
		if (parts[i].at % parts[i].width || parts[i].at + parts[i].width > parts[i].bytes)
			return false;
	}
	return layout->token_bits >= 8; /* what is left of 24 fits into 16 */
}

int dotnet_layout_publish(struct dotnet_layout *layout, const char *text, size_t bytes,
			  uint32_t *ret_n)
{
	struct publishing publishing = {.layout = *layout};
	int r = dotnet_descriptor_visit(text, bytes, publish_field, &publishing);

	if (r == 0 && !is_sound(&publishing.layout))
		r = -EBADMSG;
	if (r < 0)
		return r;
	*layout = publishing.layout;
	if (ret_n)
		*ret_n = publishing.n;
	return 0;
}

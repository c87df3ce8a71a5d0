/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/symbolize/metadata.h"

#include "core/base/util.h"

#include <errno.h>
#include <string.h>

#define MAX_VERSION_BYTES 256
#define MAX_STREAMS	  8
#define MAX_ROWS	  (1u << 24) /* a token has 24 bits */
#define MAX_NESTED	  8
#define NAME_BYTES	  512

#define TYPE_VISIBILITY	  7u /* ECMA-335, II.23.1.15: from 2 on it is nested */
#define TYPE_NESTED	  2u

enum table {
	TYPE_REF = 1,
	TYPE_DEF = 2,
	FIELD_POINTER = 3,
	METHOD_POINTER = 5,
	METHOD_DEF = 6,
	NESTED_CLASS = 41,
};

/* --- how wide rows are ------------------------------------------------------------------------------------ */

/* The columns of each table: II.22, neighbours of fixed width taken together. */
#define COLUMNS 9
struct column {
	uint8_t kind, what;
};
enum column_kind {
	NONE = 0,
	FIXED,	/* what: bytes */
	STRING,
	GUID,
	BLOB,
	ROW,	/* what: table */
	CODED,	/* what: enum coded */
};

enum coded {
	TYPE_DEF_OR_REF, HAS_CONSTANT, HAS_ATTRIBUTE, HAS_MARSHAL, HAS_SECURITY, MEMBER_PARENT, HAS_SEMANTICS,
	METHOD_DEF_OR_REF, MEMBER_FORWARDED, IMPLEMENTATION, ATTRIBUTE_TYPE, RESOLUTION_SCOPE, TYPE_OR_METHOD,
};

/* Bits of the tag, and the tables that it tells apart. */
static const struct {
	uint8_t bits;
	uint64_t tables;
} coded[] = {
#define T(n) (1ull << (n))
	[TYPE_DEF_OR_REF] = {2, T(2) | T(1) | T(27)},
	[HAS_CONSTANT] = {2, T(4) | T(8) | T(23)},
	[HAS_ATTRIBUTE] = {5, T(6) | T(4) | T(1) | T(2) | T(8) | T(9) | T(10) | T(0) | T(14) | T(23) | T(20) | T(17) |
				      T(26) | T(27) | T(32) | T(35) | T(38) | T(39) | T(40) | T(42) | T(43) | T(44)},
	[HAS_MARSHAL] = {1, T(4) | T(8)},
	[HAS_SECURITY] = {2, T(2) | T(6) | T(32)},
	[MEMBER_PARENT] = {3, T(2) | T(1) | T(26) | T(6) | T(27)},
	[HAS_SEMANTICS] = {1, T(20) | T(23)},
	[METHOD_DEF_OR_REF] = {1, T(6) | T(10)},
	[MEMBER_FORWARDED] = {1, T(4) | T(6)},
	[IMPLEMENTATION] = {2, T(38) | T(35) | T(39)},
	[ATTRIBUTE_TYPE] = {3, T(6) | T(10)},
	[RESOLUTION_SCOPE] = {2, T(0) | T(26) | T(35) | T(1)},
	[TYPE_OR_METHOD] = {1, T(2) | T(6)},
#undef T
};

#define N(bytes)  {FIXED, bytes}
#define S	  {STRING, 0}
#define G	  {GUID, 0}
#define B	  {BLOB, 0}
#define R(table)  {ROW, table}
#define C(index)  {CODED, index}
static const struct column columns[DOTNET_TABLES][COLUMNS] = {
	[0] = {N(2), S, G, G, G},
	[1] = {C(RESOLUTION_SCOPE), S, S},
	[2] = {N(4), S, S, C(TYPE_DEF_OR_REF), R(4), R(6)},
	[3] = {R(4)},
	[4] = {N(2), S, B},
	[5] = {R(6)},
	[6] = {N(4), N(2), N(2), S, B, R(8)},
	[7] = {R(8)},
	[8] = {N(2), N(2), S},
	[9] = {R(2), C(TYPE_DEF_OR_REF)},
	[10] = {C(MEMBER_PARENT), S, B},
	[11] = {N(2), C(HAS_CONSTANT), B},
	[12] = {C(HAS_ATTRIBUTE), C(ATTRIBUTE_TYPE), B},
	[13] = {C(HAS_MARSHAL), B},
	[14] = {N(2), C(HAS_SECURITY), B},
	[15] = {N(2), N(4), R(2)},
	[16] = {N(4), R(4)},
	[17] = {B},
	[18] = {R(2), R(20)},
	[19] = {R(20)},
	[20] = {N(2), S, C(TYPE_DEF_OR_REF)},
	[21] = {R(2), R(23)},
	[22] = {R(23)},
	[23] = {N(2), S, B},
	[24] = {N(2), R(6), C(HAS_SEMANTICS)},
	[25] = {R(2), C(METHOD_DEF_OR_REF), C(METHOD_DEF_OR_REF)},
	[26] = {S},
	[27] = {B},
	[28] = {N(2), C(MEMBER_FORWARDED), S, R(26)},
	[29] = {N(4), R(4)},
	[30] = {N(4), N(4)},
	[31] = {N(4)},
	[32] = {N(4), N(8), N(4), B, S, S},
	[33] = {N(4)},
	[34] = {N(12)},
	[35] = {N(8), N(4), B, S, S, B},
	[36] = {N(4), R(35)},
	[37] = {N(12), R(35)},
	[38] = {N(4), S, B},
	[39] = {N(8), S, S, C(IMPLEMENTATION)},
	[40] = {N(8), S, C(IMPLEMENTATION)},
	[41] = {R(2), R(2)},
	[42] = {N(4), C(TYPE_OR_METHOD), S},
	[43] = {C(METHOD_DEF_OR_REF), B},
	[44] = {R(42), C(TYPE_DEF_OR_REF)},
};
#undef N
#undef S
#undef G
#undef B
#undef R
#undef C

struct tables {
	uint32_t rows[64];
	uint8_t heaps; /* bits: 0 #Strings, 1 #GUID, 2 #Blob are indexed with four bytes */
};

static uint8_t coded_width(const struct tables *tables, uint32_t which)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < DOTNET_TABLES; i++) {
		if (coded[which].tables >> i & 1)
			most = EP_MAX(most, tables->rows[i]);
	}
	return most >= 1u << (16 - coded[which].bits) ? 4 : 2;
}

static uint8_t column_width(const struct tables *tables, const struct column *column)
{
	switch (column->kind) {
	case FIXED:
		return column->what;
	case STRING:
		return tables->heaps & 1 ? 4 : 2;
	case GUID:
		return tables->heaps & 2 ? 4 : 2;
	case BLOB:
		return tables->heaps & 4 ? 4 : 2;
	case ROW:
		return tables->rows[column->what] >= 1u << 16 ? 4 : 2;
	case CODED:
		return coded_width(tables, column->what);
	default:
		return 0;
	}
}

/* Of a table whose columns `first` and `second` are looked at. */
static struct dotnet_table lay_out(const struct tables *tables, uint32_t table, uint64_t addr, uint32_t first,
				   uint32_t second)
{
	struct dotnet_table found = {.addr = addr, .n = tables->rows[table]};

	for (uint32_t i = 0; i < COLUMNS; i++) {
		uint8_t width = column_width(tables, &columns[table][i]);

		for (uint32_t j = 0; j < 2; j++) {
			if (i == (j ? second : first)) {
				found.at[j] = found.bytes;
				found.width[j] = width;
			}
		}
		found.bytes = (uint8_t)(found.bytes + width);
	}
	return found;
}

/* --- the root, and its streams ------------------------------------------------------------------------------ */

struct streams {
	uint64_t tables, strings;
	uint32_t strings_bytes;
	bool is_unoptimized; /* "#-" */
};

/* II.24.2.1 and II.24.2.2. Headers have a name each, padded to four bytes. */
static int read_streams(const struct dotnet_reader *reader, uint64_t addr, struct streams *ret)
{
	uint8_t root[16], bytes[MAX_STREAMS * 40];
	uint32_t version, n, at = 4;
	size_t read;
	int r = memory_read(&reader->memory, addr, root, sizeof(root));

	if (r < 0)
		return r;
	version = ep_get_u32(root + 12);
	if (memcmp(root, "BSJB", 4) != 0 || version > MAX_VERSION_BYTES)
		return -EBADMSG;
	r = memory_read_head(&reader->memory, addr + 16 + version, bytes, sizeof(bytes), &read);
	if (r < 0)
		return r;
	n = EP_MIN(bytes[2] | (uint32_t)bytes[3] << 8, (uint32_t)MAX_STREAMS);
	*ret = (struct streams){0};
	for (uint32_t i = 0; i < n && at + 40 <= sizeof(bytes); i++) {
		const char *name = (const char *)bytes + at + 8;
		uint64_t stream = addr + ep_get_u32(bytes + at);
		size_t len = strnlen(name, 32);

		if (strcmp(name, "#~") == 0 || strcmp(name, "#-") == 0) {
			ret->tables = stream;
			ret->is_unoptimized = name[1] == '-';
		} else if (len < 32 && strcmp(name, "#Strings") == 0) {
			ret->strings = stream;
			ret->strings_bytes = ep_get_u32(bytes + at + 4);
		}
		at += 8 + (uint32_t)EP_ALIGN_UP(len + 1, 4);
	}
	return ret->tables && ret->strings ? 0 : -EBADMSG;
}

/* II.24.2.6. */
static int read_tables(const struct dotnet_reader *reader, const struct streams *streams, struct tables *ret,
		       uint64_t *ret_rows)
{
	uint8_t head[24];
	uint32_t counts[64], n = 0;
	uint64_t valid;
	int r = memory_read(&reader->memory, streams->tables, head, sizeof(head));

	if (r < 0)
		return r;
	valid = ep_get_u64(head + 8);
	*ret = (struct tables){.heaps = head[6]};
	r = memory_read(&reader->memory, streams->tables + sizeof(head), counts,
			4 * (size_t)__builtin_popcountll(valid));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < 64; i++) {
		if (!(valid >> i & 1))
			continue;
		ret->rows[i] = counts[n++];
		if (i >= DOTNET_TABLES || ret->rows[i] > MAX_ROWS)
			return -EBADMSG;
	}
	/* Rows lie elsewhere than their number says: while it is edited. */
	if (ret->rows[FIELD_POINTER] || ret->rows[METHOD_POINTER])
		return -EBADMSG;
	*ret_rows = streams->tables + sizeof(head) + 4 * n + (head[6] & 0x40 ? 4 : 0);
	return 0;
}

int dotnet_metadata_read(const struct dotnet_reader *reader, uint64_t addr, struct dotnet_metadata *ret)
{
	struct streams streams;
	struct tables tables;
	uint64_t at;
	int r = read_streams(reader, addr, &streams);

	if (r == 0)
		r = read_tables(reader, &streams, &tables, &at);
	if (r < 0)
		return r;
	*ret = (struct dotnet_metadata){.strings = streams.strings, .strings_bytes = streams.strings_bytes};
	for (uint32_t i = 0; i < DOTNET_TABLES; i++) {
		struct dotnet_table table = lay_out(&tables, i, at, i == METHOD_DEF ? 3 : i == TYPE_DEF ? 1 : 0,
						    i == TYPE_DEF ? 2 : 1);

		if (i == TYPE_DEF)
			ret->types = table;
		else if (i == METHOD_DEF)
			ret->methods = table;
		else if (i == NESTED_CLASS)
			ret->nested = table;
		at += (uint64_t)table.n * table.bytes;
	}
	return 0;
}

/* --- rows and names ------------------------------------------------------------------------------------------- */

struct row {
	uint32_t flags; /* its first four bytes */
	uint32_t columns[2];
};

static int read_row(const struct dotnet_reader *reader, const struct dotnet_table *table, uint32_t rid,
		    struct row *ret)
{
	uint8_t bytes[UINT8_MAX + 1] = {0};
	int r;

	if (rid < 1 || rid > table->n)
		return -EBADMSG;
	r = memory_read(&reader->memory, table->addr + (uint64_t)(rid - 1) * table->bytes, bytes, table->bytes);
	if (r < 0)
		return r;
	ret->flags = ep_get_u32(bytes);
	for (uint32_t i = 0; i < 2; i++) {
		const uint8_t *at = bytes + table->at[i];

		ret->columns[i] = table->width[i] == 4 ? ep_get_u32(at) : (uint32_t)(at[0] | at[1] << 8);
	}
	return 0;
}

/* `raw`: else without the number of type parameters behind a name. */
static int put_string(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata, uint32_t index,
		      bool raw, struct text_writer *writer)
{
	char text[NAME_BYTES];
	size_t len;
	int r;

	if (index >= metadata->strings_bytes)
		return -EBADMSG;
	r = memory_read_string(&reader->memory, metadata->strings + index, text, sizeof(text), 64);
	if (r < 0)
		return r;
	len = strlen(text);
	if (!raw) {
		const char *tick = strrchr(text, '`');

		if (tick && tick[1] && strspn(tick + 1, "0123456789") == strlen(tick + 1))
			len = (size_t)(tick - text);
	}
	text_put_utf8(writer, (const uint8_t *)text, len);
	return 0;
}

int dotnet_metadata_method(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
			   uint32_t rid, struct text_writer *writer)
{
	struct row row;
	int r = read_row(reader, &metadata->methods, rid, &row);

	return r == 0 ? put_string(reader, metadata, row.columns[0], true, writer) : r;
}

/* The type that a nested one is in: the table is sorted. 0: none. */
static int find_enclosing(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
			  uint32_t rid, uint32_t *ret)
{
	uint32_t lo = 1, n = metadata->nested.n;
	struct row row;

	*ret = 0;
	while (n) {
		int r = read_row(reader, &metadata->nested, lo + n / 2, &row);

		if (r < 0)
			return r;
		if (row.columns[0] == rid)
			*ret = row.columns[1];
		if (row.columns[0] <= rid) {
			lo += n / 2 + 1;
			n -= n / 2 + 1;
		} else {
			n /= 2;
		}
	}
	return 0;
}

int dotnet_metadata_type(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
			 uint32_t rid, bool raw, struct text_writer *writer)
{
	struct row rows[MAX_NESTED];
	uint32_t n = 0;
	int r;

	for (;;) {
		r = read_row(reader, &metadata->types, rid, &rows[n]);
		if (r < 0)
			return r;
		if ((rows[n++].flags & TYPE_VISIBILITY) < TYPE_NESTED)
			break;
		if (n == MAX_NESTED)
			return -EBADMSG;
		r = find_enclosing(reader, metadata, rid, &rid);
		if (r < 0)
			return r;
		if (!rid)
			return -EBADMSG;
	}
	if (rows[n - 1].columns[1]) {
		r = put_string(reader, metadata, rows[n - 1].columns[1], true, writer);
		if (r < 0)
			return r;
		text_put(writer, '.');
	}
	while (n--) {
		r = put_string(reader, metadata, rows[n].columns[0], raw, writer);
		if (r < 0)
			return r;
		if (n)
			text_put(writer, raw ? '+' : '.');
	}
	return 0;
}

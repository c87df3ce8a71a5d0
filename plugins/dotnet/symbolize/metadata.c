/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/symbolize/metadata.h"

#include "core/base/util.h"

#include <errno.h>
#include <string.h>

#define MAX_VERSION_BYTES 256
#define MAX_STREAMS	  8
#define MAX_ROWS	  (1u << 24) /* a token has 24 bits */

enum table {
	TYPE_REF = 1,
	TYPE_DEF = 2,
	FIELD_POINTER = 3,
	METHOD_POINTER = 5,
	METHOD_DEF = 6,
	NESTED_CLASS = 41,
	GENERIC_PARAM = 42,
	DOCUMENT = 48,
	METHOD_DEBUG = 49,
};

/* What is needed of which tables, which ascend: columns, and where it is put. */
#define NO_COLUMN 255
static const struct {
	uint8_t table, columns[3];
	size_t at;
} wanted[] = {
#define AT(member) offsetof(struct dotnet_metadata, member)
	{TYPE_REF, {0, 1, 2}, AT(refs)},
	{TYPE_DEF, {1, 2, NO_COLUMN}, AT(types)},
	{METHOD_DEF, {3, 4, NO_COLUMN}, AT(methods)},
	{NESTED_CLASS, {0, 1, NO_COLUMN}, AT(nested)},
	{GENERIC_PARAM, {1, 2, NO_COLUMN}, AT(generics)},
	{DOCUMENT, {0, NO_COLUMN, NO_COLUMN}, AT(documents)},
	{METHOD_DEBUG, {0, 1, NO_COLUMN}, AT(points)},
#undef AT
};

/* --- how wide rows are ---------------------------------------------------------------------- */

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
	TYPE_DEF_OR_REF,
	HAS_CONSTANT,
	HAS_ATTRIBUTE,
	HAS_MARSHAL,
	HAS_SECURITY,
	MEMBER_PARENT,
	HAS_SEMANTICS,
	METHOD_DEF_OR_REF,
	MEMBER_FORWARDED,
	IMPLEMENTATION,
	ATTRIBUTE_TYPE,
	RESOLUTION_SCOPE,
	TYPE_OR_METHOD,
};

/* Bits of the tag, and the tables that it tells apart. */
static const struct {
	uint8_t bits;
	uint64_t tables;
} coded[] = {
#define T(n) (1ull << (n))
	[TYPE_DEF_OR_REF] = {2, T(2) | T(1) | T(27)},
	[HAS_CONSTANT] = {2, T(4) | T(8) | T(23)},
	[HAS_ATTRIBUTE] = {5, T(6) | T(4) | T(1) | T(2) | T(8) | T(9) | T(10) | T(0) | T(14) |
				      T(23) | T(20) | T(17) | T(26) | T(27) | T(32) | T(35) |
				      T(38) | T(39) | T(40) | T(42) | T(43) | T(44)},
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
	/* docs/specs/PortablePdb-Metadata.md of dotnet/runtime, v1.0; 55, the last one, is not laid
	   out */
	[48] = {B, G, B, G},
	[49] = {R(48), B},
	[50] = {R(6), R(53), R(51), R(52), N(8)},
	[51] = {N(4), S},
	[52] = {S, B},
	[53] = {R(53), B},
	[54] = {R(6), R(6)},
};
#undef N
#undef S
#undef G
#undef B
#undef R
#undef C

struct tables {
	uint32_t n[64];	   /* rows that are here */
	uint32_t rows[64]; /* and those that decide how wide an index is: a PDB's also of its
			      assembly's tables */
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

static struct dotnet_table lay_out(const struct tables *tables, uint32_t table, uint64_t addr,
				   const uint8_t wanted_columns[3])
{
	struct dotnet_table found = {.addr = addr, .n = tables->n[table]};

	for (uint32_t i = 0; i < COLUMNS; i++) {
		uint8_t width = column_width(tables, &columns[table][i]);

		for (uint32_t j = 0; j < 3; j++) {
			if (i == wanted_columns[j]) {
				found.at[j] = found.bytes;
				found.width[j] = width;
			}
		}
		found.bytes = (uint8_t)(found.bytes + width);
	}
	return found;
}

/* --- the root, and its streams -------------------------------------------------------------- */

/* II.24.2.1 and II.24.2.2. Headers have a name each, padded to four bytes. *ret_tables: address. */
static int read_streams(const struct dotnet_reader *reader, uint64_t addr,
			struct dotnet_metadata *ret, uint64_t *ret_tables)
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
	*ret = (struct dotnet_metadata){0};
	*ret_tables = 0;
	for (uint32_t i = 0; i < n && at + 40 <= sizeof(bytes); i++) {
		const char *name = (const char *)bytes + at + 8;
		uint64_t stream = addr + ep_get_u32(bytes + at);
		size_t len = strnlen(name, 32);

		if (strcmp(name, "#~") == 0 || strcmp(name, "#-") == 0) {
			*ret_tables = stream;
		} else if (len < 32 && strcmp(name, "#Strings") == 0) {
			ret->strings = stream;
			ret->strings_bytes = ep_get_u32(bytes + at + 4);
		} else if (strcmp(name, "#Blob") == 0) {
			ret->blobs = stream;
			ret->blobs_bytes = ep_get_u32(bytes + at + 4);
		} else if (strcmp(name, "#Pdb") == 0) {
			ret->pdb = stream;
		}
		at += 8 + (uint32_t)EP_ALIGN_UP(len + 1, 4);
	}
	return *ret_tables && ret->strings ? 0 : -EBADMSG;
}

/* How many rows each table has that there is: `valid` has its bit. */
static int read_counts(const struct dotnet_reader *reader, uint64_t addr, uint64_t valid,
		       uint32_t rows[64])
{
	uint32_t counts[64], n = 0;
	int r = memory_read(&reader->memory, addr, counts, 4 * (size_t)__builtin_popcountll(valid));

	for (uint32_t i = 0; r == 0 && i < 64; i++) {
		if (!(valid >> i & 1))
			continue;
		rows[i] = counts[n++];
		if (i > DOTNET_TABLES || rows[i] > MAX_ROWS)
			r = -EBADMSG;
	}
	return r;
}

/* II.24.2.6. */
static int read_tables(const struct dotnet_reader *reader, uint64_t addr, struct tables *ret,
		       uint64_t *ret_rows)
{
	uint8_t head[24];
	uint64_t valid;
	int r = memory_read(&reader->memory, addr, head, sizeof(head));

	if (r < 0)
		return r;
	addr += sizeof(head);
	*ret = (struct tables){.heaps = head[6]};
	valid = ep_get_u64(head + 8);
	r = read_counts(reader, addr, valid, ret->n);
	/* Rows lie elsewhere than their number says: while it is edited. */
	if (r == 0 && (ret->n[FIELD_POINTER] || ret->n[METHOD_POINTER]))
		return -EBADMSG;
	memcpy(ret->rows, ret->n, sizeof(ret->rows));
	*ret_rows = addr + 4ull * (uint32_t)__builtin_popcountll(valid) + (head[6] & 0x40 ? 4 : 0);
	return r;
}

int dotnet_metadata_read(const struct dotnet_reader *reader, uint64_t addr,
			 struct dotnet_metadata *ret)
{
	struct tables tables;
	struct dotnet_metadata metadata;
	uint64_t at, referenced = 0, pdb;
	int r = read_streams(reader, addr, &metadata, &at);

	if (r == 0)
		r = read_tables(reader, at, &tables, &at);
	pdb = metadata.pdb + DOTNET_PDB_ID_BYTES +
	      4; /* after an entry point: the assembly's tables */
	if (r == 0 && metadata.pdb)
		r = memory_read(&reader->memory, pdb, &referenced, sizeof(referenced));
	if (r == 0 && referenced)
		r = read_counts(reader, pdb + sizeof(referenced), referenced, tables.rows);
	if (r < 0)
		return r;
	*ret = metadata;
	for (uint32_t i = 0, j = 0; i < DOTNET_TABLES; i++) {
		bool is_wanted = j < EP_LEN(wanted) && wanted[j].table == i;
		struct dotnet_table table =
			lay_out(&tables, i, at, wanted[is_wanted ? j : 0].columns);

		if (is_wanted)
			*(struct dotnet_table *)((char *)ret + wanted[j++].at) = table;
		at += (uint64_t)table.n * table.bytes;
	}
	return 0;
}

/* --- rows and heaps ------------------------------------------------------------------------- */

int dotnet_metadata_row(const struct dotnet_reader *reader, const struct dotnet_table *table,
			uint32_t rid, struct dotnet_row *ret)
{
	uint8_t bytes[UINT8_MAX + 1] = {0};
	int r;

	if (rid < 1 || rid > table->n)
		return -EBADMSG;
	r = memory_read(&reader->memory, table->addr + (uint64_t)(rid - 1) * table->bytes, bytes,
			table->bytes);
	if (r < 0)
		return r;
	ret->flags = ep_get_u32(bytes);
	for (uint32_t i = 0; i < 3; i++) {
		const uint8_t *at = bytes + table->at[i];

		ret->columns[i] =
			table->width[i] == 4 ? ep_get_u32(at) : (uint32_t)(at[0] | at[1] << 8);
	}
	return 0;
}

int dotnet_metadata_blob(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
			 uint32_t index, struct dotnet_bytes *ret)
{
	uint32_t n;

	if (index >= metadata->blobs_bytes)
		return -EBADMSG;
	dotnet_bytes_init(ret, &reader->memory, metadata->blobs + index,
			  metadata->blobs_bytes - index);
	n = dotnet_compressed(ret);
	if (ret->result < 0 || n > dotnet_bytes_left(ret))
		return ret->result < 0 ? ret->result : -EBADMSG;
	/* What is read is not read again. */
	dotnet_bytes_limit(ret, n);
	return 0;
}

int dotnet_metadata_string(const struct dotnet_reader *reader,
			   const struct dotnet_metadata *metadata, uint32_t index, char *buf,
			   size_t size)
{
	if (index >= metadata->strings_bytes)
		return -EBADMSG;
	return memory_read_string(&reader->memory, metadata->strings + index, buf, size, 64);
}

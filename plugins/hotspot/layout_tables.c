/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/layout_tables.h"

#include "core/base/util.h"
#include "plugins/hotspot/layout_strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS     8192 /* of a table; about 850 in 8 to 28 */
#define MAX_STRIDE   256
#define MAX_FLAGS    16384 /* about 1500 in 8 to 28 */
#define MAX_NAME     128
#define MAX_STRINGS  20000 /* that are read from one process */
#define WINDOW_BYTES 16384u
#define PAGE	     4096u

/* --- what is wanted --------------------------------------------------------------------------- */

enum want_kind { WANT_FIELD, WANT_STATIC, WANT_SIZE, WANT_CONSTANT };

static const struct want {
	const char *type, *name;
	uint8_t kind;
	uint16_t id;
} wants[] = {
#define HOTSPOT_FIELD(member, type, field) {type, field, WANT_FIELD, HOTSPOT_F_##member},
#define HOTSPOT_ALSO(member, type, field) {type, field, WANT_FIELD, HOTSPOT_F_##member},
#define HOTSPOT_STATIC(member, type, field) {type, field, WANT_STATIC, HOTSPOT_S_##member},
#define HOTSPOT_ALSO_STATIC(member, type, field) {type, field, WANT_STATIC, HOTSPOT_S_##member},
#define HOTSPOT_SIZE(member, type) {type, NULL, WANT_SIZE, HOTSPOT_Z_##member},
#define HOTSPOT_CONSTANT(member, name) {NULL, name, WANT_CONSTANT, HOTSPOT_C_##member},
#include "plugins/hotspot/fields.def"
};
#define N_WANTS EP_LEN(wants)

static const char *const flag_names[] = {"DebugNonSafepoints"};

#define MAX_NAMES (2 * N_WANTS + EP_LEN(flag_names))

/* The file's variables that say how tables are laid out, each a uint64_t: "gHotSpotVM" and a
 * name. */
#define VARIABLES(X)                                                                               \
	X(STRUCTS, "Structs")                                                                      \
	X(STRUCT_TYPE, "StructEntryTypeNameOffset")                                                \
	X(STRUCT_FIELD, "StructEntryFieldNameOffset")                                              \
	X(STRUCT_STRING, "StructEntryTypeStringOffset")                                            \
	X(STRUCT_STATIC, "StructEntryIsStaticOffset")                                              \
	X(STRUCT_OFFSET, "StructEntryOffsetOffset")                                                \
	X(STRUCT_ADDRESS, "StructEntryAddressOffset")                                              \
	X(STRUCT_STRIDE, "StructEntryArrayStride")                                                 \
	X(TYPES, "Types")                                                                          \
	X(TYPE_NAME, "TypeEntryTypeNameOffset")                                                    \
	X(TYPE_INTEGER, "TypeEntryIsIntegerTypeOffset")                                            \
	X(TYPE_UNSIGNED, "TypeEntryIsUnsignedOffset")                                              \
	X(TYPE_SIZE, "TypeEntrySizeOffset")                                                        \
	X(TYPE_STRIDE, "TypeEntryArrayStride")                                                     \
	X(INTS, "IntConstants")                                                                    \
	X(INT_NAME, "IntConstantEntryNameOffset")                                                  \
	X(INT_VALUE, "IntConstantEntryValueOffset")                                                \
	X(INT_STRIDE, "IntConstantEntryArrayStride")                                               \
	X(LONGS, "LongConstants")                                                                  \
	X(LONG_NAME, "LongConstantEntryNameOffset")                                                \
	X(LONG_VALUE, "LongConstantEntryValueOffset")                                              \
	X(LONG_STRIDE, "LongConstantEntryArrayStride")

enum variable {
#define VARIABLE(id, name) V_##id,
	VARIABLES(VARIABLE)
#undef VARIABLE
	N_VARIABLES,
};

static const char *const variable_names[N_VARIABLES] = {
#define VARIABLE(id, name) "gHotSpotVM" name,
	VARIABLES(VARIABLE)
#undef VARIABLE
};

/* --- a file ----------------------------------------------------------------------------------- */

struct hotspot_tables {
	uint64_t vas[N_VARIABLES];
	const char *names[MAX_NAMES]; /* ascending, each once */
	size_t n_names;
	/* Names of the wants; HOTSPOT_NO_NAME: any. */
	uint16_t want_types[N_WANTS], want_names[N_WANTS];
	struct hotspot_places places; /* of the names */
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static uint16_t find_name(const struct hotspot_tables *tables, const char *name)
{
	const char *const *found;

	if (!name)
		return HOTSPOT_NO_NAME;
	found = bsearch(&name, tables->names, tables->n_names, sizeof(*tables->names),
			compare_names);
	return found ? (uint16_t)(found - tables->names) : HOTSPOT_NO_NAME;
}

static void collect_names(struct hotspot_tables *tables)
{
	const char **names = tables->names;
	size_t n = 0, unique = 0;

	for (size_t i = 0; i < N_WANTS; i++) {
		if (wants[i].type)
			names[n++] = wants[i].type;
		if (wants[i].name)
			names[n++] = wants[i].name;
	}
	for (size_t i = 0; i < EP_LEN(flag_names); i++)
		names[n++] = flag_names[i];
	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 0; i < n; i++) {
		if (unique == 0 || strcmp(names[unique - 1], names[i]) != 0)
			names[unique++] = names[i];
	}
	tables->n_names = unique;
	for (size_t i = 0; i < N_WANTS; i++) {
		tables->want_types[i] = find_name(tables, wants[i].type);
		tables->want_names[i] = find_name(tables, wants[i].name);
	}
}

int hotspot_tables_find(const struct ep_unwinder_host *host, const struct ep_file *file,
			struct hotspot_tables **ret)
{
	struct hotspot_tables *tables;
	struct ep_symbol symbol;

	if (host->file_symbol(file, variable_names[0], &symbol) < 0)
		return EP_NOT_MINE;
	tables = calloc(1, sizeof(*tables));
	if (!tables)
		return -ENOMEM;
	for (size_t i = 0; i < N_VARIABLES; i++) {
		if (host->file_symbol(file, variable_names[i], &symbol) < 0) {
			hotspot_tables_free(tables);
			return -ENODATA;
		}
		tables->vas[i] = symbol.va;
	}
	collect_names(tables);
	hotspot_places_find(host, file, tables->names, tables->n_names, &tables->places);
	*ret = tables;
	return 0;
}

void hotspot_tables_free(struct hotspot_tables *tables)
{
	if (!tables)
		return;
	hotspot_places_fini(&tables->places);
	free(tables);
}

/* --- a process -------------------------------------------------------------------------------- */

/* What one want's row says. */
struct answer {
	bool found;
	uint64_t type_string; /* address of the field type's name */
	uint64_t value;	      /* offset, or address of a static */
	uint32_t bytes;
	bool is_signed;
};

struct reader {
	const struct hotspot_tables *tables;
	const struct memory *memory;
	uint64_t bias;
	uint64_t vars[N_VARIABLES];
	uint32_t n_strings;
	int string_error; /* not an answer: the process is gone */
	struct answer answers[N_WANTS];
	struct hotspot_layout *layout;
	uint64_t window_addr;
	size_t window_bytes;
	uint8_t window[WINDOW_BYTES];
};

/* False: nothing can be read there. */
static bool read_string(struct reader *reader, uint64_t addr, char text[MAX_NAME])
{
	int r;

	if (!addr || reader->n_strings == MAX_STRINGS)
		return false;
	reader->n_strings++;
	r = memory_read_string(reader->memory, addr, text, MAX_NAME, MEMORY_PAGE);
	if (r < 0) /* not a row less: what it says would be missing without a word */
		reader->string_error = r;
	return r == 0;
}

/* Which of the names is at an address; HOTSPOT_NO_NAME: another. */
static uint16_t name_at(struct reader *reader, uint64_t addr)
{
	const struct hotspot_tables *tables = reader->tables;
	char text[MAX_NAME];
	uint16_t name;

	if (hotspot_places_know(&tables->places, addr - reader->bias, &name))
		return name;
	return read_string(reader, addr, text) ? find_name(tables, text) : HOTSPOT_NO_NAME;
}

/* A window of memory that begins with a row: as much as there is. */
static int read_window(struct reader *reader, uint64_t addr, size_t stride)
{
	uint64_t end = EP_ALIGN_DOWN(addr + WINDOW_BYTES, (uint64_t)PAGE);
	int r = memory_read(reader->memory, addr, reader->window, end - addr);

	if (r == -EFAULT) {
		end = EP_ALIGN_UP(addr + stride, PAGE);
		r = memory_read(reader->memory, addr, reader->window, end - addr);
	}
	if (r == 0) {
		reader->window_addr = addr;
		reader->window_bytes = end - addr;
	}
	return r;
}

static int row_at(struct reader *reader, uint64_t addr, size_t stride, const uint8_t **ret)
{
	uint64_t off = addr - reader->window_addr;
	int r = 0;

	if (addr < reader->window_addr || !ep_in_bounds(off, stride, reader->window_bytes)) {
		if (addr > UINT64_MAX - 2 * WINDOW_BYTES)
			return -EFAULT;
		r = read_window(reader, addr, stride);
		off = 0;
	}
	if (r == 0)
		*ret = reader->window + off;
	return r;
}

static uint64_t word_at(const struct reader *reader, const uint8_t *row, enum variable offset)
{
	uint64_t value;

	memcpy(&value, row + reader->vars[offset], sizeof(value));
	return value;
}

static int32_t int_at(const struct reader *reader, const uint8_t *row, enum variable offset)
{
	int32_t value;

	memcpy(&value, row + reader->vars[offset], sizeof(value));
	return value;
}

/* All rows of a table, up to the one whose name (of its type) is NULL. */
static int visit_rows(struct reader *reader, enum variable table, enum variable name,
		      enum variable stride,
		      void (*visit)(struct reader *reader, const uint8_t *row))
{
	uint64_t addr = reader->vars[table];
	const uint8_t *row = NULL;

	reader->window_bytes = 0;
	for (uint32_t i = 0; i < MAX_ROWS; i++, addr += reader->vars[stride]) {
		int r = row_at(reader, addr, reader->vars[stride], &row);

		if (r < 0)
			return r;
		if (!word_at(reader, row, name))
			return i ? 0 : EP_NOT_YET;
		visit(reader, row);
	}
	return -EBADMSG;
}

static void visit_struct(struct reader *reader, const uint8_t *row)
{
	const struct hotspot_tables *tables = reader->tables;
	uint16_t type = name_at(reader, word_at(reader, row, V_STRUCT_TYPE));
	uint16_t field = HOTSPOT_NO_NAME;
	bool is_static;

	if (type != HOTSPOT_NO_NAME)
		field = name_at(reader, word_at(reader, row, V_STRUCT_FIELD));
	if (field == HOTSPOT_NO_NAME)
		return;
	is_static = int_at(reader, row, V_STRUCT_STATIC) != 0;
	for (size_t i = 0; i < N_WANTS; i++) {
		struct answer *answer = &reader->answers[i];

		if (tables->want_types[i] != type || tables->want_names[i] != field ||
		    is_static != (wants[i].kind == WANT_STATIC) || answer->found)
			continue;
		answer->found = true;
		answer->type_string = word_at(reader, row, V_STRUCT_STRING);
		answer->value =
			word_at(reader, row, is_static ? V_STRUCT_ADDRESS : V_STRUCT_OFFSET);
	}
}

/* The type's own size, and that of fields which have it. */
static void visit_type(struct reader *reader, const uint8_t *row)
{
	uint64_t name = word_at(reader, row, V_TYPE_NAME);
	uint64_t bytes = word_at(reader, row, V_TYPE_SIZE);
	uint16_t type = name_at(reader, name);

	for (size_t i = 0; i < N_WANTS; i++) {
		struct answer *answer = &reader->answers[i];

		if (wants[i].kind == WANT_SIZE && type != HOTSPOT_NO_NAME &&
		    reader->tables->want_types[i] == type && bytes <= UINT16_MAX)
			reader->layout->sizes[wants[i].id] = (uint32_t)bytes;
		if (wants[i].kind != WANT_FIELD || answer->type_string != name)
			continue;
		answer->bytes = bytes <= UINT16_MAX ? (uint32_t)bytes : 0;
		answer->is_signed = int_at(reader, row, V_TYPE_INTEGER) &&
				    !int_at(reader, row, V_TYPE_UNSIGNED);
	}
}

static void add_constant(struct reader *reader, uint64_t name_addr, int64_t value)
{
	uint16_t name = name_at(reader, name_addr);

	for (size_t i = 0; name != HOTSPOT_NO_NAME && i < N_WANTS; i++) {
		if (wants[i].kind != WANT_CONSTANT || reader->tables->want_names[i] != name)
			continue;
		reader->layout->constants[wants[i].id] = value;
		reader->layout->has_constant[wants[i].id] = true;
	}
}

static void visit_int(struct reader *reader, const uint8_t *row)
{
	add_constant(reader, word_at(reader, row, V_INT_NAME), int_at(reader, row, V_INT_VALUE));
}

static void visit_long(struct reader *reader, const uint8_t *row)
{
	add_constant(reader, word_at(reader, row, V_LONG_NAME),
		     (int64_t)word_at(reader, row, V_LONG_VALUE));
}

/* Types of fields that are no rows of gHotSpotVMTypes: pointers, and those with a `volatile`. */
static void read_type_string(struct reader *reader, struct answer *answer)
{
	static const struct {
		const char *name;
		uint8_t bytes, is_signed;
	} types[] = {
		{"char", 1, 1},	      {"signed char", 1, 1},	{"unsigned char", 1, 0},
		{"bool", 1, 0},	      {"short", 2, 1},		{"unsigned short", 2, 0},
		{"u1", 1, 0},	      {"u2", 2, 0},		{"u4", 4, 0},
		{"u8", 8, 0},	      {"int8_t", 1, 1},		{"uint8_t", 1, 0},
		{"int16_t", 2, 1},    {"uint16_t", 2, 0},	{"int32_t", 4, 1},
		{"uint32_t", 4, 0},   {"int64_t", 8, 1},	{"uint64_t", 8, 0},
		{"int", 4, 1},	      {"unsigned int", 4, 0},	{"uint", 4, 0},
		{"long", 8, 1},	      {"unsigned long", 8, 0},	{"size_t", 8, 0},
		{"address", 8, 0},    {"jint", 4, 1},		{"jbyte", 1, 1},
		{"CompLevel", 1, 1},  {"CodeBlobKind", 1, 0},
	};
	char text[MAX_NAME], *name = text;
	size_t len;

	if (!read_string(reader, answer->type_string, text))
		return;
	while (strncmp(name, "volatile ", 9) == 0 || strncmp(name, "const ", 6) == 0)
		name = strchr(name, ' ') + 1;
	len = strlen(name);
	if (len && name[len - 1] == '*') {
		answer->bytes = 8;
		return;
	}
	for (size_t i = 0; i < EP_LEN(types); i++) {
		if (strcmp(types[i].name, name) != 0)
			continue;
		answer->bytes = types[i].bytes;
		answer->is_signed = types[i].is_signed;
	}
}

static bool is_width(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* In the order of fields.def: where there are several places of a member, the first that is
 * there. */
static void fill_layout(struct reader *reader)
{
	struct hotspot_layout *layout = reader->layout;

	for (size_t i = 0; i < N_WANTS; i++) {
		struct answer *answer = &reader->answers[i];
		struct hotspot_member *member = &layout->fields[wants[i].id];

		if (!answer->found)
			continue;
		if (wants[i].kind == WANT_STATIC && !layout->statics[wants[i].id])
			layout->statics[wants[i].id] = answer->value;
		if (wants[i].kind != WANT_FIELD || member->has || answer->value > UINT16_MAX)
			continue;
		if (!answer->bytes)
			read_type_string(reader, answer);
		*member = (struct hotspot_member){
			.off = (uint16_t)answer->value,
			.bytes = is_width(answer->bytes) ? (uint8_t)answer->bytes : 0,
			.is_signed = is_width(answer->bytes) && answer->is_signed,
			.has = true,
		};
	}
}

/* Each offset is one within a row. */
static bool check_variables(const struct reader *reader)
{
	static const struct {
		uint8_t offset, stride, bytes;
	} checks[] = {
		{V_STRUCT_TYPE, V_STRUCT_STRIDE, 8},   {V_STRUCT_FIELD, V_STRUCT_STRIDE, 8},
		{V_STRUCT_STRING, V_STRUCT_STRIDE, 8}, {V_STRUCT_STATIC, V_STRUCT_STRIDE, 4},
		{V_STRUCT_OFFSET, V_STRUCT_STRIDE, 8}, {V_STRUCT_ADDRESS, V_STRUCT_STRIDE, 8},
		{V_TYPE_NAME, V_TYPE_STRIDE, 8},       {V_TYPE_INTEGER, V_TYPE_STRIDE, 4},
		{V_TYPE_UNSIGNED, V_TYPE_STRIDE, 4},   {V_TYPE_SIZE, V_TYPE_STRIDE, 8},
		{V_INT_NAME, V_INT_STRIDE, 8},	       {V_INT_VALUE, V_INT_STRIDE, 4},
		{V_LONG_NAME, V_LONG_STRIDE, 8},       {V_LONG_VALUE, V_LONG_STRIDE, 8},
	};

	for (size_t i = 0; i < EP_LEN(checks); i++) {
		uint64_t stride = reader->vars[checks[i].stride];

		if (stride > MAX_STRIDE ||
		    !ep_in_bounds(reader->vars[checks[i].offset], checks[i].bytes, stride))
			return false;
	}
	return true;
}

/*
 * Some are computed when the library is initialised, after it is mapped (the strides, and offsets
 * that are 0, are in .bss): until then a stride is 0.
 */
static int read_variables(struct reader *reader)
{
	for (size_t i = 0; i < N_VARIABLES; i++) {
		int r = memory_read(reader->memory, reader->bias + reader->tables->vas[i],
				    &reader->vars[i], sizeof(reader->vars[i]));

		if (r < 0)
			return r;
	}
	if (!reader->vars[V_STRUCTS] || !reader->vars[V_TYPES] || !reader->vars[V_INTS] ||
	    !reader->vars[V_LONGS] || !reader->vars[V_STRUCT_STRIDE] ||
	    !reader->vars[V_TYPE_STRIDE] || !reader->vars[V_INT_STRIDE] ||
	    !reader->vars[V_LONG_STRIDE])
		return EP_NOT_YET;
	return check_variables(reader) ? 0 : -EBADMSG;
}

static int read_tables(struct reader *reader)
{
	int r = read_variables(reader);

	if (r == 0)
		r = visit_rows(reader, V_STRUCTS, V_STRUCT_TYPE, V_STRUCT_STRIDE, visit_struct);
	if (r == 0)
		r = visit_rows(reader, V_TYPES, V_TYPE_NAME, V_TYPE_STRIDE, visit_type);
	if (r == 0)
		r = visit_rows(reader, V_INTS, V_INT_NAME, V_INT_STRIDE, visit_int);
	if (r == 0)
		r = visit_rows(reader, V_LONGS, V_LONG_NAME, V_LONG_STRIDE, visit_long);
	return r;
}

int hotspot_tables_read(const struct hotspot_tables *tables, const struct memory *memory,
			uint64_t bias, struct hotspot_layout *ret)
{
	ep_autofree struct reader *reader = calloc(1, sizeof(*reader));
	ep_autofree struct hotspot_layout *layout = calloc(1, sizeof(*layout));
	int r;

	if (!reader || !layout)
		return -ENOMEM;
	reader->tables = tables;
	reader->memory = memory;
	reader->bias = bias;
	reader->layout = layout;
	r = read_tables(reader);
	if (r != 0)
		return r;
	fill_layout(reader);
	if (reader->string_error)
		return reader->string_error;
	*ret = *layout;
	return 0;
}

/* --- flags ------------------------------------------------------------------------------------ */

static int find_flag(struct reader *reader, uint64_t table, uint64_t n, uint32_t stride,
		     uint16_t name, uint64_t *ret_addr)
{
	const struct hotspot_layout *layout = reader->layout;
	const struct hotspot_member *names = &layout->fields[HOTSPOT_F_flag_name];
	const struct hotspot_member *addrs = &layout->fields[HOTSPOT_F_flag_addr];
	const uint8_t *row = NULL;
	uint64_t text;

	for (uint64_t i = 0; i < n; i++) {
		int r = row_at(reader, table + i * stride, stride, &row);

		if (r < 0)
			return r;
		memcpy(&text, row + names->off, sizeof(text));
		memcpy(ret_addr, row + addrs->off, sizeof(*ret_addr));
		if (name_at(reader, text) == name)
			return 0;
	}
	return -ENODATA;
}

int hotspot_tables_flag(const struct hotspot_tables *tables, const struct memory *memory,
			uint64_t bias, const struct hotspot_layout *layout, const char *name,
			bool *ret)
{
	ep_autofree struct reader *reader = calloc(1, sizeof(*reader));
	uint32_t stride = layout->sizes[HOTSPOT_Z_flag_bytes];
	uint16_t wanted = find_name(tables, name);
	uint64_t table, n, addr;
	uint8_t value;
	int r;

	if (!reader)
		return -ENOMEM;
	if (!stride)
		stride = layout->sizes[HOTSPOT_Z_old_flag_bytes];
	if (wanted == HOTSPOT_NO_NAME || stride < 8 || stride > MAX_STRIDE ||
	    !hotspot_has(layout, HOTSPOT_F_flag_name) ||
	    !hotspot_has(layout, HOTSPOT_F_flag_addr) ||
	    hotspot_off(layout, HOTSPOT_F_flag_name) > stride - 8 ||
	    hotspot_off(layout, HOTSPOT_F_flag_addr) > stride - 8 ||
	    !layout->statics[HOTSPOT_S_flags] || !layout->statics[HOTSPOT_S_n_flags])
		return -ENODATA;
	*reader = (struct reader){.tables = tables, .memory = memory, .bias = bias};
	reader->layout = (struct hotspot_layout *)layout; /* not written */
	r = memory_read(memory, layout->statics[HOTSPOT_S_flags], &table, sizeof(table));
	if (r == 0)
		r = memory_read(memory, layout->statics[HOTSPOT_S_n_flags], &n, sizeof(n));
	if (r == 0)
		r = n > MAX_FLAGS ? -EBADMSG : find_flag(reader, table, n, stride, wanted, &addr);
	if (r == 0)
		r = memory_read(memory, addr, &value, sizeof(value));
	if (r == 0)
		*ret = value != 0;
	return r;
}

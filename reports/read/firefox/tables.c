/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries, and the tables of "shared": columns of numbers, which are checked against each other
 * before one is followed. A row of stacks is a frame and the row of its caller, which comes before
 * it in the table; a frame is a line of a location, and one with a depth greater than 0 is inlined
 * into its caller: both are one location.
 */
#include "core/base/parse.h"
#include "core/profile/tables.h"
#include "reports/read/firefox/profile.h"
#include "reports/read/shared/kind.h"

#include <errno.h>

#define BASE_ALIGN                                                                                 \
	0x10000 /* exporters/firefox/encode.c: where addresses in a library are counted from */
#define MAX_DEPTH  255	   /* of inlined frames: those that are deeper have this one */

static const struct {
	const char *table, *name;
	enum firefox_column first; /* of its table */
	enum firefox_column to;	   /* whose rows it holds; FIREFOX_COLUMNS: others */
} columns[FIREFOX_COLUMNS] = {
	[STACK_FRAME] = {"stackTable", "frame", STACK_FRAME, FRAME_FUNC},
	[STACK_PREFIX] = {"stackTable", "prefix", STACK_FRAME, FIREFOX_COLUMNS},
	[FRAME_FUNC] = {"frameTable", "func", FRAME_FUNC, FUNC_NAME},
	[FRAME_ADDRESS] = {"frameTable", "address", FRAME_FUNC, FIREFOX_COLUMNS},
	[FRAME_DEPTH] = {"frameTable", "inlineDepth", FRAME_FUNC, FIREFOX_COLUMNS},
	[FRAME_CATEGORY] = {"frameTable", "category", FRAME_FUNC, FIREFOX_COLUMNS},
	[FRAME_LINE] = {"frameTable", "line", FRAME_FUNC, FIREFOX_COLUMNS},
	[FRAME_COLUMN] = {"frameTable", "column", FRAME_FUNC, FIREFOX_COLUMNS},
	[FUNC_NAME] = {"funcTable", "name", FUNC_NAME, FIREFOX_COLUMNS},
	[FUNC_RESOURCE] = {"funcTable", "resource", FUNC_NAME, RESOURCE_LIB},
	[FUNC_SOURCE] = {"funcTable", "source", FUNC_NAME, SOURCE_FILE},
	[FUNC_LINE] = {"funcTable", "lineNumber", FUNC_NAME, FIREFOX_COLUMNS},
	[RESOURCE_LIB] = {"resourceTable", "lib", RESOURCE_LIB, FIREFOX_COLUMNS},
	[SOURCE_FILE] = {"sources", "filename", SOURCE_FILE, FIREFOX_COLUMNS},
};

static const char too_many[] = "a table of it has more rows than can be read";

int firefox_add_string(struct firefox_read *fx, const uint8_t *at, uint32_t *ret_string)
{
	struct ep_piece piece;
	struct ep_json json;

	if (!at)
		return 0;
	json = ep_json_at(&fx->json, at);
	if (ep_json_text(&json, &piece))
		return ep_profile_add_string(fx->builder, piece.text, piece.bytes, ret_string);
	fx->json = json;
	return 0;
}

/* --- columns --- */

static int read_column(struct firefox_read *fx, struct ep_vec *column)
{
	uint32_t row;
	int r = 0;

	ep_json_enter(&fx->json, '[');
	while (r == 0 && ep_json_more(&fx->json) && ep_json_row(&fx->json, &row))
		r = ep_vec_append(column, &row, 1);
	return r;
}

static int read_strings(struct firefox_read *fx)
{
	int r = 0;

	ep_json_enter(&fx->json, '[');
	while (r == 0 && ep_json_more(&fx->json)) {
		const uint8_t *at = ep_json_here(&fx->json);

		r = ep_vec_append(&fx->strings, &at, 1);
		ep_json_skip(&fx->json);
	}
	return r;
}

static enum firefox_column find_column(const char *table, struct ep_piece name)
{
	size_t i;

	for (i = 0; i < FIREFOX_COLUMNS; i++) {
		if (strcmp(columns[i].table, table) == 0 && ep_piece_is(name, columns[i].name))
			break;
	}
	return (enum firefox_column)i;
}

static int read_table(struct firefox_read *fx, const char *table)
{
	struct ep_piece key;
	int r = 0;

	ep_json_enter(&fx->json, '{');
	while (r == 0 && ep_json_key(&fx->json, &key)) {
		enum firefox_column column = find_column(table, key);

		if (column < FIREFOX_COLUMNS)
			r = read_column(fx, &fx->columns[column]);
		else
			ep_json_skip(&fx->json);
	}
	return r;
}

static int read_shared(struct firefox_read *fx)
{
	struct ep_piece key;
	int r = 0;

	fx->json = ep_json_at(&fx->json, fx->shared);
	ep_json_enter(&fx->json, '{');
	while (r == 0 && ep_json_key(&fx->json, &key)) {
		const char *table = NULL;

		for (size_t i = 0; i < FIREFOX_COLUMNS && !table; i++)
			table = ep_piece_is(key, columns[i].table) ? columns[i].table : NULL;
		if (table)
			r = read_table(fx, table);
		else if (ep_piece_is(key, "stringArray"))
			r = read_strings(fx);
		else
			ep_json_skip(&fx->json);
	}
	if (r == -E2BIG)
		ep_json_fail(&fx->json, too_many);
	return r;
}

/* Whether each row of a column is one of `n`, or none. */
static bool is_within(const struct ep_vec *column, size_t n)
{
	const uint32_t *row;

	ep_vec_each(column, row) {
		if (*row != EP_JSON_NONE && *row >= n)
			return false;
	}
	return true;
}

/* A column that cannot be null. */
static bool is_full(const struct ep_vec *column)
{
	const uint32_t *row;

	ep_vec_each(column, row) {
		if (*row == EP_JSON_NONE)
			return false;
	}
	return true;
}

static bool are_callers_first(const struct firefox_read *fx)
{
	for (uint32_t i = 0; i < firefox_rows(fx, STACK_PREFIX); i++) {
		uint32_t prefix = firefox_cell(fx, STACK_PREFIX, i);

		if (prefix != EP_JSON_NONE && prefix >= i)
			return false;
	}
	return true;
}

static bool fit_together(const struct firefox_read *fx)
{
	for (size_t i = 0; i < FIREFOX_COLUMNS; i++) {
		if (fx->columns[i].len != fx->columns[columns[i].first].len)
			return false;
		if (columns[i].to < FIREFOX_COLUMNS &&
		    !is_within(&fx->columns[i], fx->columns[columns[i].to].len))
			return false;
	}
	return is_full(&fx->columns[STACK_FRAME]) && is_full(&fx->columns[FRAME_FUNC]) &&
	       is_full(&fx->columns[FUNC_NAME]) &&
	       is_within(&fx->columns[FUNC_NAME], fx->strings.len) &&
	       is_within(&fx->columns[SOURCE_FILE], fx->strings.len) &&
	       is_within(&fx->columns[RESOURCE_LIB], fx->libs.len) &&
	       is_within(&fx->columns[FRAME_CATEGORY], fx->kinds.len) && are_callers_first(fx);
}

/* --- libraries --- */

/* "0x401000" */
static bool read_hex(struct ep_json *json, uint64_t *ret_number)
{
	struct ep_piece text;
	const char *at;

	if (!ep_json_text(json, &text))
		return false;
	at = text.text + 2;
	if (text.bytes > 2 && memcmp(text.text, "0x", 2) == 0 &&
	    ep_parse_u64(&at, text.text + text.bytes, 16, ret_number) == 0)
		return true;
	return ep_json_fail(json, "it is no address in hex digits");
}

static int read_own_lib(struct firefox_read *fx, struct ep_profile_mapping *mapping)
{
	struct ep_json *json = &fx->json;
	uint64_t flags = mapping->flags;
	struct ep_piece key;
	int r = 0;

	ep_json_enter(json, '{');
	while (r == 0 && ep_json_key(json, &key)) {
		if (ep_piece_is(key, "startVa")) {
			read_hex(json, &mapping->start_va);
		} else if (ep_piece_is(key, "limitVa")) {
			read_hex(json, &mapping->limit_va);
		} else if (ep_piece_is(key, "fileOffset")) {
			read_hex(json, &mapping->file_off);
		} else if (ep_piece_is(key, "flags")) {
			read_hex(json, &flags);
		} else if (ep_piece_is(key, "fileId")) {
			r = firefox_add_string(fx, ep_json_here(json), &mapping->file_id);
			ep_json_skip(json);
		} else {
			ep_json_skip(json);
		}
	}
	mapping->flags = (uint32_t)flags & (EP_MAPPING_KERNEL | EP_MAPPING_HAS_FUNCTIONS);
	return r;
}

static int read_lib(struct firefox_read *fx)
{
	struct ep_profile_mapping mapping = {.flags = EP_MAPPING_HAS_FUNCTIONS};
	struct firefox_lib lib = {0};
	struct ep_json *json = &fx->json;
	struct ep_piece key;
	int r = 0;

	ep_json_enter(json, '{');
	while (r == 0 && ep_json_key(json, &key)) {
		uint32_t *string = ep_piece_is(key, "path")     ? &mapping.path
				   : ep_piece_is(key, "codeId") ? &mapping.build_id
								: NULL;

		if (ep_piece_is(key, "ebpfProfiler")) {
			r = read_own_lib(fx, &mapping);
			continue;
		}
		if (string)
			r = firefox_add_string(fx, ep_json_here(json), string);
		ep_json_skip(json);
	}
	lib.base_va = EP_ALIGN_DOWN(mapping.start_va - mapping.file_off, (uint64_t)BASE_ALIGN);
	if (r == 0 && !json->why)
		r = ep_profile_add_mapping(fx->builder, &mapping, &lib.mapping);
	return r < 0 ? r : ep_vec_append(&fx->libs, &lib, 1);
}

static int read_libs(struct firefox_read *fx)
{
	int r = 0;

	fx->json = ep_json_at(&fx->json, fx->libs_at);
	ep_json_enter(&fx->json, '[');
	while (r == 0 && ep_json_more(&fx->json))
		r = read_lib(fx);
	if (r == -E2BIG)
		ep_json_fail(&fx->json, too_many);
	return r;
}

/* --- functions --- */

static const uint8_t *string_at(const struct firefox_read *fx, uint32_t string)
{
	return *ep_vec_at(&fx->strings, const uint8_t *, string);
}

static int copy_name(struct firefox_read *fx, uint32_t func, char text[FIREFOX_TEXT_BYTES])
{
	struct ep_json json =
		ep_json_at(&fx->json, string_at(fx, firefox_cell(fx, FUNC_NAME, func)));
	struct ep_piece piece;

	text[0] = '\0';
	if (ep_json_text(&json, &piece))
		ep_piece_copy(piece, text, FIREFOX_TEXT_BYTES);
	return json.has_no_memory ? -ENOMEM : 0;
}

static int add_func(struct firefox_read *fx, uint32_t row)
{
	uint32_t source = firefox_cell(fx, FUNC_SOURCE, row),
		 resource = firefox_cell(fx, FUNC_RESOURCE, row);
	uint32_t line = firefox_cell(fx, FUNC_LINE, row);
	struct ep_profile_function function = {.line = line == EP_JSON_NONE ? 0 : line};
	struct firefox_func func = {.lib = EP_JSON_NONE};
	struct ep_profile_location made_up = {0};
	char name[FIREFOX_TEXT_BYTES];
	uint32_t file;
	int r = firefox_add_string(fx, string_at(fx, firefox_cell(fx, FUNC_NAME, row)),
				   &function.name);

	function.system_name = function.name;
	if (r == 0 && source != EP_JSON_NONE) {
		file = firefox_cell(fx, SOURCE_FILE, source);
		if (file != EP_JSON_NONE)
			r = firefox_add_string(fx, string_at(fx, file), &function.file);
	}
	if (r < 0 || fx->json.why)
		return r;
	if (resource != EP_JSON_NONE)
		func.lib = firefox_cell(fx, RESOURCE_LIB, resource);
	r = copy_name(fx, row, name);
	if (r < 0)
		return r;
	ep_read_made_up(name, &made_up);
	func.flags = made_up.flags;
	func.unnamed = made_up.unnamed;
	r = ep_profile_add_function(fx->builder, &function, &func.function);
	return r < 0 ? r : ep_vec_append(&fx->funcs, &func, 1);
}

int firefox_tables(struct firefox_read *fx)
{
	int r = read_libs(fx);

	if (r == 0 && !fx->json.why)
		r = read_shared(fx);
	if (r == 0 && !fx->json.why && !fit_together(fx))
		ep_json_fail(&fx->json, "its tables do not fit together: it is damaged");
	for (uint32_t i = 0; r == 0 && !fx->json.why && i < firefox_rows(fx, FUNC_NAME); i++)
		r = add_func(fx, i);
	if (r == 0)
		r = ep_vec_append(&fx->locations, NULL, firefox_rows(fx, FRAME_FUNC));
	if (r == 0)
		r = ep_vec_append(&fx->stacks, NULL, firefox_rows(fx, STACK_FRAME));
	return r;
}

/* --- stacks --- */

static const struct firefox_func *func_of(const struct firefox_read *fx, uint32_t frame)
{
	return ep_vec_at(&fx->funcs, struct firefox_func, firefox_cell(fx, FRAME_FUNC, frame));
}

/* Whether `inner` is inlined into `outer`, which called it: then both have one address in one
 * library. */
static bool is_inlined(const struct firefox_read *fx, uint32_t inner, uint32_t outer)
{
	uint32_t depth = firefox_cell(fx, FRAME_DEPTH, inner),
		 other = firefox_cell(fx, FRAME_DEPTH, outer);

	if (depth == EP_JSON_NONE || depth == 0 ||
	    !(other + 1 == depth || (depth == MAX_DEPTH && other == depth)))
		return false;
	return firefox_cell(fx, FRAME_ADDRESS, inner) == firefox_cell(fx, FRAME_ADDRESS, outer) &&
	       firefox_cell(fx, FRAME_CATEGORY, inner) == firefox_cell(fx, FRAME_CATEGORY, outer) &&
	       func_of(fx, inner)->lib == func_of(fx, outer)->lib;
}

static int push_line(struct firefox_read *fx, uint32_t frame)
{
	uint32_t line = firefox_cell(fx, FRAME_LINE, frame),
		 column = firefox_cell(fx, FRAME_COLUMN, frame);
	const struct ep_profile_line row = {
		.function = func_of(fx, frame)->function,
		.line = line == EP_JSON_NONE ? 0 : line,
		.column = column == EP_JSON_NONE ? 0 : column,
	};

	return ep_vec_append(&fx->lines, &row, 1);
}

/* Of fx->lines, of which `frame` is the outermost. */
static int add_location(struct firefox_read *fx, uint32_t frame, uint32_t *ret_row)
{
	const struct firefox_func *func = func_of(fx, frame);
	uint32_t category = firefox_cell(fx, FRAME_CATEGORY, frame),
		 address = firefox_cell(fx, FRAME_ADDRESS, frame);
	struct ep_profile_location location = {.n_lines = (uint32_t)fx->lines.len,
					       .lines = fx->lines.data};

	if (fx->lines.len == 1) {
		location.flags = func->flags;
		location.unnamed = func->unnamed;
	}
	if (category != EP_JSON_NONE)
		location.kind = *ep_vec_at(&fx->kinds, uint32_t, category);
	if (func->lib != EP_JSON_NONE) {
		const struct firefox_lib *lib = ep_vec_at(&fx->libs, struct firefox_lib, func->lib);

		location.mapping = lib->mapping;
		location.address = address == EP_JSON_NONE ? 0 : lib->base_va + address;
	}
	return ep_profile_add_location(fx->builder, &location, ret_row);
}

/* The location of a row of stacks, and the next row towards the root, which is of another one. */
static int take_location(struct firefox_read *fx, uint32_t row, uint32_t *ret_location,
			 uint32_t *ret_next)
{
	uint32_t frame = firefox_cell(fx, STACK_FRAME, row),
		 outer = firefox_cell(fx, STACK_PREFIX, row);
	uint32_t *kept = ep_vec_at(&fx->locations, uint32_t, frame);
	int r;

	if (outer == EP_JSON_NONE || !is_inlined(fx, frame, firefox_cell(fx, STACK_FRAME, outer))) {
		*ret_next = outer;
		if (*kept) {
			*ret_location = *kept;
			return 0;
		}
	} else {
		kept = NULL;
	}
	fx->lines.len = 0;
	r = push_line(fx, frame);
	for (; r == 0 && outer != EP_JSON_NONE &&
	       is_inlined(fx, frame, firefox_cell(fx, STACK_FRAME, outer));
	     outer = firefox_cell(fx, STACK_PREFIX, outer)) {
		frame = firefox_cell(fx, STACK_FRAME, outer);
		fx->n_walked++;
		r = push_line(fx, frame);
	}
	*ret_next = outer;
	if (r == 0)
		r = add_location(fx, frame, ret_location);
	if (r == 0 && kept)
		*kept = *ret_location;
	return r;
}

/* A frame may say that others are missing, and why. */
static int note(struct firefox_read *fx, uint32_t row, struct ep_profile_stack *stack)
{
	uint32_t frame = firefox_cell(fx, STACK_FRAME, row);
	char name[FIREFOX_TEXT_BYTES];
	int r;

	if (!func_of(fx, frame)->unnamed)
		return 0;
	r = copy_name(fx, firefox_cell(fx, FRAME_FUNC, frame), name);
	return r < 0 ? r : ep_read_stack_note(fx->builder, name, stack);
}

/*
 * Two rows may be the same stack, of which a batch has one: so that a small file cannot ask for
 * work without end, the rows that are passed are counted, and may be as many as a batch may hold.
 */
int firefox_stack(struct firefox_read *fx, uint32_t row, uint32_t *ret_stack)
{
	struct ep_profile_stack stack = {0};
	uint32_t *made, location = 0;
	int r = 0;

	if (row == EP_JSON_NONE)
		return ep_profile_add_stack(fx->builder, &stack, ret_stack);
	made = ep_vec_at(&fx->stacks, uint32_t, row);
	fx->stack.len = 0;
	for (uint32_t at = row; r == 0 && !*made && at != EP_JSON_NONE;) {
		r = note(fx, at, &stack);
		if (r == 0)
			r = take_location(fx, at, &location, &at);
		if (r == 0)
			r = ep_vec_append(&fx->stack, &location, 1);
		if (fx->n_walked++ > EP_PROFILE_MAX_STACK_LOCATIONS)
			r = -E2BIG;
	}
	stack.n_locations = (uint32_t)fx->stack.len;
	stack.locations = fx->stack.data;
	if (r == 0 && !*made)
		r = ep_profile_add_stack(fx->builder, &stack, made);
	if (r == -E2BIG)
		ep_json_fail(&fx->json, "its stacks have more frames than can be read");
	*ret_stack = *made;
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/utf8.h"
#include "core/trace/kinds.h"
#include "core/trace/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY /* the streaming state on the stack */
#include <xxhash.h>

#define MAX_ROWS	  (1u << 24)
#define MAX_STRING_BYTES  ((size_t)256 << 20)
#define MAX_TEXT_BYTES	  16384
#define KERNEL_PATH	  "[kernel.kallsyms]"
#define KERNEL_PATH_BYTES (sizeof(KERNEL_PATH) - 1)

int ep_tables_init(struct ep_tables *t, const struct ep_frames *frames,
		   const struct ep_batch_source *source)
{
	int r = ep_strings_new(MAX_STRING_BYTES, &t->strings);

	t->source = source;
	t->frames = frames;
	ep_vec_init(&t->functions, sizeof(struct ep_table_function), MAX_ROWS);
	ep_vec_init(&t->mappings, sizeof(struct ep_table_mapping), MAX_ROWS);
	ep_vec_init(&t->lines, sizeof(struct ep_table_line), MAX_ROWS);
	ep_vec_init(&t->locations, sizeof(struct ep_table_location), MAX_ROWS);
	ep_vec_init(&t->executables, sizeof(struct ep_table_executable), MAX_ROWS);
	ep_map_init(&t->executable_rows, MAX_ROWS);
	ep_map_init(&t->module_rows, MAX_ROWS);
	ep_map_init(&t->wrapper_rows, MAX_ROWS);
	if (r < 0)
		return r;
	t->location_of = calloc((size_t)ep_frames_count(frames) + 1, sizeof(*t->location_of));
	/* row 0 of each: none */
	if (!t->location_of || !ep_vec_push(&t->functions) || !ep_vec_push(&t->mappings) ||
	    !ep_vec_push(&t->locations))
		return -ENOMEM;
	return 0;
}

void ep_tables_fini(struct ep_tables *t)
{
	ep_strings_free(t->strings);
	ep_vec_fini(&t->functions);
	ep_vec_fini(&t->mappings);
	ep_vec_fini(&t->lines);
	ep_vec_fini(&t->locations);
	ep_vec_fini(&t->executables);
	ep_index_fini(&t->function_index);
	ep_index_fini(&t->location_index);
	ep_map_fini(&t->executable_rows);
	ep_map_fini(&t->module_rows);
	ep_map_fini(&t->wrapper_rows);
	free(t->location_of);
}

/* --- strings --- */

/* All text of a batch comes by here; programs choose their paths, names and variables. Later nobody looks again. */
int ep_tables_string(struct ep_tables *t, const char *str, size_t len, uint32_t *ret_id)
{
	char text[MAX_TEXT_BYTES];

	*ret_id = 0;
	if (!str || len == 0)
		return 0;
	len = EP_MIN(len, sizeof(text));
	if (ep_utf8_is_clean(str, len))
		return ep_strings_add(t->strings, str, len, ret_id);
	ep_utf8_clean(str, len, text);
	return ep_strings_add(t->strings, text, len, ret_id);
}

static int add_cstr(struct ep_tables *t, const char *str, uint32_t *ret_id)
{
	return ep_tables_string(t, str, str ? strlen(str) : 0, ret_id);
}

/* A string of the frame table as one of this batch. */
static int add_frame_string(struct ep_tables *t, uint32_t frame_string, uint32_t *ret_id)
{
	const struct ep_strings *from = ep_frames_strings(t->frames);

	return ep_tables_string(t, ep_strings_get(from, frame_string),
				ep_strings_len_of(from, frame_string), ret_id);
}

static const char *text_of(const struct ep_tables *t, uint32_t id)
{
	return ep_strings_get(t->strings, id);
}

/* --- functions and lines --- */

static int add_function(struct ep_tables *t, const struct ep_table_function *function,
			uint32_t *ret_row)
{
	uint64_t hash = XXH3_64bits(function, sizeof(*function));
	size_t pos;
	int r;

	for (uint32_t row = ep_index_first(&t->function_index, hash, &pos); row;
	     row = ep_index_next(&t->function_index, hash, &pos)) {
		if (memcmp(ep_vec_at(&t->functions, struct ep_table_function, row), function,
			   sizeof(*function)) == 0) {
			*ret_row = row;
			return 0;
		}
	}
	*ret_row = (uint32_t)t->functions.len;
	r = ep_vec_append(&t->functions, function, 1);
	return r < 0 ? r : ep_index_add(&t->function_index, hash, *ret_row);
}

static int add_line(struct ep_tables *t, const struct ep_table_function *function, uint32_t line,
		    uint32_t column)
{
	struct ep_table_line row = {.line = line, .column = column};
	int r = add_function(t, function, &row.function);

	return r < 0 ? r : ep_vec_append(&t->lines, &row, 1);
}

static int add_named_line(struct ep_tables *t, const struct ep_frame_name *name)
{
	struct ep_table_function function = {.line = name->start_line};
	int r;

	r = add_frame_string(t, name->function, &function.name);
	if (r == 0)
		r = add_frame_string(t, name->system_name, &function.system_name);
	if (r == 0)
		r = add_frame_string(t, name->file, &function.file);
	return r < 0 ? r : add_line(t, &function, name->line, name->column);
}

static int add_made_up_line(struct ep_tables *t, const char *text)
{
	struct ep_table_function function = {0};
	int r = add_cstr(t, text, &function.name);

	function.system_name = function.name;
	return r < 0 ? r : add_line(t, &function, 0, 0);
}

/* --- mappings --- */

static int read_executable(struct ep_tables *t, struct ep_table_executable *executable)
{
	struct ep_batch_executable *info = &executable->info;
	const char *slash;
	int r;

	if (!t->source->executable || t->source->executable(t->source->arg, executable->id, info))
		return 0;
	executable->known = info->path && info->path[0];
	info->n_segments = EP_MIN(info->n_segments, (uint32_t)EP_EXECUTABLE_MAX_SEGMENTS);
	slash = info->path ? strrchr(info->path, '/') : NULL;
	r = add_cstr(t, info->path, &executable->path);
	if (r == 0)
		r = add_cstr(t, slash && slash[1] ? slash + 1 : info->path, &executable->base_name);
	if (r == 0)
		r = add_cstr(t, info->build_id, &executable->build_id);
	if (r == 0)
		r = add_cstr(t, info->file_id, &executable->file_id);
	if (r == 0)
		r = add_cstr(t, info->go_build_id, &executable->go_build_id);
	return r;
}

static int find_executable(struct ep_tables *t, uint32_t id,
			   struct ep_table_executable **ret_executable)
{
	const uint64_t *at = ep_map_find(&t->executable_rows, id);
	struct ep_table_executable executable = {.id = id};
	int r;

	if (!at) {
		r = read_executable(t, &executable);
		if (r == 0)
			r = ep_vec_append(&t->executables, &executable, 1);
		if (r == 0)
			r = ep_map_set(&t->executable_rows, id, t->executables.len);
		if (r < 0)
			return r;
		at = ep_map_find(&t->executable_rows, id);
	}
	*ret_executable = ep_vec_at(&t->executables, struct ep_table_executable, *at - 1);
	return 0;
}

static uint32_t segment_of(const struct ep_batch_executable *info, uint64_t va)
{
	for (uint32_t i = 0; i < info->n_segments; i++) {
		if (va >= info->segments[i].start_va && va < info->segments[i].limit_va)
			return i;
	}
	return 0;
}

/* One row for each executable segment that was hit; nearly always there is only one segment. */
static int executable_mapping(struct ep_tables *t, struct ep_table_executable *executable,
			      uint64_t va, uint32_t *ret_row)
{
	uint32_t segment = segment_of(&executable->info, va);
	struct ep_table_mapping row = {
		.start_va = executable->info.segments[segment].start_va,
		.limit_va = executable->info.segments[segment].limit_va,
		.file_off = executable->info.segments[segment].file_off,
		.path = executable->path,
		.build_id = executable->build_id,
		.file_id = executable->file_id,
		.go_build_id = executable->go_build_id,
	};
	int r;

	*ret_row = 0;
	if (!executable->known)
		return 0;
	if (!executable->mapping[segment]) {
		r = ep_vec_append(&t->mappings, &row, 1);
		if (r < 0)
			return r;
		executable->mapping[segment] = (uint32_t)t->mappings.len - 1;
	}
	*ret_row = executable->mapping[segment];
	return 0;
}

/* Kernel addresses are mapped where they are: all of the upper half. */
static int module_mapping(struct ep_tables *t, const char *path, uint32_t flags, uint32_t *ret_row)
{
	struct ep_table_mapping row = {.flags = flags};
	const uint64_t *present;
	int r;

	if (flags & EP_MAPPING_KERNEL) {
		row.start_va = 1ull << 63;
		row.limit_va = UINT64_MAX;
	}
	r = add_cstr(t, path, &row.path);
	if (r == 0 && strcmp(path, KERNEL_PATH) == 0)
		r = add_cstr(t, t->source->kernel_build_id, &row.build_id);
	present = ep_map_find(&t->module_rows, row.path);
	if (present)
		*ret_row = (uint32_t)*present;
	if (r < 0 || present)
		return r;
	*ret_row = (uint32_t)t->mappings.len;
	r = ep_vec_append(&t->mappings, &row, 1);
	return r < 0 ? r : ep_map_set(&t->module_rows, row.path, *ret_row);
}

static int kernel_mapping(struct ep_tables *t, uint32_t module, uint32_t *ret_row)
{
	char path[256] = KERNEL_PATH;

	if (module)
		snprintf(path, sizeof(path), "[%s]",
			 ep_strings_get(ep_frames_strings(t->frames), module));
	return module_mapping(t, path, EP_MAPPING_KERNEL, ret_row);
}

/* --- locations --- */

static const char *type_name(uint32_t kind, enum ep_frame_type frame_type)
{
	static const char *const types[EP_FRAME_TYPE_COUNT] = {[EP_FRAME_TYPE_GO] = "go"};
	const char *type = types[frame_type];

	if (type)
		return type;
	switch (kind) {
	case EP_FRAME_KERNEL:
	case EP_FRAME_TASK:
		return "kernel";
	case EP_FRAME_NATIVE:
		return "native";
	case EP_FRAME_ERROR:
		return "error";
	case EP_FRAME_GAP:
		return "gap";
	default:
		type = ep_kind_frame_type(kind);
		return type ? type : "unknown";
	}
}

static const char *language_name(uint32_t kind)
{
	const char *name = ep_kind_name(kind);

	return name ? name : "unknown";
}

static int add_error_line(struct ep_tables *t, const char *what, uint32_t error)
{
	const char *why = ep_error_text(error);
	char text[EP_KIND_MAX_TEXT + 16];

	snprintf(text, sizeof(text), "[%s: %s]", what, why ? why : "unknown");
	return add_made_up_line(t, text);
}

static int add_task_line(struct ep_tables *t, uint32_t state)
{
	return add_made_up_line(t, ep_task_text(state)); /* one that there is: ep_store_add has checked it */
}

static int add_unnamed_line(struct ep_tables *t, const struct ep_frame *frame, uint64_t address,
			    uint32_t base_name)
{
	char text[320];

	if (frame->kind == EP_FRAME_KERNEL)
		snprintf(text, sizeof(text), "[kernel]+0x%" PRIx64, address);
	else if (frame->kind == EP_FRAME_NATIVE && frame->aux == 0)
		snprintf(text, sizeof(text), "0x%" PRIx64, address);
	else if (frame->kind == EP_FRAME_NATIVE)
		snprintf(text, sizeof(text), "%.255s+0x%" PRIx64,
			 base_name ? text_of(t, base_name) : "[unknown]", address);
	else
		snprintf(text, sizeof(text), "[%s: unknown function]", language_name(frame->kind));
	return add_made_up_line(t, text);
}

static bool is_wrapper(const struct ep_frame_name *name)
{
	return name->flags & EP_LINE_WRAPPER;
}

/* The last line of the frame before line number 0 is shown as a wrapper's callee, or is not. */
static bool is_shown(const struct ep_frame_name *names, size_t i, bool shows_wrapper)
{
	if (i > 0)
		shows_wrapper = names[i - 1].flags & EP_LINE_SHOWS_WRAPPER;
	return shows_wrapper || !is_wrapper(&names[i]);
}

static bool has_shown_lines(const struct ep_frame_name *names, size_t n_names, bool shows_wrapper)
{
	for (size_t i = 0; i < n_names; i++) {
		if (is_shown(names, i, shows_wrapper))
			return true;
	}
	return n_names == 0;
}

/*
 * Of a stack that ends early, and of a gap: the frames that should be there have no names. With an
 * error of a language it is that language's frames that are missing.
 */
static void note_missing(struct ep_table_location *location, uint32_t error)
{
	uint32_t slot = ep_error_slot(error);

	location->unnamed = error == EP_ERROR_LATE ? EP_UNNAMED_NOT_ATTACHED : EP_UNNAMED_MISSING;
	location->language = slot ? EP_FRAME_FIRST_DYNAMIC + slot : 0;
}

static void note_unnamed(const struct ep_tables *t, uint32_t frame_id, const struct ep_frame *frame,
			 bool is_made_up, struct ep_table_location *location)
{
	location->unnamed = ep_frames_unnamed(t->frames, frame_id);
	if (is_made_up && !location->unnamed)
		location->unnamed = EP_UNNAMED_NO_SYMBOL; /* its name is that of a line that is not shown */
	if (frame->kind >= EP_FRAME_FIRST_DYNAMIC)
		location->language = frame->kind;
	else if (location->unnamed && location->unnamed != EP_UNNAMED_NO_FILE)
		location->unnamed = EP_UNNAMED_NO_SYMBOL; /* of native code no other reason is counted */
}

/* 0 lines when it has no name that is not empty. */
static int add_names(struct ep_tables *t, const struct ep_frame_name *names, size_t n_names,
		     bool shows_wrapper)
{
	for (size_t i = 0; i < n_names; i++) {
		bool shown = names[i].function && is_shown(names, i, shows_wrapper);
		int r = shown ? add_named_line(t, &names[i]) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int find_mapping(struct ep_tables *t, const struct ep_frame *frame, uint64_t address,
			uint32_t module, uint32_t *ret_mapping, uint32_t *ret_base_name)
{
	struct ep_table_executable *executable;
	char path[256];
	int r;

	*ret_mapping = *ret_base_name = 0;
	if (frame->kind == EP_FRAME_KERNEL)
		return kernel_mapping(t, module, ret_mapping);
	if (module) {
		snprintf(path, sizeof(path), "[%s]",
			 ep_strings_get(ep_frames_strings(t->frames), module));
		return module_mapping(t, path, 0, ret_mapping);
	}
	if (frame->kind != EP_FRAME_NATIVE || frame->aux == 0)
		return 0;
	r = find_executable(t, frame->aux, &executable);
	if (r < 0)
		return r;
	*ret_base_name = executable->base_name;
	return executable_mapping(t, executable, address, ret_mapping);
}

static int add_lines(struct ep_tables *t, uint32_t frame_id, const struct ep_frame *frame,
		     bool shows_wrapper, struct ep_table_location *location, uint32_t base_name)
{
	const struct ep_frame_name *names;
	uint32_t module;
	size_t n_names = ep_frames_names(t->frames, frame_id, &names, &module);
	int r;

	if (frame->kind == EP_FRAME_ERROR) {
		location->flags |= EP_LOCATION_ERROR;
		note_missing(location, frame->aux);
		return add_error_line(t, "truncated", frame->aux);
	}
	if (frame->kind == EP_FRAME_GAP) {
		location->flags |= EP_LOCATION_GAP;
		note_missing(location, frame->aux);
		return add_error_line(t, "gap", frame->aux);
	}
	if (frame->kind == EP_FRAME_TASK)
		return add_task_line(t, frame->aux);
	r = add_names(t, names, n_names, shows_wrapper);
	if (r < 0)
		return r;
	note_unnamed(t, frame_id, frame, t->lines.len == location->line_first, location);
	if (t->lines.len > location->line_first) {
		ep_vec_at(&t->mappings, struct ep_table_mapping, location->mapping)->flags |=
			location->mapping ? EP_MAPPING_HAS_FUNCTIONS : 0;
		return 0;
	}
	location->flags |= EP_LOCATION_UNNAMED;
	return add_unnamed_line(t, frame,
				n_names && names->start_va ? names->start_va : location->address,
				base_name);
}

static void digest_text(XXH3_state_t *state, const struct ep_tables *t, uint32_t string)
{
	/* with the NUL, so that two strings are not read as one */
	XXH3_128bits_update(state, text_of(t, string), ep_strings_len_of(t->strings, string) + 1);
}

/* A language has many functions of one name, so it is also where the function is written. */
static void digest_function(XXH3_state_t *state, const struct ep_tables *t, uint32_t row,
			    bool has_source)
{
	const struct ep_table_function *function =
		ep_vec_at(&t->functions, struct ep_table_function, row);
	uint32_t little = htole32(function->line);

	digest_text(state, t, function->name);
	if (!has_source)
		return;
	digest_text(state, t, function->file);
	XXH3_128bits_update(state, &little, sizeof(little));
}

/*
 * What an equal frame has in common on two machines: kind, the file's build id (else its name),
 * the names of its functions, and where there is no name the address within the file. Not
 * lines or addresses of named functions: they are the same function.
 */
static void digest_location(const struct ep_tables *t, struct ep_table_location *location,
			    bool has_source)
{
	const struct ep_table_mapping *mapping =
		ep_vec_at(&t->mappings, struct ep_table_mapping, location->mapping);
	const char *path = text_of(t, mapping->path), *slash = strrchr(path, '/');
	bool by_build_id = mapping->build_id && !(mapping->flags & EP_MAPPING_KERNEL);
	const char *file = by_build_id ? text_of(t, mapping->build_id) : slash ? slash + 1 : path;
	XXH128_canonical_t canonical;
	XXH3_state_t state;

	XXH3_INITSTATE(&state);
	XXH3_128bits_reset(&state);
	digest_text(&state, t, location->kind);
	XXH3_128bits_update(&state, file, strlen(file) + 1);
	for (size_t i = location->line_first; i < t->lines.len; i++)
		digest_function(&state, t, ep_vec_at(&t->lines, struct ep_table_line, i)->function,
				has_source);
	if (location->flags & EP_LOCATION_UNNAMED) {
		uint64_t little = htole64(location->address);

		XXH3_128bits_update(&state, &little, sizeof(little));
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
	memcpy(location->digest, canonical.digest, sizeof(location->digest));
}

/*
 * The address of a location is the one its name was looked up by: one less than the return
 * address for frames that called. The tools that read our output want exactly that: pprof and
 * OTLP backends look addresses up as they are, and ask for one inside the call instruction. Words
 * of a language's frame are no addresses of code: it has none, and no mapping.
 */
static int make_location(struct ep_tables *t, uint32_t frame_id, const struct ep_frame *frame,
			 bool shows_wrapper, struct ep_table_location *location)
{
	enum ep_frame_type type = ep_frames_type(t->frames, frame_id);
	bool is_dynamic = frame->kind >= EP_FRAME_FIRST_DYNAMIC;
	uint32_t module, base_name = 0;
	const struct ep_frame_name *names;
	int r;

	(void)ep_frames_names(t->frames, frame_id, &names, &module);
	*location = (struct ep_table_location){.line_first = (uint32_t)t->lines.len};
	r = add_cstr(t, type_name(frame->kind, type), &location->kind);
	if (r == 0 && !is_dynamic) {
		location->address = ep_frame_lookup_addr(frame);
		location->flags =
			frame->flags & EP_FRAME_POINTER_WALK ? EP_LOCATION_POINTER_WALK : 0;
		r = find_mapping(t, frame, location->address, module, &location->mapping,
				 &base_name);
	}
	if (r == 0)
		r = add_lines(t, frame_id, frame, shows_wrapper, location, base_name);
	if (r == 0)
		digest_location(t, location, is_dynamic || type != EP_FRAME_TYPE_OF_KIND);
	return r;
}

static size_t lines_end(const struct ep_tables *t, uint32_t row, size_t end)
{
	return row + 1 < t->locations.len
		       ? ep_vec_at(&t->locations, struct ep_table_location, row + 1)->line_first
		       : end;
}

/* An equal location of a language: kind, flags, why it has no name, and lines. 0: none. */
static uint32_t find_location(const struct ep_tables *t, uint64_t hash,
			      const struct ep_table_location *location)
{
	const struct ep_table_line *lines =
		ep_vec_at(&t->lines, struct ep_table_line, location->line_first);
	size_t n_lines = t->lines.len - location->line_first, pos;

	for (uint32_t row = ep_index_first(&t->location_index, hash, &pos); row;
	     row = ep_index_next(&t->location_index, hash, &pos)) {
		const struct ep_table_location *other =
			ep_vec_at(&t->locations, struct ep_table_location, row);
		size_t end = lines_end(t, row, location->line_first);

		if (other->kind == location->kind && other->flags == location->flags &&
		    other->unnamed == location->unnamed &&
		    end - other->line_first == n_lines &&
		    memcmp(ep_vec_at(&t->lines, struct ep_table_line, other->line_first), lines,
			   n_lines * sizeof(*lines)) == 0)
			return row;
	}
	return 0;
}

/* Its words differ from process to process; a location is what they stand for. */
static int share_location(struct ep_tables *t, const struct ep_table_location *location,
			  uint32_t *ret_row)
{
	uint64_t hash = XXH3_64bits_withSeed(
		ep_vec_at(&t->lines, struct ep_table_line, location->line_first),
		(t->lines.len - location->line_first) * sizeof(struct ep_table_line),
		location->kind);

	*ret_row = find_location(t, hash, location);
	if (*ret_row) {
		t->lines.len = location->line_first;
		return 0;
	}
	return ep_index_add(&t->location_index, hash, (uint32_t)t->locations.len);
}

static int add_location(struct ep_tables *t, uint32_t frame_id, bool shows_wrapper,
			uint32_t *ret_row)
{
	const struct ep_frame_name *names;
	struct ep_table_location location;
	struct ep_frame frame;
	uint32_t module;
	size_t n_names = ep_frames_names(t->frames, frame_id, &names, &module);
	int r;

	*ret_row = 0;
	if (!has_shown_lines(names, n_names, shows_wrapper))
		return 0;
	ep_frames_get(t->frames, frame_id, &frame);
	r = make_location(t, frame_id, &frame, shows_wrapper, &location);
	if (r == 0 && frame.kind >= EP_FRAME_FIRST_DYNAMIC)
		r = share_location(t, &location, ret_row);
	if (r < 0 || *ret_row)
		return r;
	*ret_row = (uint32_t)t->locations.len;
	return ep_vec_append(&t->locations, &location, 1);
}

/* In location_of, above the row. */
#define KNOWN	      (1u << 31) /* the flags are; the row may still be to be made */
#define IS_WRAPPER    (1u << 30) /* its innermost line */
#define SHOWS_WRAPPER (1u << 29) /* its last line */
#define ROW_MASK      (MAX_ROWS - 1)
_Static_assert(ROW_MASK < SHOWS_WRAPPER, "rows and flags are apart");

static uint32_t flags_of(const struct ep_tables *t, uint32_t frame_id)
{
	const struct ep_frame_name *names;
	uint32_t module, flags = KNOWN;
	size_t n_names = ep_frames_names(t->frames, frame_id, &names, &module);

	if (n_names && is_wrapper(&names[0]))
		flags |= IS_WRAPPER;
	if (n_names && names[n_names - 1].flags & EP_LINE_SHOWS_WRAPPER)
		flags |= SHOWS_WRAPPER;
	return flags;
}

static int wrapper_location(struct ep_tables *t, uint32_t frame_id, uint32_t *ret_location)
{
	const uint64_t *at = ep_map_find(&t->wrapper_rows, frame_id);
	int r;

	if (at) {
		*ret_location = (uint32_t)*at;
		return 0;
	}
	r = add_location(t, frame_id, true, ret_location);
	return r < 0 ? r : ep_map_set(&t->wrapper_rows, frame_id, *ret_location);
}

int ep_tables_location(struct ep_tables *t, uint32_t frame_id, bool *shows_wrapper,
		       uint32_t *ret_location)
{
	uint32_t *at = &t->location_of[frame_id];
	bool shown = *shows_wrapper;

	if (!*at)
		*at = flags_of(t, frame_id);
	*shows_wrapper = *at & SHOWS_WRAPPER;
	if (shown && *at & IS_WRAPPER)
		return wrapper_location(t, frame_id, ret_location);
	if (!(*at & ROW_MASK)) {
		uint32_t row;
		int r = add_location(t, frame_id, false, &row);

		if (r < 0)
			return r;
		*at |= row;
	}
	*ret_location = *at & ROW_MASK;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/tables.h"
#include "core/trace/kinds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_ROWS	  (1u << 24)
#define KERNEL_PATH	  "[kernel.kallsyms]"

int ep_tables_init(struct ep_tables *t, struct ep_profile_builder *profile,
		   const struct ep_frames *frames, const struct ep_batch_source *source)
{
	t->source = source;
	t->frames = frames;
	t->profile = profile;
	ep_vec_init(&t->lines, sizeof(struct ep_profile_line), UINT16_MAX);
	ep_vec_init(&t->executables, sizeof(struct ep_table_executable), MAX_ROWS);
	ep_map_init(&t->executable_rows, MAX_ROWS);
	ep_map_init(&t->module_rows, MAX_ROWS);
	ep_vec_init(&t->reasons, sizeof(struct ep_table_reason), MAX_ROWS);
	ep_map_init(&t->wrapper_rows, MAX_ROWS);
	t->location_of = calloc((size_t)ep_frames_count(frames) + 1, sizeof(*t->location_of));
	return t->location_of ? 0 : -ENOMEM;
}

void ep_tables_fini(struct ep_tables *t)
{
	ep_vec_fini(&t->lines);
	ep_vec_fini(&t->executables);
	ep_map_fini(&t->executable_rows);
	ep_map_fini(&t->module_rows);
	ep_vec_fini(&t->reasons);
	ep_map_fini(&t->wrapper_rows);
	free(t->location_of);
}

static int add_cstr(struct ep_tables *t, const char *str, uint32_t *ret_id)
{
	return ep_profile_add_string(t->profile, str, str ? strlen(str) : 0, ret_id);
}

/* A string of the frame table as one of this batch. */
static int add_frame_string(struct ep_tables *t, uint32_t frame_string, uint32_t *ret_id)
{
	const struct ep_strings *from = ep_frames_strings(t->frames);

	return ep_profile_add_string(t->profile, ep_strings_get(from, frame_string),
				     ep_strings_len_of(from, frame_string), ret_id);
}

/* --- lines --- */

static int add_line(struct ep_tables *t, const struct ep_profile_function *function, uint32_t line,
		    uint32_t column)
{
	struct ep_profile_line row = {.line = line, .column = column};
	int r = ep_profile_add_function(t->profile, function, &row.function);

	return r < 0 ? r : ep_vec_append(&t->lines, &row, 1);
}

static int add_named_line(struct ep_tables *t, const struct ep_frame_name *name)
{
	struct ep_profile_function function = {.line = name->start_line};
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
	struct ep_profile_function function = {0};
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
	info->n_segments = EP_MIN(info->n_segments, (uint32_t)EP_EXECUTABLE_MAX_SEGMENTS);
	slash = info->path ? strrchr(info->path, '/') : NULL;
	snprintf(executable->base_name, sizeof(executable->base_name), "%s",
		 slash && slash[1] ? slash + 1 : info->path ? info->path : "");
	r = add_cstr(t, info->path, &executable->path);
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
	const struct ep_profile_mapping row = {
		.start_va = executable->info.segments[segment].start_va,
		.limit_va = executable->info.segments[segment].limit_va,
		.file_off = executable->info.segments[segment].file_off,
		.path = executable->path,
		.build_id = executable->build_id,
		.file_id = executable->file_id,
		.go_build_id = executable->go_build_id,
	};
	int r = 0;

	if (executable->path && !executable->mapping[segment])
		r = ep_profile_add_mapping(t->profile, &row, &executable->mapping[segment]);
	*ret_row = executable->mapping[segment];
	return r;
}

/* Kernel addresses are mapped where they are: all of the upper half. */
static int module_mapping(struct ep_tables *t, const char *path, uint32_t flags, uint32_t *ret_row)
{
	struct ep_profile_mapping row = {.flags = flags};
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
	r = ep_profile_add_mapping(t->profile, &row, ret_row);
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
			    const char *base_name)
{
	char text[320];

	if (frame->kind == EP_FRAME_KERNEL)
		snprintf(text, sizeof(text), "[kernel]+0x%" PRIx64, address);
	else if (frame->kind == EP_FRAME_NATIVE && frame->aux == 0)
		snprintf(text, sizeof(text), "0x%" PRIx64, address);
	else if (frame->kind == EP_FRAME_NATIVE)
		snprintf(text, sizeof(text), "%.255s+0x%" PRIx64,
			 base_name[0] ? base_name : "[unknown]", address);
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
static struct ep_table_reason why_missing(uint32_t error)
{
	uint32_t slot = ep_error_slot(error);

	return (struct ep_table_reason){
		.unnamed = error == EP_ERROR_LATE ? EP_UNNAMED_NOT_ATTACHED : EP_UNNAMED_MISSING,
		.language = slot ? EP_FRAME_FIRST_DYNAMIC + slot : 0,
	};
}

static struct ep_table_reason why_unnamed(const struct ep_tables *t, uint32_t frame_id,
					  const struct ep_frame *frame)
{
	struct ep_table_reason reason = {.unnamed = ep_frames_unnamed(t->frames, frame_id)};

	if (t->lines.len == 0 && !reason.unnamed)
		reason.unnamed = EP_UNNAMED_NO_SYMBOL; /* its name is that of a line that is not shown */
	if (frame->kind >= EP_FRAME_FIRST_DYNAMIC)
		reason.language = frame->kind;
	else if (reason.unnamed && reason.unnamed != EP_UNNAMED_NO_FILE)
		reason.unnamed = EP_UNNAMED_NO_SYMBOL; /* of native code no other reason is counted */
	return reason;
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
			uint32_t module, uint32_t *ret_mapping, const char **ret_base_name)
{
	struct ep_table_executable *executable;
	char path[256];
	int r;

	*ret_mapping = 0;
	*ret_base_name = "";
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
		     bool shows_wrapper, struct ep_profile_location *location,
		     struct ep_table_reason *reason, const char *base_name)
{
	const struct ep_frame_name *names;
	uint32_t module;
	size_t n_names = ep_frames_names(t->frames, frame_id, &names, &module);
	int r;

	t->lines.len = 0;
	if (frame->kind == EP_FRAME_ERROR || frame->kind == EP_FRAME_GAP) {
		bool is_gap = frame->kind == EP_FRAME_GAP;

		location->flags |= is_gap ? EP_LOCATION_GAP : EP_LOCATION_ERROR;
		*reason = why_missing(frame->aux);
		return add_error_line(t, is_gap ? "gap" : "truncated", frame->aux);
	}
	if (frame->kind == EP_FRAME_TASK)
		return add_task_line(t, frame->aux);
	r = add_names(t, names, n_names, shows_wrapper);
	if (r < 0)
		return r;
	*reason = why_unnamed(t, frame_id, frame);
	if (t->lines.len > 0) {
		ep_profile_mark_mapping(t->profile, location->mapping, EP_MAPPING_HAS_FUNCTIONS);
		return 0;
	}
	location->flags |= EP_LOCATION_UNNAMED;
	return add_unnamed_line(t, frame,
				n_names && names->start_va ? names->start_va : location->address,
				base_name);
}

/*
 * The address of a location is the one its name was looked up by: one less than the return
 * address for frames that called. The tools that read our output want exactly that: pprof and
 * OTLP backends look addresses up as they are, and ask for one inside the call instruction. Words
 * of a language's frame are no addresses of code: they differ from process to process, and a
 * location is what they stand for. It has none, and no mapping.
 */
static int describe(struct ep_tables *t, uint32_t frame_id, bool shows_wrapper,
		    struct ep_profile_location *location, struct ep_table_reason *reason)
{
	const struct ep_frame_name *names;
	const char *base_name = "";
	struct ep_frame frame;
	uint32_t module;
	int r;

	ep_frames_get(t->frames, frame_id, &frame);
	(void)ep_frames_names(t->frames, frame_id, &names, &module);
	r = add_cstr(t, type_name(frame.kind, ep_frames_type(t->frames, frame_id)),
		     &location->kind);
	if (r == 0 && frame.kind < EP_FRAME_FIRST_DYNAMIC) {
		location->address = ep_frame_lookup_addr(&frame);
		location->flags =
			frame.flags & EP_FRAME_POINTER_WALK ? EP_LOCATION_POINTER_WALK : 0;
		r = find_mapping(t, &frame, location->address, module, &location->mapping,
				 &base_name);
	}
	if (r == 0)
		r = add_lines(t, frame_id, &frame, shows_wrapper, location, reason, base_name);
	location->unnamed = reason->unnamed;
	location->lines = t->lines.data;
	location->n_lines = (uint32_t)t->lines.len;
	return r;
}

/* Of a new location: they are numbered in turn. */
static int note_reason(struct ep_tables *t, uint32_t row, struct ep_table_reason reason)
{
	while (t->reasons.len < row) {
		if (!ep_vec_push(&t->reasons))
			return -ENOMEM;
	}
	return t->reasons.len == row ? ep_vec_append(&t->reasons, &reason, 1) : 0;
}

struct ep_table_reason ep_tables_reason(const struct ep_tables *t, uint32_t location)
{
	return *ep_vec_at(&t->reasons, struct ep_table_reason, location);
}

static int add_location(struct ep_tables *t, uint32_t frame_id, bool shows_wrapper,
			uint32_t *ret_row)
{
	struct ep_profile_location location = {0};
	struct ep_table_reason reason = {0};
	const struct ep_frame_name *names;
	uint32_t module;
	size_t n_names = ep_frames_names(t->frames, frame_id, &names, &module);
	int r;

	*ret_row = 0;
	if (!has_shown_lines(names, n_names, shows_wrapper))
		return 0;
	r = describe(t, frame_id, shows_wrapper, &location, &reason);
	if (r == 0)
		r = ep_profile_add_location(t->profile, &location, ret_row);
	return r < 0 ? r : note_reason(t, *ret_row, reason);
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

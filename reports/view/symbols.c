/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names are found mapping by mapping: the file is opened once, and all of its frames without a name
 * are asked for. What was found is a column beside the locations (`named`: an index of `names`,
 * from 1). Then a batch is drawn up that shares all columns with the old one but those of strings,
 * functions and lines, which have more rows, and the builder makes a batch of its own of it.
 */
#include "reports/view/symbols.h"
#include "core/base/parse.h"
#include "core/base/vec.h"
#include "core/elf/debug_file.h"
#include "core/profile/builder.h"
#include "core/symbol/demangle.h"
#include "core/symbol/symtab.h"
#include "reports/view/debug_index.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_SEGMENTS	16
#define DEBUG_DIRECTORY "/usr/lib/debug"
#define MIN_ID_HEX	6 /* XX/YYYY: shorter ones are no build ids */
#define MAX_NAMES	(16u << 20)

struct name {
	char *shown, *raw; /* owned */
};

struct naming {
	const struct ep_batch *batch;
	const struct ep_symbols_sources *sources;
	uint32_t *named;     /* by location: 0, or index of names + 1 */
	struct ep_vec names; /* struct name */
	struct ep_debug_index index;
	struct ep_symbols_result result;
};

/* The files of one mapping that belong together. */
struct module {
	struct ep_elf *elf, *debug;
	struct ep_symtab *symtab;
	/* Of the program: a debug file does not know where in the program's file its segments were.
	 */
	struct ep_elf_segment segments[MAX_SEGMENTS];
	size_t n_segments;
};

static void module_fini(struct module *module)
{
	ep_symtab_free(module->symtab);
	ep_elf_close(module->debug);
	ep_elf_close(module->elf);
	module->symtab = NULL;
	module->debug = module->elf = NULL;
}

/* --- files ----------------------------------------------------------------------------------- */

static bool has_build_id(const struct ep_elf *elf, const char *build_id)
{
	uint8_t id[EP_ELF_BUILD_ID_MAX];
	char hex[2 * EP_ELF_BUILD_ID_MAX + 1];
	int n = ep_elf_build_id(elf, id);

	if (n <= 0)
		return false;
	ep_to_hex(id, (size_t)n, hex);
	return strcasecmp(hex, build_id) == 0;
}

/* Its code is in the file: in a debug file the segments are empty. */
static bool is_program(const struct ep_elf *elf)
{
	struct ep_elf_segment code;

	return ep_elf_exec_segments(elf, &code, 1) > 0 && code.file_bytes > 0;
}

/* 0; 1 when this file is not the one, or has no symbols. Takes elf. */
static int use(struct module *module, struct ep_elf *elf, const char *build_id, const char *path)
{
	int r;

	module->elf = elf;
	if (!has_build_id(elf, build_id)) {
		module_fini(module);
		return 1;
	}
	if (is_program(elf))
		module->n_segments =
			EP_MIN(ep_elf_load_segments(elf, module->segments, MAX_SEGMENTS),
			       (size_t)MAX_SEGMENTS);
	if (path && !ep_symtab_is_complete(elf))
		(void)ep_debug_file_open(elf, "", path, &module->debug);
	/* Beside a debug file .dynsym alone is worth little: another place may have more. */
	r = ep_symtab_build(elf, module->debug, &module->symtab);
	if (r == 0 && (module->debug || ep_symtab_is_complete(elf)))
		return 0;
	module_fini(module);
	return r == -ENOMEM ? r : 1;
}

static int try_path(struct module *module, const char *build_id, const char *path)
{
	struct ep_elf *elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;

	if (fd < 0)
		return 1;
	r = ep_elf_open_fd(fd, &elf);
	if (r < 0)
		return r == -ENOMEM ? r : 1;
	return use(module, elf, build_id, path[0] == '/' ? path : NULL);
}

static int try_fmt(struct module *module, const char *build_id, const char *fmt, ...)
	EP_PRINTF(3, 4);

static int try_fmt(struct module *module, const char *build_id, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list list;
	int n;

	va_start(list, fmt);
	n = vsnprintf(path, sizeof(path), fmt, list);
	va_end(list);
	return n > 0 && (size_t)n < sizeof(path) ? try_path(module, build_id, path) : 1;
}

static int try_directory(struct module *module, const char *build_id, const char *path,
			 const char *directory)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int r = try_fmt(module, build_id, "%s/.build-id/%.2s/%s.debug", directory, build_id,
			build_id + 2);

	if (r == 1)
		r = try_fmt(module, build_id, "%s/%.2s/%s.debug", directory, build_id,
			    build_id + 2);
	if (r == 1)
		r = try_fmt(module, build_id, "%s/%s.debug", directory, build_id);
	if (r == 1)
		r = try_fmt(module, build_id, "%s/%s", directory, build_id);
	if (r == 1 && name[0])
		r = try_fmt(module, build_id, "%s/%s.debug", directory, name);
	if (r == 1 && name[0])
		r = try_fmt(module, build_id, "%s/%s", directory, name);
	if (r == 1 && path[0] == '/')
		r = try_fmt(module, build_id, "%s%s", directory, path);
	return r;
}

static int try_fetch(struct module *module, const char *build_id,
		     const struct ep_symbols_sources *sources)
{
	int r = 1;

	for (int executable = 0; executable <= 1 && r == 1 && sources->fetch; executable++) {
		int fd = sources->fetch(sources->arg, build_id, executable);
		struct ep_elf *elf;

		if (fd < 0)
			continue;
		r = ep_elf_open_fd(fd, &elf);
		r = r < 0 ? (r == -ENOMEM ? r : 1) : use(module, elf, build_id, NULL);
	}
	return r;
}

static bool is_build_id(const char *text)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF");

	return n >= MIN_ID_HEX && n <= 2 * EP_ELF_BUILD_ID_MAX && text[n] == '\0';
}

/* Whatever it is called. */
static int try_index(struct naming *naming, struct module *module, const char *build_id)
{
	const struct ep_symbols_sources *sources = naming->sources;
	const char *path;
	int r = ep_debug_index_read(&naming->index, sources->directories, sources->n_directories);

	if (r < 0)
		return r;
	r = 1;
	for (size_t i = 0;
	     r == 1 && (path = ep_debug_index_find(&naming->index, build_id, i)) != NULL; i++)
		r = try_path(module, build_id, path);
	return r;
}

/* 0, 1 when there is none, or -ENOMEM. */
static int find_module(struct naming *naming, struct module *module, const char *build_id,
		       const char *path)
{
	const struct ep_symbols_sources *sources = naming->sources;
	int r = 1;

	if (!is_build_id(build_id))
		return 1;
	if (path[0] == '/')
		r = try_path(module, build_id, path);
	for (size_t i = 0; i < sources->n_directories && r == 1; i++)
		r = try_directory(module, build_id, path, sources->directories[i]);
	if (r == 1)
		r = try_index(naming, module, build_id);
	if (r == 1)
		r = try_fmt(module, build_id, DEBUG_DIRECTORY "/.build-id/%.2s/%s.debug", build_id,
			    build_id + 2);
	return r == 1 ? try_fetch(module, build_id, sources) : r;
}

/* --- names ----------------------------------------------------------------------------------- */

static bool wants_name(const struct ep_batch *batch, uint32_t location)
{
	uint32_t mapping = batch->location_mapping[location];
	uint32_t first = batch->location_line_first[location],
		 end = batch->location_line_first[location + 1];

	if (!mapping || (batch->mapping_flags[mapping] & EP_MAPPING_KERNEL) ||
	    !batch->location_address[location] ||
	    (batch->location_flags[location] & (EP_LOCATION_ERROR | EP_LOCATION_GAP)))
		return false;
	if (batch->location_flags[location] & EP_LOCATION_UNNAMED)
		return true;
	return end - first == 0 ||
	       (end - first == 1 && batch->function_name[batch->line_function[first]] == 0);
}

static bool is_in_segments(const struct ep_elf *elf, uint64_t va)
{
	struct ep_elf_segment segments[MAX_SEGMENTS];
	size_t n = EP_MIN(ep_elf_load_segments(elf, segments, MAX_SEGMENTS), (size_t)MAX_SEGMENTS);

	for (size_t i = 0; i < n; i++)
		if (va - segments[i].va < segments[i].mem_bytes)
			return true;
	return false;
}

/*
 * The ELF virtual address: as it is, in what is recorded here; others write that of a process,
 * which the mapping leads back to the file. Where only a debug file is at hand, the mapping is
 * taken for the whole of the one executable segment, unless it begins further into the file than
 * that can. UINT64_MAX: not known.
 */
static uint64_t to_va(const struct ep_batch *batch, const struct module *module, uint32_t location)
{
	uint64_t address = batch->location_address[location];
	uint32_t mapping = batch->location_mapping[location];
	uint64_t into = address - batch->mapping_start_va[mapping];
	uint64_t off = into + batch->mapping_file_off[mapping];
	struct ep_elf_segment code[2];
	uint64_t start_va;

	if (is_in_segments(module->elf, address))
		return address;
	for (size_t i = 0; i < module->n_segments; i++)
		if (off - module->segments[i].file_off < module->segments[i].file_bytes)
			return module->segments[i].va + (off - module->segments[i].file_off);
	if (module->n_segments || ep_elf_exec_segments(module->elf, code, 2) != 1)
		return UINT64_MAX;
	start_va = EP_ALIGN_DOWN(code[0].va, 4096);
	if (batch->mapping_file_off[mapping] > start_va ||
	    into >= code[0].mem_bytes + code[0].va - start_va)
		return UINT64_MAX;
	return start_va + into;
}

static int add_name(struct naming *naming, uint32_t location, const char *raw)
{
	struct name *name = ep_vec_push(&naming->names);
	int r;

	if (!name)
		return -ENOMEM;
	r = ep_demangle(raw, &name->shown);
	name->raw = strdup(raw);
	if (r < 0 || !name->raw)
		return -ENOMEM;
	naming->named[location] = (uint32_t)naming->names.len;
	naming->result.named++;
	return 0;
}

static int name_location(struct naming *naming, const struct module *module, uint32_t location)
{
	struct ep_symtab_hit hit;
	char raw[EP_SYMTAB_NAME_MAX];

	if (ep_symtab_find(module->symtab, to_va(naming->batch, module, location), &hit) < 0 ||
	    ep_symtab_name(module->symtab, &hit, raw, sizeof(raw)) <= 0)
		return 0;
	return add_name(naming, location, raw);
}

/* `locations` are those of one mapping that want a name. */
static int name_mapping(struct naming *naming, uint32_t mapping, const uint32_t *locations,
			size_t n)
{
	const struct ep_batch *batch = naming->batch;
	ep_cleanup(module_fini) struct module module = {0};
	const char *build_id = batch->string_text[batch->mapping_build_id[mapping]];
	const char *path = batch->string_text[batch->mapping_path[mapping]];
	int r = find_module(naming, &module, build_id, path);

	naming->result.modules++;
	if (r == 1 && naming->sources->missing)
		naming->sources->missing(naming->sources->missing_arg, path,
					 is_build_id(build_id) ? build_id : "");
	if (r != 0)
		return r < 0 ? r : 0;
	naming->result.modules_found++;
	for (size_t i = 0; i < n && r == 0; i++)
		r = name_location(naming, &module, locations[i]);
	return r;
}

static int by_mapping(const void *left, const void *right, void *arg)
{
	const struct ep_batch *batch = arg;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint32_t x = batch->location_mapping[a], y = batch->location_mapping[b];

	return x != y ? (x < y ? -1 : 1) : a < b ? -1 : a > b;
}

static int name_all(struct naming *naming)
{
	const struct ep_batch *batch = naming->batch;
	ep_autofree uint32_t *wanted = calloc((size_t)batch->n_locations + 1, sizeof(*wanted));
	size_t n = 0;
	int r = wanted ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < batch->n_locations && r == 0; i++)
		if (wants_name(batch, i))
			wanted[n++] = i;
	naming->result.unnamed = (uint32_t)n;
	if (n > 1)
		qsort_r(wanted, n, sizeof(*wanted), by_mapping, (void *)batch);
	for (size_t i = 0, end; i < n && r == 0; i = end) {
		uint32_t mapping = batch->location_mapping[wanted[i]];

		for (end = i; end < n && batch->location_mapping[wanted[end]] == mapping; end++)
			;
		r = name_mapping(naming, mapping, wanted + i, end - i);
	}
	return r;
}

/* --- the new batch --------------------------------------------------------------------------- */

/* The columns that grow. Name i is function n_functions + i and strings n_strings + 2 i, + 1. */
struct grown {
	const char **string_text;
	uint32_t *string_bytes;
	uint32_t *function[4]; /* name, system name, file, line */
	uint32_t *line[3];     /* function, line, column */
	uint32_t *line_first, *flags, *unnamed;
};

static void grown_fini(struct grown *grown)
{
	free(grown->string_text);
	free(grown->string_bytes);
	for (size_t i = 0; i < EP_LEN(grown->function); i++)
		free(grown->function[i]);
	for (size_t i = 0; i < EP_LEN(grown->line); i++)
		free(grown->line[i]);
	free(grown->line_first);
	free(grown->flags);
	free(grown->unnamed);
}

/* The column with space for `more` rows; sticks at NULL. */
static void *grow(const void *column, size_t rows, size_t more, size_t bytes, bool *failed)
{
	void *copy = calloc(rows + more + 1, bytes);

	if (copy && column)
		memcpy(copy, column, rows * bytes);
	*failed |= !copy;
	return copy;
}

static int grow_columns(const struct naming *naming, struct grown *grown)
{
	const struct ep_batch *batch = naming->batch;
	const uint32_t *functions[] = {batch->function_name, batch->function_system_name,
				       batch->function_file, batch->function_line};
	size_t n = naming->names.len;
	bool failed = false;

	grown->string_text =
		grow(batch->string_text, batch->n_strings, 2 * n, sizeof(char *), &failed);
	grown->string_bytes =
		grow(batch->string_bytes, batch->n_strings, 2 * n, sizeof(uint32_t), &failed);
	for (size_t i = 0; i < EP_LEN(functions); i++)
		grown->function[i] =
			grow(functions[i], batch->n_functions, n, sizeof(uint32_t), &failed);
	for (size_t i = 0; i < EP_LEN(grown->line); i++)
		grown->line[i] = grow(NULL, batch->n_lines, n, sizeof(uint32_t), &failed);
	grown->line_first = grow(NULL, batch->n_locations, 1, sizeof(uint32_t), &failed);
	grown->flags =
		grow(batch->location_flags, batch->n_locations, 0, sizeof(uint32_t), &failed);
	grown->unnamed = grow(EP_HAS(batch, location_unnamed) ? batch->location_unnamed : NULL,
			      batch->n_locations, 0, sizeof(uint32_t), &failed);
	return failed ? -ENOMEM : 0;
}

static void put_names(const struct naming *naming, struct grown *grown)
{
	const struct ep_batch *batch = naming->batch;
	const struct name *name = naming->names.data;

	for (uint32_t i = 0; i < naming->names.len; i++) {
		uint32_t string = batch->n_strings + 2 * i, function = batch->n_functions + i;

		grown->string_text[string] = name[i].shown;
		grown->string_bytes[string] = (uint32_t)strlen(name[i].shown);
		grown->string_text[string + 1] = name[i].raw;
		grown->string_bytes[string + 1] = (uint32_t)strlen(name[i].raw);
		grown->function[0][function] = string;
		grown->function[1][function] = string + 1;
	}
}

/* Returns how many lines there are. */
static uint32_t put_lines(const struct naming *naming, struct grown *grown)
{
	const struct ep_batch *batch = naming->batch;
	uint32_t n = 0;

	for (uint32_t i = 0; i < batch->n_locations; i++) {
		grown->line_first[i] = n;
		if (naming->named[i]) {
			grown->line[0][n++] = batch->n_functions + naming->named[i] - 1;
			grown->flags[i] &= ~(uint32_t)EP_LOCATION_UNNAMED;
			grown->unnamed[i] = EP_UNNAMED_NONE;
			continue;
		}
		for (uint32_t k = batch->location_line_first[i];
		     k < batch->location_line_first[i + 1]; k++, n++) {
			grown->line[0][n] = batch->line_function[k];
			grown->line[1][n] = batch->line_line[k];
			grown->line[2][n] = batch->line_column[k];
		}
	}
	grown->line_first[batch->n_locations] = n;
	return n;
}

static int rebuild(const struct naming *naming, struct ep_batch **ret_batch)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	ep_cleanup(grown_fini) struct grown grown = {0};
	struct ep_batch drawn = *naming->batch;
	uint32_t n = (uint32_t)naming->names.len;
	int r = grow_columns(naming, &grown);

	if (r == 0)
		r = ep_profile_builder_new(&builder);
	if (r < 0)
		return r;
	put_names(naming, &grown);
	drawn.n_lines = put_lines(naming, &grown);
	drawn.n_strings += 2 * n;
	drawn.n_functions += n;
	drawn.string_text = grown.string_text;
	drawn.string_bytes = grown.string_bytes;
	drawn.function_name = grown.function[0];
	drawn.function_system_name = grown.function[1];
	drawn.function_file = grown.function[2];
	drawn.function_line = grown.function[3];
	drawn.line_function = grown.line[0];
	drawn.line_line = grown.line[1];
	drawn.line_column = grown.line[2];
	drawn.location_line_first = grown.line_first;
	drawn.location_flags = grown.flags;
	drawn.location_unnamed = grown.unnamed;
	r = ep_profile_add_batch(builder, &drawn, NULL);
	return r < 0 ? r : ep_profile_finish(builder, ret_batch);
}

static void naming_fini(struct naming *naming)
{
	struct name *name;

	ep_vec_each (&naming->names, name) {
		free(name->shown);
		free(name->raw);
	}
	ep_debug_index_fini(&naming->index);
	ep_vec_fini(&naming->names);
	free(naming->named);
}

int ep_symbols_apply(const struct ep_batch *batch, const struct ep_symbols_sources *sources,
		     struct ep_batch **ret_batch, struct ep_symbols_result *ret_result)
{
	ep_cleanup(naming_fini) struct naming naming = {
		.batch = batch,
		.sources = sources,
		.named = calloc((size_t)batch->n_locations + 1, sizeof(*naming.named)),
	};
	int r;

	ep_vec_init(&naming.names, sizeof(struct name), MAX_NAMES);
	ep_debug_index_init(&naming.index);
	if (!naming.named)
		return -ENOMEM;
	r = name_all(&naming);
	r = r == 0 ? rebuild(&naming, ret_batch) : r;
	naming.result.n_files = (uint32_t)naming.index.files.len;
	naming.result.is_cut = naming.index.is_cut;
	if (r == 0)
		*ret_result = naming.result;
	return r;
}

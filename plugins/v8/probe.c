/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is V8 in this file? What it holds says it, its name does not:
 *
 *	v8dbg_*				what V8 says of itself to debuggers
 *					(tools/gen-postmortem-metadata.py): Node, npm's and
 *					distributions', and libv8; in .dynsym
 *	v8::V8::GetVersion		the API: embedders that let addons use it
 *	"InterpreterEntryTrampoline"	a builtin's name (builtins/builtins.cc): all others,
 *					stripped
 */
#include "core/base/util.h"
#include "plugins/shared/read/file.h"
#include "plugins/v8/v8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DATA_BYTES EP_MAX_FILE_READ
#define MAX_TYPE       16
#define MAX_FLAGS      4096 /* strings that are looked at; 1128 in 14.6 */
#define ROWS	       512 /* at a time */
#define PREFIX "v8dbg_"

/* V8 alone is larger: those of Node 8 have 17 and 6 MiB. */
#define MIN_TEXT_BYTES (6u << 20)
#define OVERLAP_BYTES  64 /* what is looked for is shorter */

/* --- what its strings say --------------------------------------------------------------------- */

/* Of .rodata, NUL-terminated, with a NUL before it. */
struct strings {
	bool has_trampoline;
	struct v8_version version; /* major 0: none */
	bool has_embedder;	   /* "-node.33" after it: others may be of other libraries */
};

static void take_string(struct strings *strings, const char *text)
{
	struct v8_version version;
	bool has_embedder;

	if (*text == 'I') {
		strings->has_trampoline |= strcmp(text, "InterpreterEntryTrampoline") == 0;
		return;
	}
	if (!v8_version_parse(text, &version))
		return;
	has_embedder = strchr(text, '-') != NULL;
	if (strings->version.major && (strings->has_embedder || !has_embedder))
		return;
	strings->version = version;
	strings->has_embedder = has_embedder;
}

static int take_piece(void *strings, uint64_t va, const uint8_t *piece, size_t bytes)
{
	const uint8_t *end = piece + bytes, *at = piece;

	while ((at = memchr(at, '\0', (size_t)(end - at))) != NULL && ++at < end) {
		size_t rest = (size_t)(end - at);

		if ((*at == 'I' || (*at >= '1' && *at <= '9')) &&
		    memchr(at, '\0', EP_MIN(rest, (size_t)OVERLAP_BYTES)))
			take_string(strings, (const char *)at);
	}
	(void)va;
	return 0;
}

static int read_strings(const struct ep_unwinder_host *host, const struct ep_file *file,
			struct strings *ret)
{
	*ret = (struct strings){0};
	return file_scan(host, file, ".rodata", OVERLAP_BYTES, take_piece, ret);
}

/* --- is it V8, and which? --------------------------------------------------------------------- */

static bool has_much_code(const struct ep_unwinder_host *host, const struct ep_file *file)
{
	struct ep_symbol text;

	return host->file_section(file, ".text", &text) == 0 && text.bytes >= MIN_TEXT_BYTES;
}

/* 0: strings are read where nothing else tells; EP_NOT_MINE. */
static int recognise(const struct ep_unwinder_host *host, const struct ep_file *file,
		     struct strings *strings)
{
	int r;

	if (file_va(host, file, PREFIX "SmiShiftSize") ||
	    file_va(host, file, "_ZN2v82V810GetVersionEv"))
		return 0;
	if (!has_much_code(host, file))
		return EP_NOT_MINE;
	r = read_strings(host, file, strings);
	return r == 0 && !strings->has_trampoline ? EP_NOT_MINE : r;
}

/* v8::internal::Version::major_ and its like are ints in .data (utils/version.cc, 6.2 to 14.6). */
static bool read_version_part(const struct ep_unwinder_host *host, const struct ep_file *file,
			      const char *name, uint32_t *ret)
{
	uint64_t va = file_va(host, file, name);

	return va && host->file_read(file, va, ret, sizeof(*ret)) == 0;
}

static bool read_version(const struct ep_unwinder_host *host, const struct ep_file *file,
			 struct v8_version *ret)
{
	uint32_t major, minor, build, patch;

	if (!read_version_part(host, file, "_ZN2v88internal7Version6major_E", &major) ||
	    !read_version_part(host, file, "_ZN2v88internal7Version6minor_E", &minor) ||
	    !read_version_part(host, file, "_ZN2v88internal7Version6build_E", &build) ||
	    !read_version_part(host, file, "_ZN2v88internal7Version6patch_E", &patch) ||
	    major == 0 || major > 99 || minor > 99)
		return false;
	*ret = (struct v8_version){
		.major = (uint16_t)major,
		.minor = (uint16_t)minor,
		.build = build,
		.patch = patch,
	};
	return true;
}

static int find_version(const struct ep_unwinder_host *host, const struct ep_file *file,
			struct strings *strings, struct v8_version *ret)
{
	int r = 0;

	*ret = (struct v8_version){0};
	if (read_version(host, file, ret))
		return 0;
	if (!strings->has_trampoline)
		r = read_strings(host, file, strings);
	*ret = strings->version;
	return r == -EBADMSG ? 0 : r;
}

/* --- what it publishes ------------------------------------------------------------------------ */

struct visit {
	const struct ep_unwinder_host *host;
	const struct ep_file *file;
	struct v8_published *published;
	struct ep_symbol bss; /* those that are 0 */
};

static int take_constant(void *arg, const char *name, const struct ep_symbol *symbol)
{
	struct visit *visit = arg;
	int32_t value = 0;

	name += strlen(PREFIX);
	if (!v8_published_wants(name))
		return 0;
	if (symbol->va - visit->bss.va >= visit->bss.bytes &&
	    visit->host->file_read(visit->file, symbol->va, &value, sizeof(value)) < 0)
		return 0;
	v8_published_add(visit->published, name, value);
	return 0;
}

static int read_published(const struct ep_unwinder_host *host, const struct ep_file *file,
			  struct v8_published *ret)
{
	struct visit visit = {.host = host, .file = file, .published = ret};
	int r;

	v8_published_init(ret);
	(void)host->file_section(file, ".bss", &visit.bss);
	r = host->file_symbols(file, PREFIX, take_constant, &visit);
	return r == -E2BIG ? 0 : r; /* not V8's: as if there were none */
}

/* --- the isolate of a thread ------------------------------------------------------------------ */

/*
 * `thread_local Isolate* g_current_isolate_` (execution/isolate.cc, 11.x on), or a pthread key
 * (Isolate:: isolate_key_, before that). v8::Isolate::GetCurrent() returns it (api/api.cc),
 * TryGetCurrent() as well.
 */
static uint64_t follow_jump(const struct ep_unwinder_host *host, const struct ep_file *file,
			    uint64_t va)
{
	uint8_t code[5];
	int32_t rel;

	if (host->file_read(file, va, code, sizeof(code)) < 0 || code[0] != 0xe9)
		return va;
	memcpy(&rel, code + 1, sizeof(rel));
	return va + sizeof(code) + (uint64_t)(int64_t)rel;
}

static void find_isolate(struct v8_executable *exe, const struct ep_file *file)
{
	static const char *const getters[] = {
		"_ZN2v87Isolate13TryGetCurrentEv",
		"_ZN2v87Isolate10GetCurrentEv",
	};
	const struct ep_unwinder_host *host = exe->host;

	exe->isolate_key_va = file_va(host, file, "_ZN2v88internal7Isolate12isolate_key_E");
	file_thread_variable(host, file, "_ZN2v88internal18g_current_isolate_E", &exe->isolate);
	for (size_t i = 0; i < EP_LEN(getters); i++) {
		uint64_t va = file_va(host, file, getters[i]);

		if (!va || exe->isolate_key_va || exe->isolate.kind)
			continue;
		va = follow_jump(host, file, va);
		if (host->file_variable(file, va, &exe->isolate) < 0 &&
		    host->file_argument(file, va, &exe->isolate_key_va) < 0)
			exe->isolate_key_va = 0;
	}
}

/*
 * Where InterpreterEntryTrampoline has its frame: after it may be others, for calls of the
 * runtime, which do not push rsi and rdi (builtins/x64/builtins-x64.cc, 7.8 to 14.6):
 *
 *	push %rbp; mov %rsp,%rbp; push %rsi; push %rdi		55 48 89 e5 56 57
 */
static uint32_t find_push(const struct v8_executable *exe, const struct v8_builtin *iet,
			  const uint8_t *code, size_t bytes)
{
	static const uint8_t prologue[] = {0x55, 0x48, 0x89, 0xe5, 0x56, 0x57};
	const uint8_t *at = memmem(code, bytes, prologue, sizeof(prologue));

	return at ? (uint32_t)(iet->va - v8_builtins_va(exe->builtins)) + (uint32_t)(at - code) : 0;
}

/* What a handler returns to takes the array and the offset from the frame: no other code does. */
static uint64_t get_behind(const struct v8_executable *exe, const struct v8_builtin *iet,
			   const uint8_t *code, size_t bytes)
{
	uint64_t off = v8_builtins_dispatch_return(exe->builtins) - iet->va, behind = 0;

	if (bytes >= sizeof(behind) && off <= bytes - sizeof(behind))
		memcpy(&behind, code + off, sizeof(behind));
	return behind;
}

static void read_trampoline(struct v8_executable *exe, const struct ep_file *file)
{
	const struct v8_builtin *iet =
		exe->builtins ? v8_builtins_find(exe->builtins, "InterpreterEntryTrampoline")
			      : NULL;
	uint8_t code[2048];
	size_t bytes;

	if (!iet)
		return;
	bytes = EP_MIN((size_t)iet->bytes, sizeof(code));
	if (exe->host->file_read(file, iet->va, code, bytes) < 0)
		return;
	exe->iet_push = find_push(exe, iet, code, bytes);
	exe->iet_behind = get_behind(exe, iet, code, bytes);
}

/* --- its flags -------------------------------------------------------------------------------- */

/*
 * Where V8 keeps a flag of its command line: a variable of its own (FLAG_name, to 10.x), or a
 * member of v8_flags that only its table of flags names (flags/flags.cc, flags-impl.h; 6.2 to
 * 14.6):
 *
 *	struct Flag { u32 type; const char *name; void *value; ...
 *
 * In the .data of an executable that is not position independent, pointers are there as they will
 * be.
 */
struct flags {
	const struct ep_unwinder_host *host;
	const struct ep_file *file;
	struct ep_symbol rodata, data, bss;
	const char *name;
	uint32_t n_looks;
};

static bool is_in(const struct ep_symbol *section, uint64_t va)
{
	return va - section->va < section->bytes;
}

/* Names have '_' up to 13.x, '-' after that. */
static bool is_same_name(const char *text, const char *name)
{
	for (; *name; text++, name++) {
		if (*text != *name && !(*text == '-' && *name == '_'))
			return false;
	}
	return *text == '\0';
}

static bool is_flag(struct flags *flags, const uint64_t *words)
{
	char text[64] = "";
	size_t bytes = strlen(flags->name) + 1;

	if ((uint32_t)words[0] >= MAX_TYPE || !is_in(&flags->rodata, words[1]) ||
	    (!is_in(&flags->data, words[2]) && !is_in(&flags->bss, words[2])) ||
	    bytes > sizeof(text) || flags->n_looks++ >= MAX_FLAGS)
		return false;
	return flags->host->file_read(flags->file, words[1], text, bytes) == 0 &&
	       text[bytes - 1] == '\0' && is_same_name(text, flags->name);
}

static uint64_t find_in_flags(struct flags *flags)
{
	ep_autofree uint64_t *words = NULL;
	size_t n;

	if (flags->host->file_section(flags->file, ".rodata", &flags->rodata) < 0 ||
	    flags->host->file_section(flags->file, ".data", &flags->data) < 0 ||
	    flags->host->file_section(flags->file, ".bss", &flags->bss) < 0 ||
	    flags->data.bytes > MAX_DATA_BYTES)
		return 0;
	n = flags->data.bytes / sizeof(*words);
	words = malloc(n * sizeof(*words) + 1);
	if (!words || flags->host->file_read(flags->file, flags->data.va, words,
					     n * sizeof(*words)) < 0)
		return 0;
	for (size_t i = 0; i + 3 <= n; i++) {
		if (is_flag(flags, words + i))
			return words[i + 2];
	}
	return 0;
}

static uint64_t find_flag(const struct ep_unwinder_host *host, const struct ep_file *file,
			  const char *name)
{
	struct flags flags = {.host = host, .file = file, .name = name};
	struct ep_symbol symbol;
	char mangled[96];

	snprintf(mangled, sizeof(mangled), "_ZN2v88internal%zuFLAG_%sE",
		 strlen("FLAG_") + strlen(name), name);
	if (host->file_symbol(file, mangled, &symbol) == 0)
		return symbol.va;
	return find_in_flags(&flags);
}

/* --- all of it -------------------------------------------------------------------------------- */

static int fill(struct v8_executable *exe, const struct ep_file *file, struct strings *strings)
{
	struct v8_published published;
	struct v8_version version;
	int r = find_version(exe->host, file, strings, &version);

	if (r == 0)
		r = read_published(exe->host, file, &published);
	if (r < 0)
		return r;
	exe->has_version = version.major != 0;
	v8_layout_fill(&exe->layout, &version, &published);
	find_isolate(exe, file);
	exe->frames_flag_va = find_flag(exe->host, file, "interpreted_frames_native_stack");
	exe->lines_flag_va = find_flag(exe->host, file, "detailed_line_info");
	r = v8_builtins_read(exe->host, file, &exe->builtins);
	if (r == 0)
		read_trampoline(exe, file);
	if (r == -ENODATA && exe->layout.code_builtin_bytes == 4)
		r = v8_metadata_read(&(struct v8_reader){exe->host, file, &(uint32_t){0}},
				     &exe->heap_builtins);
	return r == -ENODATA || r == -EBADMSG || r == -E2BIG ? 0 : r;
}

int v8_probe(const struct ep_unwinder_host *host, const struct ep_file *file, void **ret_executable)
{
	struct strings strings = {0};
	struct v8_executable *exe;
	int r = recognise(host, file, &strings);

	if (r != 0)
		return r;
	exe = calloc(1, sizeof(*exe));
	if (!exe)
		return -ENOMEM;
	exe->host = host;
	r = fill(exe, file, &strings);
	if (r < 0) {
		v8_unload(exe);
		return r;
	}
	*ret_executable = exe;
	return 0;
}

/* --- for the core ----------------------------------------------------------------------------- */

/*
 * The embedded builtins as the core wants them: rows for its unwinder, and names, where the file is
 * stripped. They are called as the linker knows them
 * (snapshot/embedded/platform-embedded-file-writer-base.cc).
 */
static struct ep_code_row row_of(const struct v8_builtin_row *row)
{
	struct ep_code_row ret = {
		.va = row->va,
		.bytes = (uint32_t)(row->va_end - row->va),
		.cfa_reg = row->base == V8_ROW_NONE ? 0 : row->base,
		.cfa_off = row->offset,
		.ra_place = EP_CODE_AT_CFA,
		.ra = -8,
		.fp_place = row->rbp_at ? EP_CODE_AT_CFA : EP_CODE_SAME,
		.fp = row->rbp_at,
	};

	if (row->base == V8_ROW_NONE)
		ret.flags = EP_CODE_UNKNOWN;
	if (row->return_in != V8_RETURN_ON_STACK) {
		ret.ra_place = EP_CODE_IN_REG;
		ret.ra = row->return_in;
	}
	return ret;
}

static int add_rows(const struct v8_executable *exe, const struct ep_file *file,
		    struct ep_description *description)
{
	ep_cleanup(ep_vec_fini) struct ep_vec rows = {0};
	struct ep_code_row some[ROWS];
	size_t len = 0;
	int r = v8_builtins_make_rows(exe->builtins, exe->host, file, &rows);

	for (size_t i = 0; i < rows.len && r == 0; i++) {
		some[len++] = row_of(ep_vec_at(&rows, struct v8_builtin_row, i));
		if (len < ROWS && i + 1 < rows.len)
			continue;
		r = exe->host->add_rows(description, some, len);
		len = 0;
	}
	return r;
}

static int add_symbols(const struct v8_executable *exe, struct ep_description *description)
{
	char name[256];
	int r = 0;

	for (size_t i = 0; i < v8_builtins_count(exe->builtins) && r == 0; i++) {
		const struct v8_builtin *builtin = v8_builtins_get(exe->builtins, i);
		struct ep_symbol symbol = {.va = builtin->va, .bytes = builtin->bytes};

		snprintf(name, sizeof(name), "Builtins_%s", builtin->name);
		if (symbol.bytes)
			r = exe->host->add_symbol(description, &symbol, name);
	}
	return r;
}

int v8_describe(void *executable, const struct ep_file *file, struct ep_description *description)
{
	const struct v8_executable *exe = executable;
	int r;

	if (!exe->builtins || !EP_HAS(exe->host, add_symbol))
		return 0;
	r = add_rows(exe, file, description);
	return r == 0 ? add_symbols(exe, description) : r;
}

void v8_unload(void *executable)
{
	struct v8_executable *exe = executable;

	v8_builtins_free(exe->builtins);
	v8_metadata_free(&exe->heap_builtins);
	free(exe);
}

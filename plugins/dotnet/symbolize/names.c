/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	frame: start ──► its header ──► MethodDesc ──► row of metadata ──► text	methods.h
 *	  │               └ DebugInfo ─┐            │			metadata.h, signature.h
 *	  │                            │            └► PDB of its module ──► line	lines.h
 *	  └ offset ────────────────────┴► IL offset, of it and what is inlined ┘	debug_info.h
 *	R2R: range, map of entry points ──► MethodDesc; section 105 ──► DebugInfo
 *
 * Remembered are names by start, entry or MethodDesc, and where the metadata of a module is;
 * nothing of what is collectible, whose memory may be another's a moment later: it is read anew,
 * between two checks.
 */
#include "plugins/dotnet/symbolize/names.h"

#include "core/base/util.h"
#include "plugins/dotnet/symbolize/debug_info.h"
#include "plugins/dotnet/symbolize/plain.h"
#include "plugins/dotnet/symbolize/signature.h"
#include "plugins/shared/names/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES	2048
#define NAMES_BYTES	(136u << 10)
#define MODULES_BYTES	(64u << 10)
#define PDBS_BYTES	(24u << 10) /* where its rows are; none of its bytes */
_Static_assert(NAMES_BYTES + MODULES_BYTES + PDBS_BYTES <= 224u << 10,
	       "a process has 256 KiB, with what finds it");

struct dotnet_names {
	struct dotnet_reader reader;
	struct dotnet_lines lines;
	struct names_cache *cache;
};

struct text {
	char function[TEXT_BYTES], system[TEXT_BYTES];
};

/* Has its DebugInfo what is inlined? */
enum rich {
	RICH_UNKNOWN = 0,
	RICH_NO,
	RICH_YES,
};

/* What is remembered with a name: where its lines are. In the table of its item. */
struct code {
	uint64_t module; /* 0: it has no lines */
	uint32_t rid;	 /* of the method */
	bool is_kept;	 /* never freed */
	uint8_t rich;	 /* enum rich */
	uint32_t skipped; /* of an image: from the method's begin to the function's, a funclet */
	struct dotnet_debug_info debug;
};

int dotnet_names_new(const struct dotnet_reader *reader, const struct dotnet_files *files,
		     struct dotnet_names **ret)
{
	static const struct names_budget budget = {
		.classes = {[DOTNET_CLASS_NAMES] = NAMES_BYTES,
			    [DOTNET_CLASS_MODULES] = MODULES_BYTES,
			    [DOTNET_CLASS_PDBS] = PDBS_BYTES},
	};
	struct dotnet_names *names = calloc(1, sizeof(*names));
	int r;

	if (!names)
		return -ENOMEM;
	names->reader = *reader;
	r = names_cache_new(&budget, &names->cache);
	if (r < 0) {
		free(names);
		return r;
	}
	names->lines = (struct dotnet_lines){
		.reader = &names->reader, .files = *files, .cache = names->cache};
	dotnet_plain_enter();
	*ret = names;
	return 0;
}

void dotnet_names_free(struct dotnet_names *names)
{
	if (!names)
		return;
	names_cache_free(names->cache);
	dotnet_plain_leave();
	free(names);
}

const struct dotnet_lines *dotnet_names_lines(const struct dotnet_names *names)
{
	return &names->lines;
}

/* --- texts ---------------------------------------------------------------------------------- */

/* `keeps`: it is of no collectible code. */
struct finding {
	struct dotnet_names *names;
	bool keeps;
};

static int find_metadata(const struct finding *finding, uint64_t addr, struct dotnet_metadata *ret)
{
	struct dotnet_names *names = finding->names;
	const struct dotnet_metadata *known =
		finding->keeps ? names_cache_kept(names->cache, DOTNET_KIND_MODULE, addr, 0, NULL)
			       : NULL;
	int r;

	if (known) {
		*ret = *known;
		return 0;
	}
	r = dotnet_metadata_of(&names->reader, addr, ret);
	if (r < 0 || ret->is_copy || !finding->keeps)
		return r;
	return names_cache_keep(names->cache, DOTNET_KIND_MODULE, DOTNET_CLASS_MODULES, addr, 0,
				ret, sizeof(*ret));
}

#define WITH_PARAMETERS (1ull << 32) /* a bit over a token: another item */

/* Of a TypeDef or TypeRef: a type's name is most of what is read for a method's. */
static int get_type(const struct finding *finding, uint64_t module, uint64_t token,
		    struct dotnet_type *ret)
{
	struct dotnet_names *names = finding->names;
	size_t bytes;
	const void *known = finding->keeps ? names_cache_kept(names->cache, DOTNET_KIND_TYPE,
							      module, token, &bytes)
					   : NULL;
	uint32_t rid = (uint32_t)token >> 2;
	struct dotnet_metadata metadata;
	int r;

	if (known) {
		memcpy(ret, known, bytes);
		return 0;
	}
	r = find_metadata(finding, module, &metadata);
	if (r == 0)
		r = (token & 3) == 0 ? dotnet_type_read(&names->reader, &metadata, rid,
							token & WITH_PARAMETERS, ret)
				     : dotnet_type_read_ref(&names->reader, &metadata, rid, ret);
	if (r == 0 && finding->keeps && !metadata.is_copy)
		(void)names_cache_keep(names->cache, DOTNET_KIND_TYPE, DOTNET_CLASS_NAMES, module,
				       token, ret,
				       offsetof(struct dotnet_type, texts) + ret->bytes);
	return r;
}

static int put_type(void *arg, uint64_t module, uint32_t token, struct text_writer *writer)
{
	struct dotnet_type type;
	int r = get_type(arg, module, token, &type);

	if (r == 0)
		dotnet_type_put(&type, writer);
	return r;
}

/* Stubs that the runtime makes of IL, such as those that call C, are methods whose names begin so.
 */
static void write_dynamic(const char *name, struct text *text)
{
	struct text_writer function = {.buf = text->function, .size = TEXT_BYTES};
	struct text_writer system = {.buf = text->system, .size = TEXT_BYTES};
	bool is_stub = strncmp(name, "IL_STUB", 7) == 0;

	text_put_string(&function, is_stub ? "[IL stub]" : name);
	text_end(&function, false);
	text_put_string(&system, name);
	text_end(&system, false);
}

/* Was a copy replaced while it was read? */
static int check_copy(const struct dotnet_reader *reader, uint64_t module,
		      const struct dotnet_metadata *metadata)
{
	struct dotnet_metadata again;
	int r = metadata->is_copy ? dotnet_metadata_of(reader, module, &again) : 0;

	return r == 0 && metadata->is_copy && again.strings != metadata->strings ? -EBADMSG : r;
}

static int write_method(struct finding *finding, uint64_t addr, const struct dotnet_method *method,
			struct text *text)
{
	const struct dotnet_reader *reader = &finding->names->reader;
	const struct dotnet_types types = {put_type, finding};
	struct text_writer function = {.buf = text->function, .size = TEXT_BYTES};
	struct text_writer system = {.buf = text->system, .size = TEXT_BYTES};
	struct dotnet_definition definition;
	struct dotnet_metadata metadata;
	struct dotnet_type type;
	int r = find_metadata(finding, method->module, &metadata);

	if (r == 0)
		r = get_type(finding, method->module,
			     DOTNET_TOKEN_DEF(method->type_rid) | WITH_PARAMETERS, &type);
	if (r == 0)
		r = dotnet_definition_read(reader, &metadata, method->rid, &definition);
	if (r == 0)
		r = dotnet_definition_put(reader, &metadata, &type, &definition, &function);
	if (r == 0)
		r = dotnet_signature_put(reader, addr, method, &type, &definition, &types, &system);
	text_end(&function, false);
	text_end(&system, false);
	return r == 0 ? check_copy(reader, method->module, &metadata) : r;
}

/* Of a MethodDesc; *ret gets what its lines need. */
static int name_method(struct dotnet_names *names, uint64_t addr, struct code *ret,
		       struct text *text)
{
	const struct dotnet_reader *reader = &names->reader;
	struct finding finding = {names, ret->is_kept};
	struct dotnet_method method;
	char name[TEXT_BYTES];
	uint64_t name_addr;
	int r = dotnet_method_read(reader, addr, &method);

	if (r < 0)
		return r;
	if (method.kind == DOTNET_METHOD_DYNAMIC) {
		r = dotnet_read_word(reader, addr + reader->layout->dynamic_name, &name_addr);
		if (r == 0)
			r = memory_read_string(&reader->memory, name_addr, name, sizeof(name), 64);
		if (r == 0)
			write_dynamic(name, text);
		return r == 0 && !*name ? -EBADMSG : r;
	}
	if (method.kind == DOTNET_METHOD_ARRAY) { /* it has no row, and its code is such a stub */
		write_dynamic("IL_STUB_Array", text);
		return 0;
	}
	r = write_method(&finding, addr, &method, text);
	if (r == 0) {
		ret->module = method.module;
		ret->rid = method.rid;
	}
	return r;
}

/* --- code ----------------------------------------------------------------------------------- */

static int read_entry(struct dotnet_names *names, uint64_t entry, struct code *code,
		      uint64_t *ret_method)
{
	const struct dotnet_reader *reader = &names->reader;
	struct dotnet_function function;
	struct dotnet_range range;
	int r = dotnet_range_find(reader, entry, &range);

	if (r == 0 && range.flags & (DOTNET_RANGE_HEAP | DOTNET_RANGE_STUBS))
		r = -EBADMSG;
	if (r == 0)
		r = dotnet_method_of_function(reader, &range, entry, &function);
	if (r < 0)
		return r;
	*ret_method = function.method;
	code->skipped = (uint32_t)(entry - function.begin);
	if (dotnet_debug_of_function(reader, function.info, range.begin, function.index,
				     &code->debug) < 0)
		code->debug = (struct dotnet_debug_info){0};
	return 0;
}

/* JIT code, by where it begins. */
static int read_start(struct dotnet_names *names, uint64_t start, struct code *code,
		      uint64_t *ret_method)
{
	const struct dotnet_reader *reader = &names->reader;
	uint64_t header;
	int r = dotnet_header_of_start(reader, start, &header);

	if (r == 0)
		r = dotnet_read_word(reader, header + reader->layout->header_method, ret_method);
	if (r == 0 && dotnet_debug_of_header(reader, header, &code->debug) < 0)
		code->debug = (struct dotnet_debug_info){0};
	return r;
}

/* Of a MethodDesc that is inlined, else of code. */
static int read_code(struct dotnet_names *names, uint32_t kind, uint64_t word, struct code *code,
		     struct text *text)
{
	uint64_t method = word;
	int r = kind == DOTNET_KIND_ENTRY  ? read_entry(names, word, code, &method)
		: kind == DOTNET_KIND_NAME ? read_start(names, word, code, &method)
					   : 0;

	return r == 0 ? name_method(names, method, code, text) : r;
}

/* Gives a reference, for put_name. What is collectible is not remembered. */
static int get_name(struct dotnet_names *names, uint32_t kind, uint64_t word, bool keeps,
		    struct names_function **ret)
{
	struct code code = {.is_kept = keeps};
	struct names_function *made;
	struct text text;
	int r;

	*ret = keeps ? names_cache_find(names->cache, kind, word, 0, 0) : NULL;
	if (*ret)
		return 0;
	r = read_code(names, kind, word, &code, &text);
	if (r == 0)
		r = names_function_new(text.function, text.system, &code, sizeof(code), &made);
	if (r < 0)
		return r;
	made->item.kind = (uint8_t)kind;
	made->item.class = DOTNET_CLASS_NAMES;
	made->item.key[0] = word;
	if (keeps)
		names_cache_put(names->cache, &made->item);
	*ret = made;
	return 0;
}

static void put_name(struct names_function *name)
{
	if (((const struct code *)name->table)->is_kept)
		names_item_unref(&name->item);
	else
		free(name);
}

/* --- lines and what is inlined -------------------------------------------------------------- */

/* One name of a frame. */
struct told {
	struct names_function *name, *document; /* references; no document: no line */
	struct dotnet_point point;
};

static struct code *code_of(struct names_function *name)
{
	return (struct code *)name->table;
}

static void find_line(struct dotnet_names *names, struct told *told, uint32_t il)
{
	const struct code *code = code_of(told->name);

	if (!code->module || dotnet_lines_find(&names->lines, code->module, code->is_kept,
					       code->rid, il, &told->point, &told->document) < 0)
		told->document = NULL;
}

/* Twice: what was replaced meanwhile would be lines of two methods. */
static int find_offsets(struct dotnet_names *names, const struct code *code, uint32_t off,
			struct dotnet_il ils[1 + DOTNET_MAX_INLINED], uint32_t *ret_n)
{
	struct dotnet_il again[1 + DOTNET_MAX_INLINED];
	uint32_t n;
	int r = dotnet_debug_find(&names->reader, &code->debug, code->skipped + off, ils, ret_n);

	if (r == 0)
		r = dotnet_debug_find(&names->reader, &code->debug, code->skipped + off, again, &n);
	for (uint32_t i = 0; r == 0 && i < *ret_n; i++) {
		if (n != *ret_n || again[i].method != ils[i].method ||
		    again[i].offset != ils[i].offset)
			r = -EBADMSG;
	}
	return r;
}

/* Most code is of assemblies without PDB, as the runtime's own, and has no record of what is
 * inlined. */
static bool says_offsets(struct dotnet_names *names, struct code *code)
{
	int r;

	if (!code->is_kept ||
	    (code->module && !dotnet_lines_are_absent(&names->lines, code->module)))
		return true;
	if (code->rich == RICH_UNKNOWN) {
		r = dotnet_debug_is_rich(&names->reader, &code->debug);
		if (r < 0)
			return true;
		code->rich = r ? RICH_YES : RICH_NO;
	}
	return code->rich == RICH_YES;
}

/* Innermost first; what was inlined and cannot be named is part of its caller. How many. */
static uint32_t tell_code(struct dotnet_names *names, struct names_function *name, uint32_t off,
			  struct told *told)
{
	struct code *code = code_of(name);
	struct dotnet_il ils[1 + DOTNET_MAX_INLINED];
	uint32_t n_ils, n = 0;
	int r = says_offsets(names, code) ? find_offsets(names, code, off, ils, &n_ils) : -ENODATA;

	for (uint32_t i = 0; r == 0 && i + 1 < n_ils; i++) {
		told[n] = (struct told){0};
		if (get_name(names, DOTNET_KIND_METHOD, ils[i].method, code->is_kept,
			     &told[n].name) == 0)
			find_line(names, &told[n++], ils[i].offset);
	}
	told[n] = (struct told){.name = name};
	if (r == 0)
		find_line(names, &told[n], ils[n_ils - 1].offset);
	return n + 1;
}

static int add_told(const struct told *told, dotnet_add_name *add, struct ep_names *to)
{
	const struct names_function *name = told->name;
	const struct ep_name text = {
		.size = sizeof(text),
		.function = name->function,
		.system_name =
			*name->file && strcmp(name->function, name->file) != 0 ? name->file : NULL,
		.file = told->document ? told->document->function : NULL,
		.line = told->point.line,
		.column = told->point.column,
		.start_line = told->point.start_line,
	};

	return add(to, &text);
}

static const char *const stubs[DOTNET_STUBS] = {
	[1] = "[jump stub]",	 [2] = "[precode stub]",   [3] = "[dynamic helper stub]",
	[4] = "[precode stub]",	 [5] = "[precode stub]",   [6] = "[dispatch stub]",
	[7] = "[resolve stub]",	 [8] = "[lookup stub]",	   [9] = "[vtable stub]",
	[DOTNET_STUB_NO_RANGE] = "[helper stub]",
	[DOTNET_STUB_DELAY_LOAD] = "[delay-load stub]",
};

/* The name of what a precode leads to. A DynamicMethod may be another one by now, as its MethodDesc
 * is used again. */
static int get_target(struct dotnet_names *names, uint64_t addr, uint32_t kind,
		      struct names_function **ret)
{
	struct dotnet_method method;
	uint64_t desc;
	int r = kind == DOTNET_STUB_PRECODE || kind == DOTNET_STUB_FIXUP_PRECODE
			? dotnet_method_of_precode(&names->reader, addr, kind, &desc)
			: -ENODATA;

	if (r == 0)
		r = dotnet_method_read(&names->reader, desc, &method);
	if (r == 0 && method.kind == DOTNET_METHOD_DYNAMIC)
		r = -ENODATA;
	return r == 0 ? get_name(names, DOTNET_KIND_METHOD, desc, true, ret) : r;
}

/* "[precode stub] Target"; what has no target has its kind. */
static int name_stub(struct dotnet_names *names, const struct ep_raw_frame *frame,
		     dotnet_add_name *add, struct ep_names *to)
{
	const char *known = frame->aux < DOTNET_STUBS ? stubs[frame->aux] : NULL;
	const char *kind = known ? known : "[stub]";
	struct ep_name name = {.size = sizeof(name), .function = kind};
	char function[TEXT_BYTES + 32], system[TEXT_BYTES + 32];
	struct names_function *target;
	int r = get_target(names, frame->words[0], frame->aux, &target);

	if (r == -ESRCH || r == -ETIME)
		return r;
	if (r == 0) {
		snprintf(function, sizeof(function), "%s %s", kind, target->function);
		snprintf(system, sizeof(system), "%s %s", kind, target->file);
		put_name(target);
		name.function = function;
		name.system_name = system;
	}
	return add(to, &name);
}

/* Whether a frame's MethodDesc is what BPF saw. */
static bool is_same(struct dotnet_names *names, const struct ep_raw_frame *frame)
{
	uint64_t method;

	return DOTNET_FRAME(frame->flags) != DOTNET_FRAME_COLLECTIBLE ||
	       (dotnet_method_of_start(&names->reader, frame->words[0], &method) == 0 &&
		dotnet_method_check(&names->reader, method) == frame->words[1]);
}

int dotnet_names_of(struct dotnet_names *names, const struct ep_raw_frame *frame,
		    dotnet_add_name *add, struct ep_names *to)
{
	uint32_t what = DOTNET_FRAME(frame->flags), n;
	uint32_t kind = what == DOTNET_FRAME_R2R ? DOTNET_KIND_ENTRY : DOTNET_KIND_NAME;
	struct told told[1 + DOTNET_MAX_INLINED];
	struct names_function *name;
	int r;

	if (frame->n_words != (what == DOTNET_FRAME_COLLECTIBLE ? 2u : 1u))
		return -EBADMSG;
	if (what == DOTNET_FRAME_STUB)
		return name_stub(names, frame, add, to);
	if (!is_same(names, frame))
		return EP_FRAME_GONE;
	r = get_name(names, kind, frame->words[0], what != DOTNET_FRAME_COLLECTIBLE, &name);
	if (r < 0)
		return r == -ENODATA ? EP_FRAME_GONE : memory_frame_gone(r);
	n = tell_code(names, name, frame->aux, told);
	if (!is_same(names, frame))
		r = EP_FRAME_GONE;
	for (uint32_t i = 0; i < n; i++) {
		if (r == 0)
			r = add_told(&told[i], add, to);
		if (told[i].document)
			names_item_unref(&told[i].document->item);
		put_name(told[i].name);
	}
	return r;
}

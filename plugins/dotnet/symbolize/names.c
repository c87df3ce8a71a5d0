/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	frame: start ──► its header ──► MethodDesc ──► row of metadata ──► text	methods.h, metadata.h
 *	  └ R2R: range, map of entry points ──┘
 *
 * Remembered are names by start or entry, and where the metadata of a module is; neither of what
 * is collectible, whose memory may be another's a moment later: it is read anew, between two checks.
 */
#include "plugins/dotnet/symbolize/names.h"

#include "core/base/util.h"
#include "plugins/dotnet/symbolize/metadata.h"
#include "plugins/shared/names/cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES     2048
#define NAMES_BYTES    (128u << 10)
#define MODULES_BYTES  (48u << 10)
#define OVERSIZED_BYTES (16u << 10)

enum kind {
	KIND_NAME = 0, /* of JIT code */
	KIND_ENTRY,    /* of a function of an image */
	KIND_MODULE,
};

enum class {
	CLASS_NAMES = 0,
	CLASS_MODULES,
};

struct module {
	struct names_item item;
	struct dotnet_metadata metadata;
};

struct dotnet_names {
	struct dotnet_reader reader;
	struct names_cache *cache;
};

struct text {
	char function[TEXT_BYTES], system[TEXT_BYTES];
};

int dotnet_names_new(const struct dotnet_reader *reader, struct dotnet_names **ret)
{
	static const struct names_budget budget = {
		.classes = {[CLASS_NAMES] = NAMES_BYTES, [CLASS_MODULES] = MODULES_BYTES},
		.oversized = OVERSIZED_BYTES,
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
	*ret = names;
	return 0;
}

void dotnet_names_free(struct dotnet_names *names)
{
	if (names)
		names_cache_free(names->cache);
	free(names);
}

/* --- texts ------------------------------------------------------------------------------------------------ */

/* `keeps`: it is of no collectible code. */
static int find_metadata(struct dotnet_names *names, uint64_t module, bool keeps, struct dotnet_metadata *ret)
{
	const struct module *known = keeps ? names_cache_peek(names->cache, KIND_MODULE, module, 0, 0) : NULL;
	struct module *made;
	int r;

	if (known) {
		*ret = known->metadata;
		return 0;
	}
	r = dotnet_metadata_of(&names->reader, module, ret);
	if (r < 0 || !keeps || ret->is_copy)
		return r;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->item.kind = KIND_MODULE;
	made->item.class = CLASS_MODULES;
	made->item.key[0] = module;
	made->item.bytes = sizeof(*made);
	made->metadata = *ret;
	names_cache_put(names->cache, &made->item);
	names_item_unref(&made->item);
	return 0;
}

static int write_method(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
			const struct dotnet_method *method, bool raw, char *buf)
{
	struct text_writer writer = {.buf = buf, .size = TEXT_BYTES};
	int r = dotnet_metadata_type(reader, metadata, method->type_rid, raw, &writer);

	text_put(&writer, '.');
	if (r == 0)
		r = dotnet_metadata_method(reader, metadata, method->rid, &writer);
	text_end(&writer, false);
	return r;
}

/* Stubs that the runtime makes of IL, such as those that call C, are methods whose names begin so. */
static void write_dynamic(const char *name, struct text *text)
{
	struct text_writer function = {.buf = text->function, .size = TEXT_BYTES};
	struct text_writer system = {.buf = text->system, .size = TEXT_BYTES};
	bool is_stub = strncmp(name, "IL_STUB", 7) == 0;
	const char *shown = is_stub ? "[IL stub]" : name;

	text_put_utf8(&function, (const uint8_t *)shown, strlen(shown));
	text_end(&function, false);
	text_put_utf8(&system, (const uint8_t *)name, strlen(name));
	text_end(&system, false);
}

/* Was a copy replaced while it was read? */
static int check_copy(const struct dotnet_reader *reader, uint64_t module, const struct dotnet_metadata *metadata)
{
	struct dotnet_metadata again;
	int r = metadata->is_copy ? dotnet_metadata_of(reader, module, &again) : 0;

	return r == 0 && metadata->is_copy && again.strings != metadata->strings ? -EBADMSG : r;
}

static int name_method(struct dotnet_names *names, uint64_t addr, bool keeps, struct text *text)
{
	const struct dotnet_reader *reader = &names->reader;
	struct dotnet_metadata metadata;
	struct dotnet_method method;
	char name[TEXT_BYTES];
	int r = dotnet_method_read(reader, addr, &method);

	if (r < 0)
		return r;
	if (method.kind == DOTNET_METHOD_DYNAMIC) {
		r = dotnet_method_dynamic_name(reader, addr, name, sizeof(name), NULL);
		if (r == 0)
			write_dynamic(name, text);
		return r == 0 && !*name ? -EBADMSG : r;
	}
	if (method.kind == DOTNET_METHOD_ARRAY) { /* it has no row, and its code is such a stub */
		write_dynamic("IL_STUB_Array", text);
		return 0;
	}
	r = find_metadata(names, method.module, keeps, &metadata);
	if (r == 0)
		r = write_method(reader, &metadata, &method, false, text->function);
	if (r == 0)
		r = write_method(reader, &metadata, &method, true, text->system);
	return r == 0 ? check_copy(reader, method.module, &metadata) : r;
}

/* --- frames ------------------------------------------------------------------------------------------------ */

static int name_entry(struct dotnet_names *names, uint64_t entry, struct text *text)
{
	struct dotnet_range range;
	uint64_t method;
	int r = dotnet_range_find(&names->reader, entry, &range);

	if (r == 0 && range.flags & (DOTNET_RANGE_HEAP | DOTNET_RANGE_STUBS))
		r = -EBADMSG;
	if (r == 0)
		r = dotnet_method_of_function(&names->reader, &range, entry, &method);
	return r == 0 ? name_method(names, method, true, text) : r;
}

static int name_start(struct dotnet_names *names, uint64_t start, struct text *text)
{
	uint64_t method;
	int r = dotnet_method_of_start(&names->reader, start, &method);

	return r == 0 ? name_method(names, method, true, text) : r;
}

/* The words of the process are what BPF saw, before and after they were read. */
static int name_collectible(struct dotnet_names *names, uint64_t start, uint64_t check, struct text *text)
{
	uint64_t method;
	int r = dotnet_method_of_start(&names->reader, start, &method);

	if (r == -ESRCH)
		return r;
	if (r < 0 || dotnet_method_check(&names->reader, method) != check)
		return EP_FRAME_GONE;
	r = name_method(names, method, false, text);
	if (r == 0 && dotnet_method_check(&names->reader, method) != check)
		return EP_FRAME_GONE;
	return r;
}

static int add_text(const char *function, const char *system, uint32_t unnamed,
		    int (*add)(struct ep_names *names, const struct ep_name *name), struct ep_names *to)
{
	const struct ep_name name = {
		.size = sizeof(name),
		.function = function,
		.system_name = *system && strcmp(function, system) != 0 ? system : NULL,
		.unnamed = unnamed,
	};

	return add(to, &name);
}

static const char *const stubs[DOTNET_STUBS] = {
	[1] = "[jump stub]",	 [2] = "[precode stub]",   [3] = "[dynamic helper stub]",
	[4] = "[precode stub]",	 [5] = "[precode stub]",   [6] = "[dispatch stub]",
	[7] = "[resolve stub]",	 [8] = "[lookup stub]",	   [9] = "[vtable stub]",
	[DOTNET_STUB_NO_RANGE] = "[helper stub]",
	[DOTNET_STUB_DELAY_LOAD] = "[delay-load stub]",
};

static const char *stub_name(uint64_t kind)
{
	return kind < DOTNET_STUBS && stubs[kind] ? stubs[kind] : "[stub]";
}

static int remember(struct dotnet_names *names, uint32_t kind, uint64_t word, const struct text *text)
{
	struct names_function *made;
	int r = names_function_new(text->function, text->system, NULL, 0, &made);

	if (r < 0)
		return r;
	made->item.kind = (uint8_t)kind;
	made->item.class = CLASS_NAMES;
	made->item.key[0] = word;
	names_cache_put(names->cache, &made->item);
	names_item_unref(&made->item);
	return 0;
}

int dotnet_names_of(struct dotnet_names *names, const struct ep_raw_frame *frame,
		    int (*add)(struct ep_names *names, const struct ep_name *name), struct ep_names *to)
{
	uint32_t what = DOTNET_FRAME(frame->flags);
	uint32_t kind = what == DOTNET_FRAME_R2R ? KIND_ENTRY : KIND_NAME;
	const struct names_function *known;
	struct text text;
	int r;

	if (frame->n_words != (what == DOTNET_FRAME_COLLECTIBLE ? 2u : 1u))
		return -EBADMSG;
	if (what == DOTNET_FRAME_STUB)
		return add_text(stub_name(frame->aux), "", 0, add, to);
	if (what == DOTNET_FRAME_COLLECTIBLE) {
		r = name_collectible(names, frame->words[0], frame->words[1], &text);
	} else {
		known = names_cache_peek(names->cache, kind, frame->words[0], 0, 0);
		if (known)
			return add_text(known->function, known->file, 0, add, to);
		r = what == DOTNET_FRAME_R2R ? name_entry(names, frame->words[0], &text)
					     : name_start(names, frame->words[0], &text);
		if (r == 0)
			r = remember(names, kind, frame->words[0], &text);
	}
	if (r == 0)
		return add_text(text.function, text.system, 0, add, to);
	return r == -ENODATA ? EP_FRAME_GONE : memory_frame_gone(r);
}

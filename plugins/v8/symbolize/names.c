/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a name true is the order: a new frame's function is seen to be the one that BPF saw,
 * then read, then seen to be that still. What is known of an interpreted frame by the same words
 * needs no read any more; who asks for one of compiled code again may mean other code at the same
 * address.
 */
#include "plugins/v8/symbolize/names.h"

#include "core/base/map.h"
#include "core/base/util.h"
#include "plugins/v8/symbolize/codes.h"
#include "plugins/v8/symbolize/functions.h"
#include "plugins/v8/symbolize/wasm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FALLBACK   " [function start]" /* after the system name */
#define NAME_BYTES 1024

struct v8_names {
	struct v8_context context;
	struct v8_layout layout;
	const char *(*builtin_name)(void *arg, uint32_t id);
	void *builtin_arg;
};

/* One name of a frame. */
struct part {
	struct v8_function *function; /* NULL: text */
	struct v8_place place;
	bool is_new;   /* called as a constructor */
	bool is_start; /* the line is the function's first: no table of positions */
};

/* What is known of a frame; key: its words, aux and flags, mixed. */
struct frame {
	struct names_item item;
	uint32_t n;
	bool is_nameless; /* the text stands for a function that nobody could tell */
	char *text; /* after the parts; NULL: none */
	struct part parts[];
};

struct parts {
	struct part at[V8_MAX_INLINED];
	uint32_t n;
};

struct sink {
	int (*add)(struct ep_names *to, const struct ep_name *name);
	struct ep_names *to;
};

const struct names_budget v8_names_budget = {
	.classes = {[V8_CLASS_FRAMES] = V8_NAMES_MAX_BYTES / 8,
		    [V8_CLASS_OTHERS] = V8_NAMES_MAX_BYTES - V8_NAMES_MAX_BYTES / 8},
	.oversized = V8_NAMES_MAX_LARGE,
};

int v8_names_new(const struct memory *memory, const struct v8_layout *layout,
		 const struct v8_state *state, struct v8_names **ret)
{
	struct v8_names *names = calloc(1, sizeof(*names));
	int r;

	if (!names)
		return -ENOMEM;
	names->layout = *layout;
	r = v8_heap_init(&names->context.heap, memory, &names->layout);
	if (r == 0)
		r = names_cache_new(&v8_names_budget, &names->context.cache);
	if (r < 0) {
		v8_names_free(names);
		return r;
	}
	memcpy(names->context.cookie_masks, state->cookie_masks, sizeof(state->cookie_masks));
	names->context.cookie_at = state->cookie_at;
	names->context.is_unique = state->flags & V8_STATE_UNIQUE_ID;
	*ret = names;
	return 0;
}

void v8_names_set_builtins(struct v8_names *names, const char *(*name_of)(void *arg, uint32_t id),
			   void *arg)
{
	names->builtin_name = name_of;
	names->builtin_arg = arg;
}

void v8_names_free(struct v8_names *names)
{
	if (!names)
		return;
	names_cache_free(names->context.cache);
	v8_heap_fini(&names->context.heap);
	free(names);
}

size_t v8_names_bytes(const struct v8_names *names)
{
	return sizeof(*names) + V8_HEAP_PAGES * sizeof(struct v8_page) +
	       names_cache_bytes(names->context.cache);
}

/* ---- what is known ---- */

static void hash_frame(const struct ep_raw_frame *frame, uint64_t key[2])
{
	uint32_t n = EP_MIN(frame->n_words, (uint32_t)EP_FRAME_MAX_WORDS);
	uint32_t flags = frame->flags & ~(uint32_t)EP_FRAME_ENTRY;
	uint64_t a, b;

	flags &= ~(uint32_t)EP_FRAME_INTERRUPTED; /* of those of the interpreter, which are kept, it
						     says nothing */
	a = flags | (uint64_t)frame->aux << 32;
	b = ~a;

	for (uint32_t i = 0; i < n; i++) {
		a = ep_mix64(a ^ frame->words[i]);
		b = ep_mix64(b + frame->words[i] * 0x9e3779b97f4a7c15ull);
	}
	key[0] = a;
	key[1] = b;
}

static void free_frame(struct names_item *item)
{
	struct frame *frame = EP_CONTAINER(item, struct frame, item);

	for (uint32_t i = 0; i < frame->n; i++)
		names_item_unref(&frame->parts[i].function->item);
	free(frame);
}

/* A text, or parts, whose functions it takes over. */
static int keep(struct v8_names *names, const uint64_t key[2], const struct parts *parts,
		const char *text, struct frame **ret)
{
	uint32_t n = parts ? parts->n : 0;
	size_t text_bytes = text ? strlen(text) + 1 : 0, parts_bytes = n * sizeof(struct part);
	struct frame *frame = calloc(1, sizeof(*frame) + parts_bytes + text_bytes);

	if (!frame) {
		for (uint32_t i = 0; i < n; i++)
			names_item_unref(&parts->at[i].function->item);
		return -ENOMEM;
	}
	frame->item = (struct names_item){.kind = V8_ITEM_FRAME, .class = V8_CLASS_FRAMES,
					  .key = {key[0], key[1]},
					  .bytes = sizeof(*frame) + parts_bytes + text_bytes,
					  .free = free_frame};
	frame->n = n;
	if (parts_bytes)
		memcpy(frame->parts, parts->at, parts_bytes);
	if (text) {
		frame->text = (char *)frame->parts + parts_bytes;
		memcpy(frame->text, text, text_bytes);
	}
	names_cache_put(names->context.cache, &frame->item);
	*ret = frame;
	return 0;
}

static int add_part(const struct sink *sink, const struct part *part)
{
	const struct v8_function *function = part->function;
	char text[NAME_BYTES], system_name[NAME_BYTES + sizeof(FALLBACK)];
	struct ep_name name = {
		.size = sizeof(name),
		.line = part->place.line,
		.column = part->place.column,
		.start_line = function->start_line,
		.function = function->name,
		.file = function->script && function->script->file[0] ? function->script->file :
									NULL,
	};

	if (part->is_new || function->is_constructor) {
		snprintf(text, sizeof(text), "new %s", function->name);
		name.function = text;
	}
	if (part->is_start) {
		snprintf(system_name, sizeof(system_name), "%s" FALLBACK, name.function);
		name.system_name = system_name;
		name.line = function->start_line;
	}
	return sink->add(sink->to, &name);
}

static int add_frame(const struct sink *sink, const struct frame *frame)
{
	int r = 0;

	if (frame->text) {
		struct ep_name name = {
			.size = sizeof(name),
			.function = frame->text,
			.unnamed = frame->is_nameless ? EP_UNNAMED_UNREADABLE : EP_UNNAMED_NONE,
		};

		return sink->add(sink->to, &name);
	}
	for (uint32_t i = 0; r == 0 && i < frame->n; i++)
		r = add_part(sink, &frame->parts[i]);
	return r;
}

/* ---- functions ---- */

/* Outside of the function itself there is no place of it: then it is not its table. */
static bool is_within(const struct v8_function *function, int32_t off)
{
	return off >= 0 && (function->start < 0 || off >= function->start) &&
	       (function->end < 0 || off <= function->end);
}

static int place_part(struct v8_names *names, struct part *part, int32_t off)
{
	const struct v8_function *function = part->function;

	if (!function->script)
		return 0;
	if (off == V8_AT_START)
		off = function->start;
	part->is_start = !is_within(function, off);
	if (part->is_start)
		return 0;
	return v8_script_place(&names->context.heap, names->context.cache, function->script,
			       (uint32_t)off, &part->place);
}

static bool is_partial(const struct frame *frame)
{
	for (uint32_t i = 0; i < frame->n; i++) {
		if (frame->parts[i].function->is_partial)
			return true;
	}
	return false;
}

static int add_call(struct v8_names *names, const struct v8_call *call, const uint64_t *cookie,
		    struct parts *parts)
{
	struct part *part = &parts->at[parts->n];
	int r;

	*part = (struct part){0};
	r = v8_function_get(&names->context, call->function_info, cookie, &part->function);
	if (r < 0)
		return r;
	parts->n++;
	return place_part(names, part, call->script_off);
}

/* The last word of a function: v8_shared.h. */
static uint64_t addr_of(const struct ep_raw_frame *frame)
{
	return frame->words[2] & ((1ull << V8_THREAD_SHIFT) - 1);
}

static bool is_function(const struct ep_raw_frame *frame)
{
	enum v8_frame kind = V8_FRAME(frame->flags);

	return (kind == V8_FRAME_INTERPRETED || kind == V8_FRAME_COMPILED) && frame->n_words >= 3;
}

/* Where the code or its tables cannot be read: the function alone, which BPF is sure of. 1: it is
 * an adapter. */
static int find_calls(struct v8_names *names, const struct ep_raw_frame *frame,
		      struct v8_stack *ret)
{
	struct v8_heap *heap = &names->context.heap;
	bool is_return = !(frame->flags & EP_FRAME_INTERRUPTED);
	struct v8_code_object code = {.kind = V8_CODE_OTHER};
	uint64_t addr = addr_of(frame), array = addr;
	int32_t off = V8_UNKNOWN_PLACE;
	int r = 0;

	if (frame->flags & V8_FRAME_FROM_REGISTER) {
		off = V8_AT_START;
	} else if (V8_FRAME(frame->flags) == V8_FRAME_INTERPRETED) {
		if (frame->aux != V8_OFFSET_UNKNOWN)
			r = v8_bytecode_place(heap, array, frame->aux, &off);
	} else {
		r = v8_code_find(heap, addr, &code);
		if (r == 0 && code.kind == V8_CODE_JS_TO_WASM)
			return 1;
		if (r == 0)
			r = v8_code_stack(heap, &code, addr, is_return, frame->words[0], ret);
		if (r == 0)
			return 0;
		if (names->layout.version.major < 7 && code.kind == V8_CODE_BUILTIN &&
		    frame->aux != V8_OFFSET_UNKNOWN) {
			/* The interpreter, which was not found; v8_shared.h. Later aux is no
			 * offset. */
			r = v8_bytecodes_of(heap, frame->words[0], &array);
			if (r == 0)
				r = v8_bytecode_place(heap, array, frame->aux, &off);
		}
	}
	if (r < 0 && r != -EBADMSG && r != -EFAULT)
		return r;
	ret->calls[0] = (struct v8_call){.function_info = frame->words[0], .script_off = off};
	ret->n = 1;
	return 0;
}

static int read_calls(struct v8_names *names, const struct ep_raw_frame *frame,
		      const struct v8_stack *stack, struct parts *parts)
{
	uint64_t cookie = 0;
	int r = 0;

	parts->n = 0;
	for (uint32_t i = 0; r == 0 && i < stack->n; i++)
		r = add_call(names, &stack->calls[i], i + 1 == stack->n ? &frame->words[1] : NULL,
			     parts);
	if (r == 0)
		r = v8_cookie_read(&names->context, frame->words[0], &cookie);
	if (r == 0 && cookie != frame->words[1])
		r = -EBADMSG;
	if (r == 0) {
		parts->at[parts->n - 1].is_new = frame->flags & V8_FRAME_CONSTRUCT;
		return 0;
	}
	while (parts->n > 0)
		names_item_unref(&parts->at[--parts->n].function->item);
	return r;
}

static int read_function_frame(struct v8_names *names, const struct ep_raw_frame *frame,
			       const uint64_t key[2], struct frame **ret)
{
	struct v8_stack stack;
	struct parts parts;
	uint64_t cookie;
	int r;

	if (frame->n_words < 3)
		return -EBADMSG;
	r = v8_cookie_read(&names->context, frame->words[0], &cookie);
	if (r == 0 && cookie != frame->words[1])
		r = -EBADMSG;
	if (r == 0)
		r = find_calls(names, frame, &stack);
	if (r > 0)
		return keep(names, key, NULL, "(js-to-wasm)", ret); /* V8's name of such code */
	if (r == 0)
		r = read_calls(names, frame, &stack, &parts);
	return r < 0 ? r : keep(names, key, &parts, NULL, ret);
}

/* ---- other frames ---- */

/* By what V8 says that its code is; that of functions comes here where BPF could not read which. */
static const char *describe_code(enum v8_code_kind kind)
{
	switch (kind) {
	case V8_CODE_OPTIMIZED:
	case V8_CODE_BASELINE:
		return "(function)";
	case V8_CODE_BUILTIN:
		return "(builtin)";
	case V8_CODE_HANDLER:
		return "(bytecode handler)";
	case V8_CODE_STUB:
		return "(stub)";
	case V8_CODE_JS_TO_WASM:
		return "(js-to-wasm)";
	case V8_CODE_WASM_TO_JS:
		return "(wasm-to-js)";
	default:
		return "(code)";
	}
}

/*
 * 8 and 10: a builtin by its number in its code; called as those that are embedded in later ones.
 * False: it may be a function's, and has no name.
 */
static bool name_code(struct v8_names *names, uint64_t pc, char buf[NAME_BYTES])
{
	const struct v8_layout *layout = &names->layout;
	const char *name = NULL;
	struct v8_code_object code = {.kind = V8_CODE_OTHER};
	int32_t id;

	v8_heap_forget(&names->context.heap);
	if (v8_code_find(&names->context.heap, pc, &code) == 0 && names->builtin_name &&
	    layout->code_builtin_bytes == 4 &&
	    v8_field_int(&names->context.heap, code.object, layout->code_builtin, &id) == 0 &&
	    id >= 0)
		name = names->builtin_name(names->builtin_arg, (uint32_t)id);
	if (name)
		snprintf(buf, NAME_BYTES, "Builtins_%s", name);
	else
		snprintf(buf, NAME_BYTES, "%s", describe_code(code.kind));
	return name || (code.kind != V8_CODE_OPTIMIZED && code.kind != V8_CODE_BASELINE &&
			code.kind != V8_CODE_OTHER);
}

static int read_text_frame(struct v8_names *names, const struct ep_raw_frame *frame,
			   const uint64_t key[2], struct frame **ret)
{
	char name[NAME_BYTES];
	const char *text = name;
	bool is_named = true;
	int r;

	switch (V8_FRAME(frame->flags)) {
	case V8_FRAME_GC:
		text = "(garbage collector)"; /* as V8's own profiler calls it */
		break;
	case V8_FRAME_REGEXP:
		text = "(regexp)";
		break;
	case V8_FRAME_TO_JS:
		text = "(wasm-to-js)"; /* as V8's own name of such code */
		break;
	case V8_FRAME_CODE:
	case V8_FRAME_EXIT:
		if (frame->n_words < 1)
			return -EBADMSG;
		is_named = name_code(names, frame->words[0], name);
		break;
	default:
		return -EBADMSG;
	}
	r = keep(names, key, NULL, text, ret);
	if (r == 0)
		(*ret)->is_nameless = !is_named;
	return r;
}

static int read_wasm_frame(struct v8_names *names, const struct ep_raw_frame *frame,
			   const uint64_t key[2], struct frame **ret)
{
	char text[NAME_BYTES] = "wasm ";
	size_t len = strlen(text);
	bool is_named;
	int r;

	if (frame->n_words < 2)
		return -EBADMSG;
	v8_heap_forget(&names->context.heap);
	r = v8_wasm_name(&names->context.heap, names->context.cache, frame->words[0],
			 frame->words[1], !(frame->flags & EP_FRAME_INTERRUPTED), text + len,
			 sizeof(text) - len);
	is_named = r == 0;
	if (r == -EBADMSG || r == -EFAULT || r == -ENOTSUP) {
		snprintf(text + len, sizeof(text) - len, "(function)");
		r = 0;
	}
	if (r == 0)
		r = keep(names, key, NULL, text, ret);
	if (r == 0)
		(*ret)->is_nameless = !is_named;
	return r;
}

static int read_frame(struct v8_names *names, const struct ep_raw_frame *frame,
		      const uint64_t key[2], struct frame **ret)
{
	switch (V8_FRAME(frame->flags)) {
	case V8_FRAME_INTERPRETED:
	case V8_FRAME_COMPILED:
		return read_function_frame(names, frame, key, ret);
	case V8_FRAME_WASM:
		return read_wasm_frame(names, frame, key, ret);
	default:
		return read_text_frame(names, frame, key, ret);
	}
}

/*
 * Where memory is gone, of the process or of a worker's heap, a function that was named before
 * still has its name. r: none such. A cookie that is not its own alone may be another function's by
 * now, if there still is one.
 */
static int add_known(struct v8_names *names, const struct ep_raw_frame *raw, int r,
		     const struct sink *sink)
{
	struct part part = {.is_new = raw->flags & V8_FRAME_CONSTRUCT};

	if (!is_function(raw) || (r != -ESRCH && !names->context.is_unique))
		return r;
	part.function = names_cache_find(names->context.cache, V8_ITEM_FUNCTION, raw->words[0],
					 v8_function_key(&names->context, raw->words[1]), 0);
	if (!part.function)
		return r;
	part.is_start = part.function->script != NULL;
	r = add_part(sink, &part);
	names_item_unref(&part.function->item);
	return r;
}

int v8_names_of(struct v8_names *names, const struct ep_raw_frame *raw,
		int (*add)(struct ep_names *to, const struct ep_name *name), struct ep_names *to)
{
	struct sink sink = {.add = add, .to = to};
	bool is_kept = V8_FRAME(raw->flags) == V8_FRAME_INTERPRETED;
	struct frame *frame = NULL;
	uint64_t key[2];
	int r = 0;

	v8_heap_limit(&names->context.heap);
	names->context.heap.thread =
		is_function(raw) ? (uint16_t)(raw->words[2] >> V8_THREAD_SHIFT) : 0;
	hash_frame(raw, key);
	if (is_kept)
		frame = names_cache_find(names->context.cache, V8_ITEM_FRAME, key[0], key[1], 0);
	if (!frame)
		r = read_frame(names, raw, key, &frame);
	if (r == -ESRCH || r == -EFAULT)
		return memory_frame_gone(add_known(names, raw, r, &sink));
	if (r < 0)
		return memory_frame_gone(r);
	if (!is_kept || is_partial(frame))
		names_cache_remove(&frame->item);
	r = add_frame(&sink, frame);
	names_item_unref(&frame->item);
	return r;
}

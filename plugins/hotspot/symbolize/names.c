/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a name true is the order: a new frame's nmethod or Method is seen to be the one that
 * BPF saw, then read, then seen to be that still. What is known by the same words needs no read any
 * more.
 */
#include "plugins/hotspot/symbolize/names.h"

#include "core/base/map.h"
#include "core/base/util.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/symbolize/nmethods.h"
#include "plugins/hotspot/symbolize/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STUB_BYTES  256
#define KNOWN_LEN   1024 /* a power of two */
#define NAME_BYTES  2800 /* of a system name: class, method, signature */
#define APPROXIMATE " [approximate]"

/*
 * What a null check goes on at is a call into the VM, after a few moves: seen up to 130 bytes of
 * them. C2 may also have it go to a handler elsewhere, without a call of its own; then the rule is
 * the usual one.
 */
#define MAX_TRAP_BYTES 128

struct hotspot_names {
	struct memory memory;
	struct hotspot_methods methods;
	struct names_cache *cache;
	uint32_t excluded;
	uint64_t approximate;
	uint64_t known[KNOWN_LEN]; /* interpreted frames that were checked: see is_known */
};

/* One name of a compiled frame. */
struct part {
	struct hotspot_method *method;
	int32_t bci;
	bool has_bci, is_approximate;
};

/* The parts of one frame, innermost first. */
struct parts {
	struct part at[HOTSPOT_MAX_CHAIN];
	uint32_t n;
};

struct sink {
	int (*add)(struct ep_names *to, const struct ep_name *name);
	struct ep_names *to;
};

int hotspot_names_new(const struct memory *memory, const struct hotspot_layout *layout,
		      struct hotspot_names **ret)
{
	struct hotspot_names *names = calloc(1, sizeof(*names));
	int r;

	if (!names)
		return -ENOMEM;
	r = names_cache_new(&(struct names_budget){.classes = {HOTSPOT_NAMES_MAX_BYTES},
						   .oversized = HOTSPOT_NAMES_MAX_LARGE},
			    &names->cache);
	if (r < 0) {
		free(names);
		return r;
	}
	names->memory = *memory;
	/* A guess, until data tell: the stream of fields came one release after the newer code. */
	names->excluded = hotspot_has(layout, HOTSPOT_F_names_class_fields);
	names->methods = (struct hotspot_methods){
		.memory = &names->memory,
		.layout = layout,
		.cache = names->cache,
		.excluded = &names->excluded,
	};
	*ret = names;
	return 0;
}

void hotspot_names_free(struct hotspot_names *names)
{
	if (!names)
		return;
	names_cache_free(names->cache);
	free(names);
}

size_t hotspot_names_bytes(const struct hotspot_names *names)
{
	return sizeof(*names) + names_cache_bytes(names->cache);
}

uint64_t hotspot_names_take_approximate(struct hotspot_names *names)
{
	uint64_t n = names->approximate;

	names->approximate = 0;
	return n;
}

static int add_text(const struct sink *sink, const char *text)
{
	struct ep_name name = {.size = sizeof(name), .function = text};

	return sink->add(sink->to, &name);
}

static int add_part(const struct sink *sink, const struct part *part)
{
	const struct hotspot_method *method = part->method;
	const struct hotspot_line *line =
		part->has_bci ? hotspot_method_line(method, part->bci) : NULL;
	char system_name[NAME_BYTES];
	struct ep_name name = {
		.size = sizeof(name),
		.line = line ? line->line : 0,
		.start_line = method->start_line,
		.function = method->function,
		.system_name = method->system_name,
		.file = method->files[line ? line->file : 0],
	};

	if (line && line->file)
		name.start_line = 0; /* of another file */
	if (part->is_approximate) {
		snprintf(system_name, sizeof(system_name), "%s" APPROXIMATE, method->system_name);
		name.system_name = system_name;
	}
	return sink->add(sink->to, &name);
}

/* ---- compiled ---- */

static uint32_t get_depth(const struct hotspot_scopes *scopes, uint32_t scope)
{
	uint32_t depth = 0;

	for (; scope != HOTSPOT_NO_SCOPE; scope = scopes->scopes[scope].caller)
		depth++;
	return depth;
}

static uint32_t climb(const struct hotspot_scopes *scopes, uint32_t scope, uint32_t n)
{
	while (n-- > 0)
		scope = scopes->scopes[scope].caller;
	return scope;
}

/*
 * How many of the scopes around `scope`, from the outermost inwards, are those of the debug point
 * before as well: the same method, called from the same places. The outermost, the compiled method,
 * always is.
 */
static uint32_t count_common(const struct hotspot_scopes *scopes, uint32_t scope, uint32_t before)
{
	uint32_t depth = get_depth(scopes, scope), other = get_depth(scopes, before);
	uint32_t common = EP_MIN(depth, other), n = common;

	scope = climb(scopes, scope, depth - common);
	before = climb(scopes, before, other - common);
	for (uint32_t at = common; scope != before && at > 0; at--) {
		const struct hotspot_scope *a = &scopes->scopes[scope];
		const struct hotspot_scope *b = &scopes->scopes[before];

		if (a->method != b->method)
			n = at - 1;
		else if (a->bci != b->bci)
			n = EP_MIN(n, at);
		scope = a->caller;
		before = b->caller;
	}
	return EP_MAX(n, 1u);
}

/* What a frame's address is of. */
struct place {
	uint32_t scope;
	uint32_t n_approximate; /* of its innermost */
	bool is_inside; /* without a scope: of the method's code all the same, its first line */
};

static struct place find_return(const struct hotspot_scopes *scopes, int64_t off)
{
	uint32_t i = hotspot_pcs_find(scopes->pcs, scopes->n_pcs, off);
	struct place place = {.scope = HOTSPOT_NO_SCOPE};

	if (i < scopes->n_pcs && scopes->pcs[i].off == off)
		place.scope = scopes->pcs[i].scope;
	return place;
}

/*
 * After the last debug point, as in a loop that has none and is laid out last: the one before, of
 * which the compiled method alone is sure. Without any debug point the line is the method's first,
 * as what HotSpot has for a frame it cannot decipher is the method alone (share/prims/forte.cpp, 8
 * to 27).
 */
static struct place find_last(const struct hotspot_scopes *scopes)
{
	struct place place = {.scope = HOTSPOT_NO_SCOPE, .is_inside = true};

	for (uint32_t i = scopes->n_pcs; i > 0 && place.scope == HOTSPOT_NO_SCOPE; i--)
		place.scope = scopes->pcs[i - 1].scope;
	if (place.scope != HOTSPOT_NO_SCOPE)
		place.n_approximate = get_depth(scopes, place.scope) - 1;
	return place;
}

/*
 * The first debug point after. A null check that traps is one of its own: what it goes on at calls
 * into the VM, with the debug point of the check.
 */
static struct place find_interrupted(const struct hotspot_nmethod *nmethod, int64_t off)
{
	const struct hotspot_scopes *scopes = &nmethod->scopes;
	struct place place = {.scope = HOTSPOT_NO_SCOPE, .is_inside = true};
	uint32_t to, i;
	bool is_check;

	if (off < 0 || off > UINT32_MAX)
		return place;
	to = hotspot_nmethod_null_check(nmethod, (uint32_t)off);
	i = hotspot_pcs_find(scopes->pcs, scopes->n_pcs, (int64_t)to + 1);
	is_check = to != off && i < scopes->n_pcs && scopes->pcs[i].off - to <= MAX_TRAP_BYTES;
	if (!is_check)
		i = hotspot_pcs_find(scopes->pcs, scopes->n_pcs, off + 1);
	if (i >= scopes->n_pcs)
		return find_last(scopes);
	place.scope = scopes->pcs[i].scope;
	if (nmethod->is_dense || is_check || place.scope == HOTSPOT_NO_SCOPE)
		return place;
	place.n_approximate =
		get_depth(scopes, place.scope) -
		count_common(scopes, place.scope, i ? scopes->pcs[i - 1].scope : HOTSPOT_NO_SCOPE);
	return place;
}

/* Reads what is missing: *ret_read then. */
static int find_parts(const struct hotspot_names *names, struct hotspot_nmethod *nmethod,
		      struct place place, struct parts *parts, bool *ret_read)
{
	const struct hotspot_scopes *scopes = &nmethod->scopes;
	uint32_t at = place.scope;
	int r = 0;

	parts->n = 0;
	do {
		struct part *part = &parts->at[parts->n];
		const struct hotspot_scope *scope =
			at == HOTSPOT_NO_SCOPE ? NULL : &scopes->scopes[at];

		*part = (struct part){
			.bci = scope && scope->bci != HOTSPOT_NO_BCI ? scope->bci : -1,
			.has_bci = scope || place.is_inside,
			.is_approximate = parts->n < place.n_approximate,
		};
		r = hotspot_nmethod_method(&names->methods, nmethod, scope ? scope->method : 0,
					   &part->method, ret_read);
		at = scope ? scope->caller : HOTSPOT_NO_SCOPE;
		parts->n++;
	} while (r == 0 && at != HOTSPOT_NO_SCOPE && parts->n < EP_LEN(parts->at));
	return r;
}

static int add_compiled(struct hotspot_names *names, struct hotspot_nmethod *nmethod,
			const struct ep_raw_frame *frame, const struct sink *sink)
{
	int64_t off = (int64_t)frame->aux - nmethod->header.code_off;
	struct place place = frame->flags & EP_FRAME_INTERRUPTED
				     ? find_interrupted(nmethod, off)
				     : find_return(&nmethod->scopes, off);
	struct parts parts;
	bool read = false;
	int r, checked = 0;

	r = find_parts(names, nmethod, place, &parts, &read);
	if (read)
		checked = hotspot_nmethod_check(&names->methods, nmethod);
	if (checked != 0 || r != 0) {
		names_cache_remove(&nmethod->item);
		return checked ? checked : memory_frame_gone(r);
	}
	for (uint32_t i = 0; r == 0 && i < parts.n; i++)
		r = add_part(sink, &parts.at[i]);
	if (r == 0)
		names->approximate += place.n_approximate;
	return r;
}

static int name_compiled(struct hotspot_names *names, const struct ep_raw_frame *frame,
			 const struct sink *sink)
{
	struct hotspot_nmethod *nmethod;
	int r;

	if (frame->n_words < 2)
		return -EBADMSG;
	r = hotspot_nmethod_get(&names->methods, frame->words[0], frame->words[1], &nmethod);
	if (r != 0)
		return r;
	r = add_compiled(names, nmethod, frame, sink);
	names_item_unref(&nmethod->item);
	return r;
}

/* ---- interpreted ---- */

static uint64_t hash_frame(const struct ep_raw_frame *frame, const struct hotspot_method *method)
{
	uint64_t which = (uint64_t)method->item.serial << 32 | frame->aux;

	return ep_mix64(frame->words[0] ^ ep_mix64(frame->words[1] ^ ep_mix64(which)));
}

static bool is_known(const struct hotspot_names *names, uint64_t hash)
{
	return names->known[hash & (KNOWN_LEN - 1)] == hash;
}

static int add_interpreted(const struct ep_raw_frame *frame, struct hotspot_method *method,
			   const struct sink *sink)
{
	struct part part = {
		.method = method,
		.bci = (int32_t)frame->aux,
		.has_bci = frame->aux < HOTSPOT_MAX_BYTECODES,
	};

	return add_part(sink, &part);
}

/* With a reference. A method is the frame's if word 1 is, before and after its names were read. */
static int read_interpreted(struct hotspot_names *names, const struct ep_raw_frame *frame,
			    struct hotspot_method **ret)
{
	struct hotspot_identity before, after;
	struct hotspot_method *method;
	bool read = false;
	int r;

	r = hotspot_identity_read(&names->methods, frame->words[0], &before);
	if (r < 0)
		return memory_frame_gone(r);
	if (!hotspot_identity_is(&before, frame->words[1]))
		return EP_FRAME_GONE;
	r = hotspot_method_get(&names->methods, &before, &method, &read);
	if (r < 0)
		return memory_frame_gone(r);
	r = read ? hotspot_identity_read(&names->methods, frame->words[0], &after) : 0;
	if (r == 0 && read && !hotspot_identity_equal(&before, &after))
		r = EP_FRAME_GONE;
	if (r != 0) {
		names_cache_remove(&method->item);
		names_item_unref(&method->item);
		return memory_frame_gone(r);
	}
	*ret = method;
	return 0;
}

static int name_interpreted(struct hotspot_names *names, const struct ep_raw_frame *frame,
			    const struct sink *sink)
{
	struct hotspot_method *method;
	uint64_t hash;
	int r = 0;

	if (frame->n_words < 2)
		return -EBADMSG;
	method = names_cache_find(names->cache, HOTSPOT_ITEM_METHOD, frame->words[0],
				  frame->words[1], 0);
	if (!method || !is_known(names, hash_frame(frame, method))) {
		if (method)
			names_item_unref(&method->item);
		r = read_interpreted(names, frame, &method);
	}
	if (r != 0)
		return r;
	r = add_interpreted(frame, method, sink);
	hash = hash_frame(frame, method);
	names->known[hash & (KNOWN_LEN - 1)] = hash;
	names_item_unref(&method->item);
	return r;
}

/* Blobs of which there are many, each made when it is needed: none has a name of its own. */
static const char *get_blob_name(uint32_t blob)
{
	static const char *const names[] = {
		[HOTSPOT_BLOB_VTABLE] = "vtable stub",
		[HOTSPOT_BLOB_ADAPTER] = "I2C/C2I adapter",
		[HOTSPOT_BLOB_MH_ADAPTER] = "method handle adapter",
	};

	return blob < EP_LEN(names) && names[blob] ? names[blob] : "stub";
}

static int name_stub(const struct hotspot_stubs *stubs, const struct ep_raw_frame *frame,
		     const struct sink *sink)
{
	const char *name = NULL;
	char clean[STUB_BYTES - 2], text[STUB_BYTES];

	if (stubs && frame->n_words >= 1)
		name = hotspot_stubs_name(stubs, frame->words[0]);
	if (!name)
		name = get_blob_name(frame->aux);
	hotspot_text_encode((const uint8_t *)name, strlen(name), false, clean, sizeof(clean) - 1);
	snprintf(text, sizeof(text), "[%s]", clean);
	return add_text(sink, text);
}

int hotspot_names_of(struct hotspot_names *names, const struct hotspot_stubs *stubs,
		     const struct ep_raw_frame *frame,
		     int (*add)(struct ep_names *to, const struct ep_name *name),
		     struct ep_names *to)
{
	const struct sink sink = {.add = add, .to = to};

	switch (HOTSPOT_FRAME(frame->flags)) {
	case HOTSPOT_FRAME_COMPILED:
		return name_compiled(names, frame, &sink);
	case HOTSPOT_FRAME_INTERPRETED:
		return name_interpreted(names, frame, &sink);
	case HOTSPOT_FRAME_STUB:
		return name_stub(stubs, frame, &sink);
	case HOTSPOT_FRAME_HEAP_FRAMES:
		return add_text(&sink, "[frames in the heap]");
	default:
		return -EBADMSG;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/functions.h"

#include "core/base/map.h"
#include "core/base/util.h"
#include "plugins/v8/symbolize/scopes.h"
#include "plugins/v8/symbolize/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ANONYMOUS     "(anonymous)"
#define WRAPPER	      "(js-to-wasm)"
#define NAME_BYTES    512
#define CLASS_BYTES   256
#define MAX_LITERALS  (1u << 20) /* of one script */
#define CLASS_REACH   96	 /* literals on each side of a method, among them its class */

/* What is read of a function, before it is put together. */
struct parts {
	uint64_t object; /* tagged */
	struct v8_scope scope;
	bool has_scope;
	uint64_t name; /* a string of its own, 0: none */
	uint64_t data;
	uint16_t data_type; /* 0: no object */
	uint32_t kind;
	int32_t literal;
	struct v8_script *script;
	bool lacks_class, lacks_place; /* they cannot be read: functions.h */
};

/*
 * What a name is followed from. While these words stay as they are, what they refer to is not
 * collected: a cookie that is the same before and after says that only of the function itself.
 */
struct links {
	uint64_t name, scope, script;
};

/*
 * The scope may be another class's by now: of V8 7.8 to 9.4 nothing in the key tells which. The
 * constructor, which is looked at again, does.
 */
struct class_item {
	struct names_item item; /* key: the scope, the script's id and where the class begins */
	uint64_t constructor, cookie;
	char name[];
};

/* ---- which function it is ---- */

static int read_cookie(struct v8_context *context, uint64_t object, bool now, uint64_t *ret)
{
	__u64 words[V8_COOKIE_WORDS];
	uint64_t addr = object - V8_TAG + context->cookie_at;
	int r = now ? v8_heap_read_now(&context->heap, addr, words, sizeof(words)) :
		      v8_heap_read(&context->heap, addr, words, sizeof(words));

	if (r == 0)
		*ret = v8_cookie(words, context->cookie_masks, context->is_unique);
	return r;
}

int v8_cookie_read(struct v8_context *context, uint64_t function_info, uint64_t *ret)
{
	uint64_t object = function_info + V8_TAG;
	int r;

	v8_heap_forget(&context->heap);
	r = v8_object_check(&context->heap, &object, context->heap.layout->type_sfi);
	return r < 0 ? r : read_cookie(context, object, true, ret);
}

/* ---- reading it ---- */

/* Where there is no such object: type 0. */
static int read_typed(struct v8_heap *heap, uint64_t object, int32_t off, uint64_t *ret,
		      uint16_t *ret_type)
{
	int r;

	*ret = 0;
	*ret_type = 0;
	if (!v8_has(off))
		return 0;
	r = v8_field(heap, object, off, ret);
	if (r < 0 || !v8_is_object(*ret))
		return r;
	r = v8_object_type(heap, ret, ret_type);
	return r == -EBADMSG ? 0 : r;
}

static int read_scope(struct v8_heap *heap, struct parts *parts)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t word;
	uint16_t type;
	int r = read_typed(heap, parts->object, layout->sfi_name, &word, &type);

	if (r < 0)
		return r;
	if (type && v8_has(layout->sfi_scope_info)) { /* 6.2: each has its own field */
		parts->name = type < layout->type_nonstring ? word : 0;
		r = read_typed(heap, parts->object, layout->sfi_scope_info, &word, &type);
	} else if (word && type < layout->type_nonstring && v8_is_object(word)) {
		parts->name = word;
		return 0;
	}
	if (r < 0 || !v8_type_is(type, layout->type_scope_info))
		return r;
	r = v8_scope_read(heap, &word, &parts->scope);
	parts->has_scope = r == 0;
	if (r == 0 && !parts->name)
		parts->name = parts->scope.name;
	return r == -EBADMSG ? 0 : r;
}

static int read_flags(struct v8_heap *heap, struct parts *parts)
{
	const struct v8_layout *layout = heap->layout;
	int32_t flags;
	int r = v8_field_int(heap, parts->object, layout->sfi_flags, &flags);

	if (r == 0)
		r = v8_field_int(heap, parts->object, layout->sfi_literal_id, &parts->literal);
	if (r == 0)
		parts->kind = (uint32_t)flags >> layout->sfi_kind_shift &
			      ((1u << layout->sfi_kind_bits) - 1);
	return r;
}

static int read_parts(struct v8_heap *heap, uint64_t object, struct parts *parts)
{
	int r;

	*parts = (struct parts){.object = object, .scope = {.start = -1, .end = -1}};
	r = read_flags(heap, parts);
	if (r == 0)
		r = read_scope(heap, parts);
	if (r == 0)
		r = read_typed(heap, object, heap->layout->sfi_data, &parts->data,
			       &parts->data_type);
	/* What has a scope or a name of its own does not need it: v8_keep.bpf.c leaves it out. */
	return r == -EFAULT && (parts->has_scope || parts->name) ? 0 : r;
}

static bool is_uncompiled(const struct v8_layout *layout, uint16_t type)
{
	return v8_type_is(type, layout->type_uncompiled) ||
	       v8_type_is(type, layout->type_uncompiled_preparse) ||
	       v8_type_is(type, layout->type_uncompiled_job) ||
	       v8_type_is(type, layout->type_uncompiled_preparse_job);
}

static int read_inferred(struct v8_heap *heap, const struct parts *parts, char *buf, size_t size)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t word = parts->scope.inferred;
	int r = 0;

	if (v8_has(layout->sfi_inferred_name))
		r = v8_field(heap, parts->object, layout->sfi_inferred_name, &word);
	else if (!word && is_uncompiled(layout, parts->data_type))
		r = v8_field(heap, parts->data, layout->uncompiled_name, &word);
	return r < 0 ? r : v8_string_or_none(heap, word, buf, size);
}

/* Its own name, else what V8 inferred from where it is assigned; "": none. */
static int read_own_name(struct v8_heap *heap, const struct parts *parts, char *buf, size_t size)
{
	int r = v8_string_or_none(heap, parts->name, buf, size);

	return r < 0 || buf[0] ? r : read_inferred(heap, parts, buf, size);
}

static int read_range(struct v8_heap *heap, const struct parts *parts, int32_t *ret_start,
		      int32_t *ret_end)
{
	const struct v8_layout *layout = heap->layout;
	int32_t start = -1, end = parts->scope.end;
	int r = 0;

	if (v8_has(layout->sfi_start)) {
		r = v8_field_int(heap, parts->object, layout->sfi_start, &start);
		start = (int32_t)((uint32_t)start >> 2);
		if (r == 0)
			r = v8_field_int(heap, parts->object, layout->sfi_end, &end);
	} else if (parts->has_scope) {
		start = parts->scope.start;
	} else if (is_uncompiled(layout, parts->data_type)) {
		r = v8_field_int(heap, parts->data, layout->uncompiled_start, &start);
	}
	*ret_start = start;
	*ret_end = end;
	return r;
}

/* ---- the class ---- */

/*
 * The functions of one class, its constructor among them, have the same outer scope, one of a
 * class, which has no name itself (7.x on; read in memory of 8.4, 11.3, 14.6). V8 leaves out scopes
 * that have nothing in them: then the class is not known.
 */
static int is_constructor_of(struct v8_heap *heap, uint64_t object, uint64_t class_scope,
			     struct parts *ret, bool *ret_is)
{
	int r = v8_object_check(heap, &object, heap->layout->type_sfi);

	*ret_is = false;
	if (r == 0)
		r = read_flags(heap, (ret->object = object, ret));
	if (r < 0 || !v8_kind_is(heap->layout, ret->kind, heap->layout->kinds_constructor))
		return r;
	r = read_parts(heap, object, ret);
	if (r == 0)
		*ret_is = ret->scope.outer == class_scope;
	return r;
}

/*
 * Script::infos, by literal ids: near the method. What has gone, or is none, is passed over. With
 * two constructors (a class in the head of another has no scope of its own as a rule) it is not
 * known which.
 */
static int find_constructor(struct v8_heap *heap, const struct parts *method, char *buf,
			    size_t size, uint64_t *ret_object)
{
	struct parts constructor = {0};
	uint64_t infos, word;
	uint32_t n, n_found = 0;
	int r = v8_field(heap, method->script->object, heap->layout->script_infos, &infos);

	buf[0] = '\0';
	if (r == 0)
		r = v8_array_length(heap, &infos, MAX_LITERALS, &n);
	for (int32_t i = 2; r == 0 && i < 2 * CLASS_REACH; i++) {
		int64_t id = (int64_t)method->literal + (i & 1 ? i / 2 : -(i / 2));
		struct parts parts = {0};
		bool is = false;

		if (id < 0 || id >= n)
			continue;
		r = v8_array_get(heap, infos, n, (uint32_t)id, &word);
		word &= ~2ull;
		if (r == 0 && v8_is_object(word))
			r = is_constructor_of(heap, word, method->scope.outer, &parts, &is);
		if (r == -EBADMSG)
			r = 0;
		if (r == 0 && is) {
			constructor = parts;
			n_found++;
		}
	}
	if (r == 0 && n_found == 1)
		r = read_own_name(heap, &constructor, buf, size);
	*ret_object = constructor.object;
	return r == -EBADMSG ? 0 : r;
}

/* What a class may have; a function within one of them has the class's scope around it, too. */
static bool is_member(const struct v8_layout *layout, uint32_t kind)
{
	return v8_kind_is(layout, kind,
			  layout->kinds_method | layout->kinds_getter | layout->kinds_setter |
				  layout->kinds_fields | layout->kinds_static_fields);
}

/* Whether a function is one of the same class, and the method within it; its scope is read if its
 * kind may be. */
static int is_around(struct v8_heap *heap, uint64_t object, const struct parts *method, bool *ret)
{
	const struct v8_layout *layout = heap->layout;
	struct parts parts = {.object = object, .scope = {.start = -1, .end = -1}};
	int r = v8_object_check(heap, &parts.object, layout->type_sfi);

	*ret = false;
	if (r == 0)
		r = read_flags(heap, &parts);
	if (r < 0 || v8_kind_is(layout, parts.kind, layout->kinds_default_constructor) ||
	    !(is_member(layout, parts.kind) ||
	      v8_kind_is(layout, parts.kind, layout->kinds_constructor | layout->kinds_static)))
		return r;
	r = read_scope(heap, &parts);
	if (r == 0)
		*ret = parts.scope.outer == method->scope.outer && parts.scope.start >= 0 &&
		       parts.scope.start < method->scope.start &&
		       parts.scope.end >= method->scope.end;
	return r;
}

/*
 * V8 links only scopes that have variables in memory: what a method's own functions have around
 * them may be the class as well. Those have larger literal ids.
 */
static int is_within_member(struct v8_heap *heap, const struct parts *method, bool *ret)
{
	uint64_t infos, word;
	uint32_t n;
	int r = v8_field(heap, method->script->object, heap->layout->script_infos, &infos);

	*ret = false;
	if (r == 0)
		r = v8_array_length(heap, &infos, MAX_LITERALS, &n);
	for (int64_t id = (int64_t)method->literal - 1;
	     r == 0 && !*ret && id >= 0 && id >= (int64_t)method->literal - CLASS_REACH; id--) {
		if (id >= n)
			continue;
		r = v8_array_get(heap, infos, n, (uint32_t)id, &word);
		word &= ~2ull;
		if (r == 0 && v8_is_object(word))
			r = is_around(heap, word, method, ret);
		if (r == -EBADMSG)
			r = 0;
	}
	return r == -EBADMSG ? 0 : r;
}

/* What has no name yet may have one when V8 has made the constructor. */
static int put_class(struct v8_context *context, const uint64_t key[2], uint64_t constructor,
		     const char *name)
{
	size_t bytes = sizeof(struct class_item) + strlen(name) + 1;
	struct class_item *item;
	uint64_t cookie;
	int r = name[0] ? read_cookie(context, constructor, false, &cookie) : 0;

	if (r < 0 || !name[0])
		return r;
	item = calloc(1, bytes);
	if (!item)
		return -ENOMEM;
	item->item = (struct names_item){.kind = V8_ITEM_CLASS, .key = {key[0], key[1]},
					 .bytes = (uint32_t)bytes};
	item->constructor = constructor;
	item->cookie = cookie;
	memcpy(item->name, name, strlen(name));
	names_cache_put(context->cache, &item->item);
	names_item_unref(&item->item);
	return 0;
}

/* buf: "" where it is not known, or is not that class's scope any more. */
static int find_class(struct v8_context *context, const uint64_t key[2], char buf[CLASS_BYTES])
{
	struct class_item *item =
		names_cache_find(context->cache, V8_ITEM_CLASS, key[0], key[1], 0);
	struct parts parts = {0};
	uint64_t cookie = 0;
	bool is = false;
	int r;

	buf[0] = '\0';
	if (!item)
		return 0;
	r = is_constructor_of(&context->heap, item->constructor, key[0], &parts, &is);
	if (r == 0 && is)
		r = read_cookie(context, parts.object, false, &cookie);
	if (r == 0 && is && cookie == item->cookie)
		snprintf(buf, CLASS_BYTES, "%s", item->name);
	names_item_unref(&item->item);
	return r == -EBADMSG || r == -EFAULT ? 0 : r;
}

/* "": none. */
static int read_class(struct v8_context *context, struct parts *parts, char buf[CLASS_BYTES])
{
	struct v8_scope scope;
	uint64_t outer = parts->scope.outer, constructor, key[2];
	bool is_within = false;
	int r;

	buf[0] = '\0';
	if (!parts->script || !outer)
		return 0;
	r = v8_scope_read(&context->heap, &outer, &scope);
	if (r < 0 || !scope.is_class)
		return r == -EBADMSG ? 0 : r;
	key[0] = outer;
	key[1] = ep_mix64(parts->script->item.key[1]) ^ (uint32_t)scope.start;
	r = find_class(context, key, buf);
	if (r == 0 && !buf[0]) {
		r = find_constructor(&context->heap, parts, buf, CLASS_BYTES, &constructor);
		if (r == 0)
			r = put_class(context, key, constructor, buf);
	}
	if (r == 0 && buf[0])
		r = is_within_member(&context->heap, parts, &is_within);
	if (is_within)
		buf[0] = '\0';
	return r;
}

/* ---- put together ---- */

/* V8 has "get" and "set" in the name already, where it has one (SharedFunctionInfo::Name). */
static const char *get_word(const struct v8_layout *layout, uint32_t kind, const char **name)
{
	const char *word = "";

	if (v8_kind_is(layout, kind, layout->kinds_getter))
		word = "get ";
	else if (v8_kind_is(layout, kind, layout->kinds_setter))
		word = "set ";
	if (*word && strncmp(*name, word, 4) == 0)
		*name += 4;
	return word;
}

/* What V8 calls them (SharedFunctionInfo::DebugName), of those that it does not call by a name. */
static const char *get_special(const struct v8_layout *layout, uint32_t kind)
{
	if (v8_kind_is(layout, kind, layout->kinds_fields))
		return "<instance_members_initializer>";
	return v8_kind_is(layout, kind, layout->kinds_static_fields) ? "<static_initializer>" :
								      NULL;
}

/*
 * A function that WebAssembly exports is called by its index, and has its module's script or none
 * (WebAssembly JavaScript Interface, "create a new Exported Function"; 26 has the script). Code
 * that is that JSFunction's, and not of the module, is its wrapper, which is JavaScript to BPF;
 * where the wrapper begins, nothing else tells.
 */
static bool is_exported(const struct parts *parts, const char *own)
{
	return (!parts->script || parts->script->is_wasm) && own[0] &&
	       own[strspn(own, "0123456789")] == '\0';
}

static int compose(struct v8_context *context, struct parts *parts, char *buf, size_t size)
{
	const struct v8_layout *layout = context->heap.layout;
	const char *special = get_special(layout, parts->kind), *word, *name;
	char own[NAME_BYTES], class_name[CLASS_BYTES] = "";
	int r = read_own_name(&context->heap, parts, own, sizeof(own));

	if (r < 0)
		return r;
	if (is_member(layout, parts->kind))
		r = read_class(context, parts, class_name);
	parts->lacks_class = r == -EFAULT;
	if (parts->lacks_class)
		class_name[0] = '\0';
	else if (r < 0)
		return r;
	if (is_exported(parts, own)) {
		snprintf(buf, size, WRAPPER);
		return 0;
	}
	name = special ? special : own[0] ? own : ANONYMOUS;
	word = get_word(layout, parts->kind, &name);
	/* An inferred name has its class already. */
	if (strncmp(name, class_name, strlen(class_name)) == 0 && name[strlen(class_name)] == '.')
		class_name[0] = '\0';
	snprintf(buf, size, "%s%s%s%s%s",
		 v8_kind_is(layout, parts->kind, layout->kinds_static) && !special ? "static " : "",
		 word, class_name, class_name[0] ? "." : "", name);
	return 0;
}

static void free_function(struct names_item *item)
{
	struct v8_function *function = EP_CONTAINER(item, struct v8_function, item);

	if (function->script)
		names_item_unref(&function->script->item);
	free(function);
}

/* Takes over the script. */
static int make(struct v8_context *context, struct parts *parts, uint64_t cookie,
		struct v8_function **ret)
{
	const struct v8_layout *layout = context->heap.layout;
	char name[NAME_BYTES + CLASS_BYTES + 16];
	struct v8_place place = {0};
	struct v8_function *function;
	int32_t start, end;
	size_t bytes;
	int r = compose(context, parts, name, sizeof(name));

	if (r == 0)
		r = read_range(&context->heap, parts, &start, &end);
	if (r < 0)
		return r;
	if (parts->script && start >= 0)
		r = v8_script_place(&context->heap, context->cache, parts->script,
				    (uint32_t)start, &place);
	parts->lacks_place = r == -EFAULT;
	if (r < 0 && !parts->lacks_place)
		return r;
	bytes = sizeof(*function) + strlen(name) + 1;
	function = calloc(1, bytes);
	if (!function)
		return -ENOMEM;
	function->item = (struct names_item){.kind = V8_ITEM_FUNCTION, .bytes = bytes,
					     .key = {parts->object - V8_TAG,
						     v8_function_key(context, cookie)},
					     .free = free_function};
	function->script = ep_take(parts->script);
	function->start = start;
	function->end = end;
	function->start_line = place.line;
	function->is_partial = parts->lacks_class || parts->lacks_place;
	function->is_constructor = v8_kind_is(layout, parts->kind, layout->kinds_constructor);
	memcpy(function->name, name, strlen(name));
	*ret = function;
	return 0;
}

static int read_links(struct v8_heap *heap, uint64_t object, struct links *ret)
{
	const struct v8_layout *layout = heap->layout;
	int r = v8_field(heap, object, layout->sfi_name, &ret->name);

	ret->scope = 0;
	if (r == 0 && v8_has(layout->sfi_scope_info)) /* 6.2 */
		r = v8_field(heap, object, layout->sfi_scope_info, &ret->scope);
	return r < 0 ? r : v8_field(heap, object, layout->sfi_script, &ret->script);
}

/* Whether it is the function that it was, as it is now. */
static int check_again(struct v8_context *context, uint64_t object, uint64_t cookie,
		       const struct links *before)
{
	struct links after;
	uint64_t found = 0;
	int r = v8_cookie_read(context, object - V8_TAG, &found);

	if (r == 0)
		r = read_links(&context->heap, object, &after);
	if (r < 0)
		return r;
	return found == cookie && after.name == before->name && after.scope == before->scope &&
			       after.script == before->script ? 0 : -EBADMSG;
}

static int read_function(struct v8_context *context, uint64_t object, uint64_t cookie,
			 const struct links *links, struct v8_script *script,
			 struct v8_function **ret)
{
	struct v8_function *function = NULL;
	struct parts parts;
	int r = read_parts(&context->heap, object, &parts);

	parts.script = script;
	if (r == 0)
		r = make(context, &parts, cookie, &function);
	if (parts.script)
		names_item_unref(&parts.script->item);
	if (r < 0)
		return r;
	names_cache_put(context->cache, &function->item);
	if (function->is_partial)
		names_cache_remove(&function->item);
	r = check_again(context, object, cookie, links);
	if (r < 0) {
		names_cache_remove(&function->item);
		names_item_unref(&function->item);
		return r;
	}
	*ret = function;
	return 0;
}

int v8_function_get(struct v8_context *context, uint64_t function_info, const uint64_t *cookie,
		    struct v8_function **ret)
{
	uint64_t object = function_info + V8_TAG, found;
	struct v8_function *function;
	struct v8_script *script;
	struct links links;
	int r = v8_object_check(&context->heap, &object, context->heap.layout->type_sfi);

	if (r == 0)
		r = read_cookie(context, object, false, &found);
	if (r == 0 && cookie && *cookie != found)
		r = -EBADMSG;
	if (r == 0)
		r = read_links(&context->heap, object, &links);
	if (r == 0)
		r = v8_script_get(&context->heap, context->cache, object, &script);
	if (r < 0)
		return r;
	function = names_cache_find(context->cache, V8_ITEM_FUNCTION, object - V8_TAG,
				    v8_function_key(context, found), 0);
	/* Where the cookie is not its own alone, it is the same only if its script is. */
	if (function && function->script == script) {
		if (script)
			names_item_unref(&script->item);
		*ret = function;
		return 0;
	}
	if (function)
		names_item_unref(&function->item);
	return read_function(context, object, found, &links, script, ret);
}

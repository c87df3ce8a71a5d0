/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SharedFunctionInfo (objects/shared-function-info.h), as its users know it: what V8's own stack
 * traces say (SharedFunctionInfo::DebugName), and the class where its scope tells.
 */
#ifndef V8_FUNCTIONS_H
#define V8_FUNCTIONS_H

#include "plugins/v8/symbolize/scripts.h"
#include "plugins/v8/v8_shared.h"

/* What all that reads functions works with. */
struct v8_context {
	struct v8_heap heap;
	struct names_cache *cache;
	__u64 cookie_masks[V8_COOKIE_WORDS];
	uint32_t cookie_at;
	bool is_unique; /* the cookie is a number that no other function has */
};

struct v8_function {
	struct names_item item;	  /* key: the SharedFunctionInfo, untagged; see v8_function_key */
	struct v8_script *script; /* NULL: none */
	uint32_t start_line;	  /* 0: unknown */
	int32_t start, end;	  /* -1: unknown */
	bool is_constructor;	  /* of a class */
	bool is_partial; /* its line or class could not be read: v8_keep.bpf.c does not keep them */
	char name[];
};

/* What the cache knows a function by, beside its address. */
static inline uint64_t v8_function_key(const struct v8_context *context, uint64_t cookie)
{
	return cookie ^ (uint64_t)context->heap.thread << 48;
}

/* Its cookie, if there is one at all: 0, -EBADMSG. As it is now. */
int v8_cookie_read(struct v8_context *context, uint64_t function_info, uint64_t *ret);

/*
 * With a reference. cookie: NULL, or what it has to be. 0; -EBADMSG: there is none, it is another,
 * or it changed meanwhile.
 */
int v8_function_get(struct v8_context *context, uint64_t function_info, const uint64_t *cookie,
		    struct v8_function **ret);

#endif

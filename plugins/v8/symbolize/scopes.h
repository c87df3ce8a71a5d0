/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ScopeInfo (objects/scope-info.h, scope-info.tq): slots of 8 bytes,
 *
 *	flags, counts | names of locals, their properties, receiver, saved class variable |
 *	function's name and index | inferred name | start, end | outer scope
 *
 * each of them only where the flags or the counts say so, and in another order from 13.6 on, where
 * start and end are after the counts.
 */
#ifndef V8_SCOPES_H
#define V8_SCOPES_H

#include "plugins/v8/symbolize/heap.h"

struct v8_scope {
	uint64_t name, inferred, outer; /* tagged; 0: none */
	int32_t start, end;		/* -1: unknown */
	uint32_t flags;
	bool is_class;
};

/* -EBADMSG: none. The object is followed where it was moved. */
int v8_scope_read(struct v8_heap *heap, uint64_t *object, struct v8_scope *ret);

#endif

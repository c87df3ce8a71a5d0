/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of frames as the BPF program pushed them (v8_shared.h).
 *
 *	names.c		frames ──► names; what is known of an interpreted frame needs no read
 *	functions.c	a SharedFunctionInfo: name, class, where it begins	(scopes.c, text.c)
 *	scripts.c	a Script: its file's name, lines of its source		(lines.c)
 *	codes.c		compiled code: from an address to functions and places	(positions.c,
 *										bytecodes.c)
 *	optimized.c	what is inlined in it, and where		(deopts.c, translations.c)
 *	wasm.c		functions of WebAssembly modules
 *	heap.c		objects: pages of the process, map -> instance type
 *	shared/names	keeps all of it, bounded
 *
 * Where V8 has no table of positions of a function yet, the line is the function's first, and its
 * system name has " [function start]" after it.
 */
#ifndef V8_NAMES_H
#define V8_NAMES_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/shared/names/cache.h"
#include "plugins/shared/read/memory.h"
#include "plugins/v8/layout.h"
#include "plugins/v8/v8_shared.h"

struct v8_names; /* of one process: caches, bounded */

/* Bytes that are kept, without the tables to find them; and of large items. Hundreds of Nodes may
 * run on a machine. */
#define V8_NAMES_MAX_BYTES (1u << 20)
#define V8_NAMES_MAX_LARGE (2u << 20)

extern const struct names_budget v8_names_budget;

/*
 * The layout stays the caller's; state: as BPF was informed, of which the cookie's place is copied.
 * 0, -ENOMEM.
 */
int v8_names_new(const struct memory *memory, const struct v8_layout *layout,
		 const struct v8_state *state, struct v8_names **ret);
/*
 * Names of builtins by id, for 8 and 10, whose builtins are in the heap; else they are native
 * frames. NULL: they are "(builtin)". Code that is no builtin's has other such names, "(code)"
 * where it is not known what it is.
 */
void v8_names_set_builtins(struct v8_names *names, const char *(*name_of)(void *arg, uint32_t id),
			   void *arg);
void v8_names_free(struct v8_names *names);
size_t v8_names_bytes(const struct v8_names *names);

/* As ep_unwinder_ops.symbolize; names go to `add` (ep_unwinder_host.add_name). */
int v8_names_of(struct v8_names *names, const struct ep_raw_frame *frame,
		int (*add)(struct ep_names *to, const struct ep_name *name), struct ep_names *to);

#endif

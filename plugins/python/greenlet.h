/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the stacks of greenlets begin: in the extension module greenlet, on which gevent and
 * eventlet are built. All greenlets of a thread run on that thread's stack, in turn: what lies
 * where the next one is going to run is copied away and, when its owner goes on, back.
 *
 *	main ─► f ─► g ─► switch ─► g_initialstub ─► inner_bootstrap ─► run ─► ... first
 *	main ─► h ─►   (stale)      g_initialstub ─► inner_bootstrap ─► run ─► ... later
 *	                                   └ after this lies what others, or h, have left
 *
 * So the stack of a greenlet ends at the frame that calls its `run`, as that of a thread ends at
 * its start routine. No code before the first switch is in that frame: until then the stack is the
 * caller's.
 */
#ifndef PY_GREENLET_H
#define PY_GREENLET_H

#include "ebpf-profiler/unwinder.h"

#include <stdbool.h>

#define PY_MAX_GREENLET_PARTS 32

/* Code whose frame is a greenlet's first. */
struct py_greenlet {
	struct ep_symbol parts[PY_MAX_GREENLET_PARTS];
	uint32_t n_parts;
};

/* False: the file is not that module, or one that is not known. */
bool py_greenlet_find(const struct ep_unwinder_host *host, const struct ep_file *file,
		      struct py_greenlet *ret);

#endif

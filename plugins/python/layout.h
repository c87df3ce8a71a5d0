/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPython keeps what the unwinder follows: runtime, interpreters, threads, frames, and the
 * parts of a code object that BPF reads. Byte offsets, LP64. Up to 3.12 from a table; from 3.13 on
 * the runtime says it itself, in the struct _Py_DebugOffsets its _PyRuntime begins with.
 */
#ifndef PY_LAYOUT_H
#define PY_LAYOUT_H

#include "plugins/python/symbolize/code_layout.h"

#include <stddef.h>

#define PY_NONE 0xffffffffu /* the version has no such member */

struct py_layout {
	uint32_t version; /* PY_VERSION() */
	bool free_threaded;

	/* _PyRuntime */
	uint32_t runtime_interpreters;
	uint32_t runtime_holder; /* gilstate.tstate_current */
	uint32_t runtime_key;	 /* autoTSSkey, a Py_tss_t */

	/* PyInterpreterState, PyThreadState, _PyCFrame */
	uint32_t interp_next, interp_threads;
	uint32_t thread_next, thread_frame, thread_id;
	uint32_t cframe_frame;

	/* PyFrameObject up to 3.10, _PyInterpreterFrame from 3.11 on */
	uint32_t frame_previous, frame_code, frame_instruction;
	uint32_t frame_owner, frame_entry, frame_copy;
	uint32_t frame_bytes; /* size of what is read: the object's own */
	uint32_t first_shim;  /* from this owner on */

	/* PyObject, PyCodeObject */
	uint32_t object_type;
	uint32_t code_first_traceable, code_instructions, code_copies;

	struct py_code_layout code; /* for names */
};

/* 3.6 to 3.12. 0 or -ENOTSUP. */
int py_layout_find(uint32_t version, bool trace_refs, struct py_layout *ret);

/* What the first bytes of _PyRuntime may be. */
#define PY_DEBUG_OFFSETS_BYTES 1024

/*
 * 3.13 and newer. runtime_bytes: size of the symbol _PyRuntime (0: unknown). A version newer than
 * those known here is tried with the known arrangements of the struct, the newest first.
 * 0, -ENODATA (no cookie), -ENOTSUP (the numbers make no sense).
 */
int py_layout_from_debug(const void *bytes, size_t n, uint64_t runtime_bytes,
			  struct py_layout *ret);

#endif

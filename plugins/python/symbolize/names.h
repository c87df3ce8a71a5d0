/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names a frame: from the address of its code object to function, file and line. Everything is
 * read from the target's memory, which may hold anything: lengths are capped, the object is checked
 * before and after its parts are read, and a chain is never followed.
 *
 *	code object ─► co_qualname, else co_name ─► str ─► UTF-8, at most PY_FUNCTION_BYTES
 *	            ─► co_filename               ─► str ─► UTF-8, at most PY_FILE_BYTES
 *	            ─► co_linetable or co_lnotab ─► bytes, at most PY_LINES_MAX_BYTES ─► line
 *
 * The instruction's offset is what CPython calls lasti, in bytes, and it is taken as signed:
 *
 *	up to 3.9	f_lasti
 *	3.10		f_lasti * 2 (it counts code units: PyFrame_GetLineNumber,
 *			Objects/frameobject.c)
 *	3.11, 3.12	prev_instr - (code_addr + co_code_adaptive)
 *	3.13 on		instr_ptr - (code_addr + co_code_adaptive)
 *
 * (_PyInterpreterFrame_LASTI, Include/internal/pycore_frame.h, from 3.14 pycore_interpframe.h.) Use
 * it as it is, for the running frame and for its callers: f_lineno and sys._current_frames() do the
 * same (PyFrame_GetLineNumber). A caller's prev_instr is the last code unit of its call, and
 * instr_ptr stays at the call until it returns: neither needs a "- 1". Negative (-1, -2) means the
 * frame has not begun, and gives the function's first line. Free-threaded 3.14 and newer run
 * copies of the bytecode: where instr_ptr is in none of the code object's own instructions, say
 * PY_INSTRUCTION_UNKNOWN.
 */
#ifndef PY_NAMES_H
#define PY_NAMES_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/python/check.h"
#include "plugins/python/symbolize/code_layout.h"
#include "plugins/shared/names/add.h"
#include "plugins/shared/read/memory.h"

#define PY_FUNCTION_BYTES  512 /* with the NUL; longer ones end in "…" */
#define PY_FILE_BYTES	   1024
#define PY_LINES_MAX_BYTES (1u << 20)

#define PY_INSTRUCTION_UNKNOWN 0x7fffffffu

#define PY_CACHE_MAX_BYTES ((size_t)2 << 20)
/* of code objects that would fill half of that alone */
#define PY_CACHE_MAX_LARGE ((size_t)4 << 20)

/* What is read of a code object, from its address on. */
size_t py_code_head_bytes(const struct py_code_layout *layout);

/* What naming needs of a process. Attach fills it; the target's memory is hostile. */
struct py_namer {
	const struct ep_unwinder_host *host;
	struct memory memory;	      /* of the target */
	struct py_code_layout layout; /* with what the process adds to the file's */
	/* Code objects that were read before. The key is address and check: two that were at the
	 * same address one after the other have an item each. */
	struct names_cache *cache;
};

int py_namer_init(struct py_namer *namer);  /* after the rest is filled: 0, -ENOMEM */
void py_namer_fini(struct py_namer *namer); /* accepts zeroes */

/*
 * Adds the frame's one name: function, file, line (0: the instruction has none), first line. 0,
 * EP_FRAME_GONE (its check is not that of what is at the code object's address now, or that cannot
 * be read), or a negative errno: -ESRCH, -EPERM, -EBADMSG (the check holds, but it is no code
 * object), -ENOMEM, -E2BIG. A code object known with this check is not read again.
 */
int py_names_add(const struct py_namer *namer, const struct ep_raw_frame *frame,
		 struct ep_names *names);

#endif

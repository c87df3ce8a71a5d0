/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plugin that belong to a process and to an executable.
 *
 *	probe.c		an ELF file: is V8 in it? which? what does it publish of itself ──► layout.h
 *	layout.c	the rest, by version		(fields.def, fields_versions.def)
 *	code/		its embedded builtins ──► rows and names for the core: probe.c
 *	layout_check.c	a process: does the layout hold?
 *	code/heap.c	8 and 10, whose builtins are in the heap: where is the interpreter?
 *	state.c		layout, builtins and isolate ──► state for BPF
 *	attach.c	state and ranges for BPF; looks again when something is mapped
 *	symbolize/	names of frames
 *	v8.c		the descriptor
 */
#ifndef V8_H
#define V8_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/shared/descriptor.h"
#include "plugins/v8/code/builtins.h"
#include "plugins/v8/code/file.h"
#include "plugins/v8/layout.h"
#include "plugins/v8/v8_shared.h"

/* Constant from probe on. */
struct v8_executable {
	const struct ep_unwinder_host *host;
	struct v8_layout layout;
	struct v8_builtins *builtins;	 /* NULL: none that are embedded, 8 and 10 */
	struct v8_metadata_table heap_builtins; /* of 8 and 10: their names */
	bool has_version;		 /* else it was guessed */
	struct ep_variable isolate; /* of a thread: g_current_isolate_, 20 on; kind 0: not found */
	uint64_t isolate_key_va;	 /* Isolate::isolate_key_, to 18; 0: not found */
	uint64_t frames_flag_va;	 /* bool --interpreted-frames-native-stack; 0: not found */
	uint64_t lines_flag_va;		 /* bool --detailed-line-info; 0: not found */
	uint32_t iet_push; /* in the blob: where the interpreter's frame begins; 0: not found */
	uint64_t iet_behind;		 /* code after the interpreter's call of handlers */
};

/*
 * Does a heap of this process have the layout's words, maps and functions? 0; EP_NOT_YET: there is
 * none yet; -ENOTSUP: there is one, and *ret_why says what does not hold; -ESRCH. Reads 16 MiB at
 * most, mostly 1.
 */
int v8_heap_check(const struct ep_unwinder_host *host, const struct ep_target *target,
		  const struct v8_layout *layout, const char **ret_why);

/*
 * Do most functions have bytecode, but no table of its positions? Then V8 collects them when it
 * needs them, and keeps few of optimized code. As much is read as for the check.
 */
bool v8_heap_lacks_positions(const struct ep_unwinder_host *host, const struct ep_target *target,
			     const struct v8_layout *layout);

/*
 * What interpreted frames of 8 and 10 return to. 0; -ENODATA: there is none yet, or each of several
 * isolates has its own; -ESRCH, -ENOMEM. Reads 8 MiB at most.
 */
int v8_heap_iet_return(const struct ep_unwinder_host *host, const struct ep_target *target,
		       const struct v8_layout *layout, uint64_t *ret);

/* The name of such a builtin by its number, without the "Builtins_" of embedded ones; NULL:
 * none. */
const char *v8_heap_builtin_name(void *executable, uint32_t id);

/* All that the file says. */
void v8_state_fill(const struct v8_executable *exe, struct v8_state *ret);

DESCRIPTOR_FUNCTIONS(v8);

#endif

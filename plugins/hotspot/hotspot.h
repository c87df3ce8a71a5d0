/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plugin that belong to a process and to an executable.
 *
 *	probe.c		an ELF file: is it a HotSpot VM? where are its tables, which names do they
 *			hold
 *	layout_tables.c	a process: its tables, read once ──► layout.h
 *			(layout_strings.c: where names are in the file)
 *	code/heaps.c	its heaps of code ──► ranges
 *	code/		code at fixed places: interpreter and stubs ──► names, and a rule for each
 *			instruction
 *	state.c		the layout, and what else a process tells ──► state for BPF
 *	attach.c	state and ranges for BPF; looks again when heaps or stubs have come
 *	symbolize/	names of frames
 *	hotspot.c	the descriptor
 */
#ifndef HOTSPOT_H
#define HOTSPOT_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/hotspot/code/stubs.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/layout.h"
#include "plugins/hotspot/layout_tables.h"
#include "plugins/shared/descriptor.h"

/* A variable of the file that points to code: StubRoutines::_call_stub_entry and its like. */
struct hotspot_pointer {
	uint64_t va;
	char *name; /* of what it points to: "call_stub_entry" */
};
#define HOTSPOT_MAX_POINTERS 1024

struct hotspot_executable {
	const struct ep_unwinder_host *host;
	struct hotspot_tables *tables;
	struct ep_variable thread; /* Thread::_thr_current; kind 0: not found */
	uint64_t interpreter_va;   /* of AbstractInterpreter::_code; 0: only its row says it */
	uint64_t thread_key_va;	   /* of the int that is its pthread key; 0: not found */
	/* Variables that not every VM publishes, by their symbols; 0: not found. */
	uint64_t return_barrier_va, return_barrier_exception_va, continuation_return_va;
	struct ep_symbol safepoints; /* SafepointSynchronize::_safepoint_counter */
	struct hotspot_pointer *pointers; /* ascending by va */
	size_t n_pointers;
};

/*
 * What BPF has to know of a VM, but for the path to a thread. 0; -ENOTSUP: members are missing, or
 * what is there does not fit, and *ret_why says which; or what a read says.
 */
int hotspot_state_fill(const struct hotspot_executable *exe, const struct memory *memory,
		       uint64_t bias, const struct hotspot_layout *layout,
		       struct hotspot_state *state, const char **ret_why);

DESCRIPTOR_FUNCTIONS(hotspot);

#endif

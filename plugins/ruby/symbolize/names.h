/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of Ruby's frames, as `caller` of 3.4 writes them: the label that the iseq has, with the
 * class of the method's owner before the method (vm_backtrace.c of 3.4.5: calculate_iseq_label,
 * rb_gen_method_name):
 *
 *	block (2 levels) in m		block (2 levels) in A::B#m
 *	rescue in m			A::B#m
 *	<class:A>			<class:A>
 *
 * A frame's body and entry are read before and after the rest, and compared with its check: what is
 * there in the end was there all the time since the sample, and so were its parts.
 */
#ifndef RUBY_NAMES_H
#define RUBY_NAMES_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/ruby/layout.h"
#include "plugins/shared/names/add.h"
#include "plugins/shared/read/memory.h"

/*
 * IDs of classes' variables, to 3.1; 0: not learned yet (classes.c). All processes of a file have
 * the same: the runtime makes both when it starts (variable.c: Init_var_tables; class.c:
 * Init_class_hierarchy).
 */
struct ruby_ids {
	_Atomic uint64_t path, attached;
};

/* What naming needs of a process. Attach fills it; the target's memory is hostile. */
struct ruby_namer {
	const struct ep_unwinder_host *host;
	struct memory memory; /* of the target */
	const struct ruby_layout *layout;
	uint64_t object_addr, string_addr; /* of the variables rb_cObject, rb_cString; 0: absent */
	uint64_t symbols_addr; /* of ruby_global_symbols; 0: C functions have no names */
	uint32_t last_op_id;
	struct ruby_ids *ids; /* of the executable */
	struct names_cache *cache;
};

int ruby_namer_init(struct ruby_namer *namer); /* after the rest is filled: 0, -ENOMEM */
void ruby_namer_fini(struct ruby_namer *namer); /* accepts zeroes */

/* What the snapshot program needs to know; anew when the IDs are learned. */
struct ruby_state;
void ruby_names_state(const struct ruby_namer *namer, struct ruby_state *state);

/* As symbolize: 0 after add_name, EP_FRAME_GONE, EP_NOT_YET, or a negative errno. */
int ruby_names_add(struct ruby_namer *namer, const struct ep_raw_frame *frame,
		   struct ep_names *names);

/*
 * Is the class at an address named so, permanently? 0; EP_NOT_YET: it has no name yet (the runtime
 * starts); -ENOTSUP: it is no class, or has another name; what reading returned. Attach proves the
 * layout by it: rb_cObject is "Object".
 */
int ruby_names_is_class(struct ruby_namer *namer, uint64_t class, const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a program is: what batches say of it. A forked child shares its parent's until it executes
 * something else. Immutable once it is shared: whoever learns more makes a new one. Loop's thread
 * only.
 */
#ifndef EP_PROCESS_IDENTITY_H
#define EP_PROCESS_IDENTITY_H

#include "bpf/shared.h"
#include "core/base/util.h"

struct ep_identity {
	uint32_t refs;
	bool was_read;	    /* from /proc: all of it is known */
	bool is_at_home; /* or its container is that of one that was read: it executed this in the same mount namespace */
	const char *comm;   /* of its main thread; never NULL, as the others: "" when unknown */
	const char *exe_path, *container_id, *cgroup_path;
	uint64_t cgroup;	 /* number of that in the tree of cgroup v2; 0: unknown */
	uint32_t user;		 /* the effective one; EP_NO_USER: unknown */
	const char *environment; /* variables that were asked for, "NAME=value" with NUL each */
	size_t environment_bytes;
};

/* One allocation with copies of all texts (NULL: ""), one reference, whatever refs says. NULL: no
 * memory. */
struct ep_identity *ep_identity_new(const struct ep_identity *parts);
struct ep_identity *ep_identity_ref(struct ep_identity *identity); /* accepts NULL, as the next */
void ep_identity_unref(struct ep_identity *identity);

#endif

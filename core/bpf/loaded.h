/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the code of BPF programs lies that are loaded now: kallsyms says where a program begins, but not where
 * it ends. The kernel shows all of them to who has CAP_SYS_ADMIN.
 */
#ifndef EP_BPF_LOADED_H
#define EP_BPF_LOADED_H

#include "core/base/vec.h"

struct ep_loaded_code {
	uint64_t addr, bytes; /* of one function */
};

/* Lists one program. Its descriptor is all that is needed, no privilege. 0, -E2BIG, -ENOMEM. */
int ep_loaded_program(int fd, struct ep_vec *codes);

/*
 * Appends struct ep_loaded_code to `codes`. 0; -EPERM, -errno: it has what was found until then. Takes some us for
 * each.
 */
int ep_loaded_programs(struct ep_vec *codes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a user id belongs to. /etc/subuid (subuid(5)) gives a user blocks of ids for his user
 * namespaces: he can run programs as each of them, so all of them are he. Ids that no line names
 * are users of their own, however large they are: LDAP and Active Directory begin where they like.
 */
#ifndef EP_PROC_SUBUIDS_H
#define EP_PROC_SUBUIDS_H

#include "core/base/vec.h"

#define EP_SUBUIDS_MAX 4096 /* blocks; what is in others is on its own */

struct ep_subuids {
	struct ep_vec blocks; /* struct ep_subuid_block, in order of the file */
};

struct ep_subuid_block {
	uint32_t first, n;
	uint32_t owner; /* the first id of the user's first block */
	bool is_roots;
};

/* What there is of the file. Gives ret_subuids in every case, to be released by fini. */
void ep_subuids_read(const char *path, struct ep_subuids *ret_subuids);
/* Lines that are not understood, and ids that do not fit into 32 bits, are passed over. 0, -ENOMEM.
 */
int ep_subuids_parse(const char *text, size_t bytes, struct ep_subuids *ret_subuids);
void ep_subuids_fini(struct ep_subuids *subuids); /* accepts a zeroed struct */

/*
 * A number of the owner: the id itself, or the first one of his blocks. Blocks of root are for
 * containers, which get 65 536 of them each: those are one owner.
 */
uint32_t ep_subuids_owner(const struct ep_subuids *subuids, uint32_t uid);

#endif

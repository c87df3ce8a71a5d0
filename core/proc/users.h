/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of users, from /etc/passwd alone: other sources (nsswitch.conf(5)) would have the profiler
 * load libraries and ask servers. A user who is in none of its lines has his number. One thread.
 */
#ifndef EP_PROC_USERS_H
#define EP_PROC_USERS_H

#include "core/base/map.h"
#include "core/base/strings.h"

#include <time.h>

#define EP_USER_NAME_BYTES 256 /* with the NUL; a longer name is cut */

struct ep_users {
	const char *path;
	struct ep_map by_number;    /* to a string's id */
	struct ep_strings *strings; /* NULL: the file was not read */
	struct timespec written;    /* when the file was, that was read */
	uint64_t looked_ns;	    /* CLOCK_MONOTONIC */
};

void ep_users_init(struct ep_users *users, const char *path);
void ep_users_fini(struct ep_users *users);
/*
 * His name, or his number as text, in `name`, which is returned. Reads the file at the first
 * question, and again when somebody is unknown and it has been written since, once a second at
 * most.
 */
const char *ep_users_name(struct ep_users *users, uint32_t user, uint64_t now_ns,
			  char name[EP_USER_NAME_BYTES]);

#endif

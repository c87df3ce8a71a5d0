/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this program may more than who started it: it is setuid, or its file has capabilities
 * (getauxval(3), AT_SECURE). Then neither the environment nor a file of that user may say what runs
 * here. secure_getenv(3) asks the same.
 */
#ifndef EP_BASE_ELEVATED_H
#define EP_BASE_ELEVATED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/types.h>

static inline bool ep_is_elevated(void)
{
	return getauxval(AT_SECURE) != 0;
}

/* Who called sudo, when root was got by it. */
struct ep_sudo_caller {
	uid_t uid;
	gid_t gid;
};

#define EP_SUDO_NONE 1 /* we are not root, nobody called sudo, or root did */

/*
 * 0, EP_SUDO_NONE, or -EINVAL: SUDO_UID or SUDO_GID is no number, so nobody knows who it was. Then nothing
 * may be done in the name of either of them.
 */
int ep_sudo_caller(struct ep_sudo_caller *ret_caller);
/* Prints the one line about -EINVAL. */
void ep_sudo_caller_complain(void);

/* This thread's rights, put aside while it opens what its caller named. */
struct ep_rights {
	bool changed;
	uid_t fsuid;
	gid_t fsgid;
	uint32_t effective[2]; /* capabilities */
};

/*
 * From here to the end this thread opens, makes and removes files with the rights of who started the
 * program, when it is elevated; else nothing changes. No other thread's rights do. 0, or a negative errno:
 * then the rights are as they were, and nothing may be opened.
 */
int ep_rights_of_caller(struct ep_rights *ret_rights);
/* The same with the rights of who called sudo. */
int ep_rights_of_sudo_caller(const struct ep_sudo_caller *caller, struct ep_rights *ret_rights);
/* Gives them back; keeps errno. What is zeroed is left alone. */
void ep_rights_restore(struct ep_rights *rights);

/*
 * Opens a file for reading, if who started this program may read it. A descriptor or a negative errno.
 * For this thread alone: no other's rights change meanwhile. flags: more of open(2)'s, such as O_NONBLOCK.
 */
int ep_open_as_caller(const char *path, int flags);

#endif

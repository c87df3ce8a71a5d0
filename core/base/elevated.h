/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this program may more than who started it: it is setuid, or its file has capabilities
 * (getauxval(3), AT_SECURE). Then neither the environment nor a file of that user may say what runs
 * here. secure_getenv(3) asks the same.
 */
#ifndef EP_BASE_ELEVATED_H
#define EP_BASE_ELEVATED_H

#include <stdbool.h>
#include <sys/auxv.h>

static inline bool ep_is_elevated(void)
{
	return getauxval(AT_SECURE) != 0;
}

/*
 * Opens a file for reading, if who started this program may read it. A descriptor or a negative errno.
 * For this thread alone: no other's rights change meanwhile.
 */
int ep_open_as_caller(const char *path);

#endif

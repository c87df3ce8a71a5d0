/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of files that are read once, such as a program that was given to the kernel: they need not stay in memory. */
#ifndef EP_BASE_PAGES_H
#define EP_BASE_PAGES_H

#include <stddef.h>

/*
 * The kernel may take back what is mapped of `data`. Nothing of it is lost: it is read from its file when it is used
 * again, and memory of no file stays or goes to swap. Whole pages only. A kernel before 5.4, or one that does not allow
 * it, leaves them.
 */
void ep_pages_give_back(const void *data, size_t bytes);

#endif

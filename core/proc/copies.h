/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copies of files in memory that readers made for us (core/proc/readers.h). A copy is taken from
 * the budget of files (core/base/work.h) before it is made, and given back when it is found closed:
 * those who close it know of no copies. They are kept by a descriptor each; of a duplicate that is to
 * be open for longer, ep_copies_move tells. Any thread.
 */
#ifndef EP_PROC_COPIES_H
#define EP_PROC_COPIES_H

#include "core/proc/open.h"

struct ep_memory_budget;

#define EP_COPIES_BYTES ((uint64_t)256 << 20) /* all together */

/*
 * NULL: as much as there is, which it is at the start. Nothing that was taken before is given back to
 * either.
 */
void ep_copies_set_memory(struct ep_memory_budget *memory);
/* From then on as much as there is, if `memory` was what they are taken from. */
void ep_copies_forget_memory(const struct ep_memory_budget *memory);
/* 0, -EAGAIN: there is not so much now. What is given back was never used. */
int ep_copies_charge(size_t bytes);
void ep_copies_give_back(size_t bytes);
/*
 * A copy of `file`, which is as large as that and which nobody can change any more. `charged` is what
 * was taken for it: as much of that is kept as it needs, nothing after an error. 0, -EBADMSG,
 * -EAGAIN there are too many.
 */
int ep_copies_add(int fd, const struct ep_proc_file *file, size_t charged);
/* Where it is a copy: it is `to`, a duplicate, that will be open for longer. */
void ep_copies_move(int from, int to);
/* The bytes of all copies that are open. To be called now and then, since it gives back what closed ones had. */
uint64_t ep_copies_bytes(void);

#endif

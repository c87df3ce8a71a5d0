/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files by their hash (check.h: pl_hash_file), of which a frame has no more: those of
 * statements that were read, and those in %INC, which has what was loaded and what is being loaded.
 */
#ifndef PL_FILES_H
#define PL_FILES_H

#include "plugins/perl/symbolize/objects.h"

#define PL_MAX_FILES 4096

struct pl_files;

/* 0 or -ENOMEM. */
int pl_files_new(struct pl_files **ret_files);
void pl_files_free(struct pl_files *files);

/* `name` as the target has it. When there are too many, or there is no memory, it is not learnt. */
void pl_files_learn(struct pl_files *files, const char *name);
/* NULL: not known. */
const char *pl_files_find(const struct pl_files *files, uint64_t hash);

/* Whether it may be looked for more of them now: at most each 3 ms. */
bool pl_files_may_scan(struct pl_files *files);
/* Learns what is in %INC. incgv_addr: where the address of its glob is. */
void pl_files_scan(struct pl_files *files, const struct pl_reader *reader, uint64_t incgv_addr);

#endif

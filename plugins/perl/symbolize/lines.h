/* SPDX-License-Identifier: Apache-2.0 */
/* Which file and line a statement is in. */
#ifndef PL_LINES_H
#define PL_LINES_H

#include "plugins/perl/symbolize/objects.h"

#define PL_FILE_BYTES 1024

struct pl_place {
	uint32_t line;		  /* 0: unknown */
	char file[PL_FILE_BYTES]; /* "": unknown */
};

/* 0, -EBADMSG (no statement), or what reading returned. */
int pl_read_place(const struct pl_reader *reader, uint64_t cop, struct pl_place *ret);

/* Its words, for the check. */
int pl_read_statement(const struct pl_reader *reader, uint64_t cop, uint32_t *ints);

/*
 * A statement that is the first of a block is taken out of the order of execution, but it is still
 * there: the last one that is before an op within the statement *cop, as caller() and warn() look
 * for it (util.c: closest_cop). `leaf`: the op itself, else that which is before it in order of
 * execution. False: the tree could not be read, and *cop is as it was.
 */
bool pl_closest_statement(struct pl_reader *reader, uint64_t op, bool leaf, uint64_t *cop);

/* The first statement of the sub that a statement is in, 0: not found. */
uint64_t pl_first_statement(struct pl_reader *reader, uint64_t cop);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between the releases of Perl, and between builds with and without threads. Offsets
 * are bytes; x86-64. What is the same in all of 5.28 to 5.44 stands where it is used.
 */
#ifndef PL_LAYOUT_H
#define PL_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define PL_MINOR_MIN 28

/* Members of struct interpreter (intrpvar.h); without threads they are variables. */
struct pl_members {
	uint64_t op, cop, stack, defstash, dbsub, compiling, incgv, origfile;
};

struct pl_contexts {
	uint32_t bytes; /* sizeof(PERL_CONTEXT) */
	uint32_t sub_cv, eval_cv, eval_env;
};

/* Numbers of ops; opnames.h. */
struct pl_ops {
	uint32_t entersub, require, entereval, nextstate, dbstate;
};

struct pl_layout {
	uint32_t minor;
	bool threads;	  /* COPs have their file's name, else its glob */
	bool aux_in_body; /* of a stash: what has its name (hv.h: struct xpvhv_with_aux) */
	struct pl_members members;
	struct pl_contexts contexts;
	struct pl_ops ops;
};

/* Newer releases get the newest layout: attach checks it. False: older than PL_MINOR_MIN. */
bool pl_layout_find(uint32_t minor, struct pl_layout *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What optimized code's deoptimization data say of its places (objects/deoptimization-data.h): an
 * entry for each call that may return to other code, and for each check that may fail; of each the
 * functions and bytecodes that are there (translations.h).
 */
#ifndef V8_DEOPTS_H
#define V8_DEOPTS_H

#include "plugins/v8/symbolize/heap.h"
#include "plugins/v8/symbolize/translations.h"

struct v8_deopts {
	struct v8_heap *heap;
	const struct v8_translation_form *form;
	uint64_t data, literals; /* arrays */
	uint32_t n_data, n_literals, n_entries;
	uint8_t *bytes;
	uint32_t n_bytes;
	uint32_t left; /* instructions that may be looked at yet */
};

/* -EBADMSG: this V8's are not known, or there are none. */
int v8_deopts_init(struct v8_deopts *deopts);
void v8_deopts_fini(struct v8_deopts *deopts);

/* Functions and bytecodes of an entry, outermost first; 0: not known. */
uint32_t v8_deopts_frames(struct v8_deopts *deopts, uint32_t entry,
			  struct v8_translated ret[V8_MAX_TRANSLATED]);
/* Where the code goes for it, in Maglev's; 0: not known. */
uint32_t v8_deopts_exit(const struct v8_deopts *deopts, uint32_t entry);

/* ---- which places have which entry ---- */

struct v8_safepoint {
	uint32_t pc;	    /* where a call returns to */
	int64_t trampoline; /* where it does once the code is no longer valid; -1: none */
	int32_t entry;	    /* -1: none */
};

/* The i-th of a safepoint table: codegen/safepoint-table.h, maglev-safepoint-table.h. False: there
 * is none. */
bool v8_safepoint_get(const struct v8_layout *layout, bool is_maglev, const uint8_t *table,
		      uint32_t n, uint32_t i, struct v8_safepoint *ret);

struct v8_deopt_point {
	uint32_t pc;
	uint32_t entry;
};

/*
 * Jumps of the code to exits: those that Maglev has for its checks are in the order of their
 * entries. How many there are, at most `max`.
 */
uint32_t v8_deopt_jumps(const uint8_t *code, uint32_t n, const uint32_t *exits, uint32_t n_exits,
			struct v8_deopt_point *ret, uint32_t max);

#endif

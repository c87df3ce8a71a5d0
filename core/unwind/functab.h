/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules from a function table of Go's (core/pclntab): where the CFA is by the distance that the table gives
 * for each address, and in a few functions of the runtime, which leave their stack, by what they are.
 */
#ifndef EP_UNWIND_FUNCTAB_H
#define EP_UNWIND_FUNCTAB_H

#include "core/pclntab/pclntab.h"
#include "core/unwind/pack.h"
#include "core/unwind/rule_set.h"

/* Functions one after the other. The one that is at hand is read, those that are wrong too. */
struct ep_functab {
	struct ep_pclntab *tab; /* borrowed */
	uint64_t start, end;	/* of all text; no text: there is no table */
	uint32_t cursor;
	struct ep_pclntab_func func; /* start UINT64_MAX: there are no more */
	bool bad;
};

/* Goes to the first function. `tab` NULL: there is no table. */
void ep_functab_begin(struct ep_functab *functab, struct ep_pclntab *tab);
void ep_functab_next(struct ep_functab *functab);

/* Reads code at va into buf, as ep_build_input's. */
typedef bool (*ep_functab_code_fn)(void *arg, uint64_t va, uint8_t *buf, size_t bytes);

/*
 * Puts the rules of the function at hand for [from, to), which lies inside it. False: the function is
 * wrong, and that has no rule.
 */
bool ep_functab_put(const struct ep_functab *functab, uint64_t from, uint64_t to,
		    ep_functab_code_fn read_code, void *arg, struct ep_pack *pack,
		    struct ep_rule_set *rules);

#endif

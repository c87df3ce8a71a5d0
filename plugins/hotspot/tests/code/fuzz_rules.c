/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as code: what is followed ends, every instruction that is said to be there is within, and looking
 * twice gives the same.
 *
 *	input	start, offset | code
 */
#include "plugins/hotspot/code/rules.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_STARTS (HS_START_CONTINUATION + 1)

static uint64_t look(const uint8_t *code, size_t bytes, enum hs_start start, size_t off)
{
	struct hs_rules *rules = hs_rules_new();
	uint64_t sum = 0, rule;
	int r;

	assert(rules && !hs_rules_begin(rules, code, bytes));
	r = hs_rules_follow(rules, off, start, false);
	assert(!r || r == -EBADMSG);
	for (off = 0; (off = hs_rules_next(rules, off)) < bytes; off++) {
		assert(!hs_rules_at(rules, off, &rule));
		assert(hs_rules_skip(rules, off) > off);
		(void)hs_rules_plausible(rules, off);
		r = hs_rules_follow(rules, off, HS_START_CALLED, true);
		assert(!r || r == -EBADMSG);
	}
	for (off = 0; off < bytes; off++) {
		unsigned int len = hs_rules_at(rules, off, &rule);

		assert(len <= 15 && len <= bytes - off);
		if (len)
			sum = sum * 31 + rule + off;
	}
	assert(hs_rules_steps(rules) <= bytes * 16 + 1);
	hs_rules_free(rules);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum hs_start start;
	size_t off;

	if (size < 3)
		return 0;
	start = data[0] % N_STARTS;
	off = data[1] % (size - 2);
	assert(look(data + 2, size - 2, start, off) == look(data + 2, size - 2, start, off));
	return 0;
}

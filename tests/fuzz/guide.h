/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an input reached, and the inputs that reached something new: a target that was compiled with
 * -fsanitize-coverage=trace-pc,trace-cmp (gcc(1)) calls here at each edge and each comparison. In
 * any other build nothing is ever new.
 */
#ifndef EP_TESTS_FUZZ_GUIDE_H
#define EP_TESTS_FUZZ_GUIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guide_input {
	uint8_t *data;
	size_t size;
};

/* Before a run of the target; what the driver does between runs is not counted. */
void guide_begin(void);
/* After it: whether it reached an edge, a number of times, or a near miss that none did before. */
bool guide_end(void);

/* Copies the input, unless enough are kept. */
void guide_keep(const uint8_t *data, size_t size);
size_t guide_n_kept(void);
const struct guide_input *guide_kept(size_t i);
size_t guide_n_features(void);

/* One of the constants that the target compared something with; `number` chooses. False: there is none. */
bool guide_constant(uint64_t number, uint64_t *ret_value);

#endif

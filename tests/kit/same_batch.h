/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two batches by what they say: rows may have other numbers, rows that no sample refers to do not
 * count, and what is one row here may be several there. Hashes of stacks are not compared: they are made of
 * the rest. Needs only include/.
 */
#ifndef EP_TESTS_KIT_SAME_BATCH_H
#define EP_TESTS_KIT_SAME_BATCH_H

#include "ebpf-profiler/batch.h"

#include <stdio.h>

/* Everything that a batch says as sorted lines, one of the whole and one for each sample. The caller frees. */
char *ep_test_batch_text(const struct ep_batch *batch);
/* Fails the test, with the first line that differs. */
void ep_test_same_batch(const struct ep_batch *is, const struct ep_batch *should_be);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The hash that a sample's event must have. */
#ifndef EP_TESTS_EVENT_HASH_H
#define EP_TESTS_EVENT_HASH_H

#include "bpf/shared.h"

#include <string.h>

/* BPF's hash, written down plainly (bpf/entry.bpf.h, bpf/record.h, bpf/record.bpf.h). */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 32;
}

static inline uint64_t hash_event(const struct ep_sample *sample, const uint8_t *words)
{
	uint64_t hash = hash_word((uint64_t)sample->image << 32 | sample->pid, sample->start_ns);
	uint64_t word;

	for (uint32_t i = 0; i < (uint32_t)sample->n_kernel + sample->n_words; i++) {
		if (i > 0 && i == sample->n_kernel)
			hash = hash_word(hash, sample->n_kernel);
		memcpy(&word, words + i * sizeof(word), sizeof(word));
		hash = hash_word(hash, word);
	}
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdull;
	hash ^= hash >> 33;
	hash *= 0xc4ceb9fe1a85ec53ull;
	return hash ^ hash >> 33;
}

#endif

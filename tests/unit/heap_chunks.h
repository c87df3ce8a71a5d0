/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of a delta store in the heap, where no BPF program looks: ops for ep_delta_store_new. */
#ifndef TESTS_UNIT_HEAP_CHUNKS_H
#define TESTS_UNIT_HEAP_CHUNKS_H

#include "bpf/shared.h"
#include "core/base/util.h"
#include "tests/kit/fakes.h"

#include <errno.h>
#include <stdlib.h>

static inline int heap_add_chunk(void *arg, uint32_t index, void **ret_memory)
{
	*ret_memory = calloc(1, EP_CHUNK_BYTES);
	return *ret_memory ? 0 : -ENOMEM;
}

static inline void heap_remove_chunk(void *arg, uint32_t index, void *memory)
{
	free(memory);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a process that is made up. Who includes this has declared
 *
 *	struct made { struct fake_host host; uint64_t next; .. };	next: free memory
 *	#define MADE_END	where it ends
 */
#ifndef EP_TESTS_KIT_MADE_H
#define EP_TESTS_KIT_MADE_H

#include "core/base/util.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

static inline void put(struct made *made, uint64_t addr, const void *value, size_t bytes)
{
	fake_memory_put(&made->host.memory, addr, value, bytes);
}

static inline void put_word(struct made *made, uint64_t addr, uint64_t value)
{
	put(made, addr, &value, sizeof(value));
}

static inline void put_int(struct made *made, uint64_t addr, uint32_t value)
{
	put(made, addr, &value, sizeof(value));
}

static inline uint64_t make(struct made *made, uint64_t bytes)
{
	uint64_t addr = made->next;

	made->next += EP_ALIGN_UP(bytes, 16);
	assert_true(made->next <= MADE_END);
	return addr;
}

#endif

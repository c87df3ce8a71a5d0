/* SPDX-License-Identifier: Apache-2.0 */
/* What is answered from what was fetched before, and what never is. */
#include "core/plugin/read_ahead.h"
#include "tests/kit/test.h"

#include <time.h>

#define BASE 0x10000ull

static struct {
	uint8_t bytes[4096];
	uint64_t hole; /* from there on nothing can be read; 0: there is none */
	int n_reads;
	struct ep_read_ahead *ahead;
} memory;

static int read_memory(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	memory.n_reads++;
	if (!ep_in_bounds(addr - BASE, bytes, memory.hole ? memory.hole - BASE : sizeof(memory.bytes)))
		return -EFAULT;
	memcpy(buf, memory.bytes + (addr - BASE), bytes);
	return 0;
}

static int set_up(void **state)
{
	memset(&memory, 0, sizeof(memory));
	for (size_t i = 0; i < sizeof(memory.bytes); i++)
		memory.bytes[i] = (uint8_t)(i * 7 + (i >> 8));
	memory.ahead = ep_read_ahead_new(read_memory, NULL);
	assert_non_null(memory.ahead);
	return 0;
}

static int tear_down(void **state)
{
	ep_read_ahead_free(memory.ahead);
	return 0;
}

static void check_read(size_t at, size_t bytes)
{
	uint8_t buf[4096];

	assert_int_equal(ep_read_ahead_read(memory.ahead, BASE + at, buf, bytes), 0);
	assert_memory_equal(buf, memory.bytes + at, bytes);
}

EP_TEST_WITH(neighbours_are_read_together, set_up, tear_down)
{
	for (size_t at = 0; at < 512; at += 16)
		check_read(at, 16);
	assert_int_equal(memory.n_reads, 1);
	check_read(510, 4); /* in two pieces */
	check_read(0, 4096);
	assert_int_equal(memory.n_reads, 3);
}

/* So a plugin sees that what it had read has changed. */
EP_TEST_WITH(what_is_read_again_is_read_anew, set_up, tear_down)
{
	check_read(0, 8);
	memory.bytes[3]++;
	check_read(0, 8);
	check_read(8, 8);
	memory.bytes[9]++;
	check_read(4, 8); /* a part of it was given */
	assert_int_equal(memory.n_reads, 3);
	memory.bytes[0]++;
	check_read(0, 8); /* though all of it has been read anew since */
}

EP_TEST_WITH(the_next_question_may_be_given_it_once_more, set_up, tear_down)
{
	check_read(0, 8);
	ep_read_ahead_next(memory.ahead);
	check_read(0, 8);
	assert_int_equal(memory.n_reads, 1);
	memory.bytes[0]++;
	check_read(0, 8);
	assert_int_equal(memory.n_reads, 2);
}

EP_TEST_WITH(what_is_old_is_read_anew, set_up, tear_down)
{
	struct timespec wait = {.tv_nsec = EP_READ_AHEAD_NS + 1000000};

	check_read(0, 8);
	memory.bytes[100]++;
	nanosleep(&wait, NULL);
	check_read(96, 8);
	assert_int_equal(memory.n_reads, 2);
}

EP_TEST_WITH(others_of_a_place_push_it_out, set_up, tear_down)
{
	uint8_t byte;

	check_read(0, 8);
	/* Not within a question: what was given before must not be given again. */
	assert_int_equal(ep_read_ahead_read(memory.ahead, BASE + 128 * 512, &byte, 1), -EFAULT);
	check_read(16, 8);
	assert_int_equal(memory.n_reads, 2);
	ep_read_ahead_next(memory.ahead);
	assert_int_equal(ep_read_ahead_read(memory.ahead, BASE + 128 * 512, &byte, 1), -EFAULT);
	memory.bytes[32]++;
	check_read(32, 8);
}

EP_TEST_WITH(what_ends_within_a_piece_is_read_as_far_as_it_goes, set_up, tear_down)
{
	uint8_t byte;

	memory.hole = BASE + 100;
	check_read(0, 8);
	check_read(92, 8);
	assert_int_equal(ep_read_ahead_read(memory.ahead, BASE + 99, &byte, 2), -EFAULT);
	assert_int_equal(ep_read_ahead_read(memory.ahead, 1, &byte, 1), -EFAULT);
	assert_int_equal(ep_read_ahead_read(memory.ahead, UINT64_MAX, &byte, 1), -EFAULT);
}

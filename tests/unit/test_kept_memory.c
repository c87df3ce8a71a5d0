/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of memory that came with samples: which reads they answer. */
#include "core/plugin/kept_memory.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <string.h>

struct event {
	struct ep_kept kept;
	uint8_t pieces[EP_KEPT_BYTES];
};

static void add_piece(struct event *event, uint64_t addr, const void *data, uint32_t bytes)
{
	struct ep_kept_piece piece = {.addr = addr, .bytes = bytes};
	uint8_t *at = event->pieces + event->kept.bytes;

	memcpy(at, &piece, sizeof(piece));
	memcpy(at + sizeof(piece), data, bytes);
	event->kept.bytes += (uint32_t)(sizeof(piece) + EP_ALIGN_UP(bytes, 8u));
}

static int add_event(struct ep_kept_memory *memory, const struct event *event)
{
	return ep_kept_memory_add(memory, &event->kept, sizeof(event->kept) + event->kept.bytes);
}

static void release(void *memory)
{
	ep_kept_memory_fini(memory);
}

static void init(struct ep_kept_memory *memory)
{
	ep_kept_memory_init(memory);
	ep_test_owns(memory, release);
}

EP_TEST(reads_are_answered_by_the_piece_that_holds_them_whole)
{
	static struct ep_kept_memory memory;
	static struct event event;
	char buf[16] = "";

	init(&memory);
	assert_true(ep_kept_memory_is_empty(&memory));
	add_piece(&event, 0x1000, "function", 9);
	add_piece(&event, 0x2000, "file", 5);
	assert_int_equal(add_event(&memory, &event), 0);
	assert_int_equal(ep_kept_memory_read(&memory, 0x1000, buf, 9), 0);
	assert_string_equal(buf, "function");
	assert_int_equal(ep_kept_memory_read(&memory, 0x2001, buf, 4), 0);
	assert_string_equal(buf, "ile");
	/* Not what fills a piece up, not what lies around it, nothing in part. */
	assert_int_equal(ep_kept_memory_read(&memory, 0x1000, buf, 10), -EFAULT);
	assert_int_equal(ep_kept_memory_read(&memory, 0xfff, buf, 2), -EFAULT);
	assert_int_equal(ep_kept_memory_read(&memory, UINT64_MAX, buf, 2), -EFAULT);
	assert_int_equal(ep_kept_memory_read(&memory, 0x2005, buf, 1), -EFAULT);
}

EP_TEST(the_newest_piece_of_an_address_counts)
{
	static struct ep_kept_memory memory, later;
	static struct event first, second;
	char buf[8] = "";

	init(&memory);
	init(&later);
	add_piece(&first, 0x1000, "old", 4);
	add_piece(&second, 0x1000, "new", 4);
	assert_int_equal(add_event(&memory, &first), 0);
	assert_int_equal(add_event(&later, &second), 0);
	ep_kept_memory_move(&memory, &later);
	assert_true(ep_kept_memory_is_empty(&later));
	assert_int_equal(ep_kept_memory_read(&memory, 0x1000, buf, 4), 0);
	assert_string_equal(buf, "new");
	assert_true(ep_kept_memory_look_back(&memory));
	assert_int_equal(ep_kept_memory_read(&memory, 0x1000, buf, 4), 0);
	assert_string_equal(buf, "old");
	assert_false(ep_kept_memory_look_back(&memory));
	assert_int_equal(ep_kept_memory_read(&memory, 0x1000, buf, 4), -EFAULT);
	ep_kept_memory_see_all(&memory);
	assert_int_equal(ep_kept_memory_read(&memory, 0x1000, buf, 4), 0);
	assert_string_equal(buf, "new");
}

/* Nothing is made of what was at two moments. */
EP_TEST(events_may_be_seen_apart)
{
	static struct ep_kept_memory memory;
	static struct event first, second, third;
	char buf[8] = "";

	init(&memory);
	add_piece(&first, 0x1000, "one", 4);
	add_piece(&first, 0x2000, "two", 4);
	add_piece(&second, 0x1000, "new", 4);
	add_piece(&third, 0x3000, "of", 3);
	add_piece(&third, 0x2000, "all", 4);
	assert_int_equal(add_event(&memory, &first), 0);
	assert_int_equal(add_event(&memory, &second), 0);
	assert_int_equal(add_event(&memory, &third), 0);
	memory.is_apart = true;
	/* The first that is read of decides. */
	assert_int_equal(ep_kept_memory_read(&memory, 0x1000, buf, 4), 0);
	assert_string_equal(buf, "new");
	assert_int_equal(ep_kept_memory_read(&memory, 0x2000, buf, 4), -EFAULT);
	assert_true(ep_kept_memory_look_back(&memory));
	assert_int_equal(ep_kept_memory_read(&memory, 0x2000, buf, 4), 0);
	assert_int_equal(ep_kept_memory_read(&memory, 0x1000, buf, 4), 0);
	assert_string_equal(buf, "one");
	assert_false(ep_kept_memory_look_back(&memory));
	ep_kept_memory_see_all(&memory);
	assert_int_equal(ep_kept_memory_read(&memory, 0x4000, buf, 4), -EFAULT);
	assert_false(ep_kept_memory_look_back(&memory)); /* none was read of */
}

EP_TEST(pieces_that_do_not_fit_are_refused)
{
	static struct ep_kept_memory memory;
	static struct event event;
	struct ep_kept_piece *piece = (struct ep_kept_piece *)event.pieces;
	char buf[8];

	init(&memory);
	add_piece(&event, 0x1000, "good", 5);
	add_piece(&event, 0x2000, "bad", 4);
	for (uint32_t bytes = event.kept.bytes - 1; bytes > 24; bytes--) {
		assert_int_equal(ep_kept_memory_add(&memory, &event.kept, sizeof(event.kept) + bytes),
				 bytes >= 24 + 20 ? 0 : -EBADMSG);
		assert_int_equal(ep_kept_memory_read(&memory, 0x1000, buf, 5), 0);
	}
	piece->bytes = 0;
	assert_int_equal(add_event(&memory, &event), -EBADMSG);
	piece->bytes = UINT32_MAX;
	assert_int_equal(add_event(&memory, &event), -EBADMSG);
}

EP_TEST(there_is_an_end_to_what_is_kept)
{
	static struct ep_kept_memory memory;
	static struct event event;
	static const uint8_t zeros[EP_KEPT_PIECE_BYTES];
	int r = 0;

	init(&memory);
	for (uint32_t i = 0; i < 15; i++)
		add_piece(&event, 0x1000 * i, zeros, sizeof(zeros));
	for (int i = 0; r == 0 && i < 1000; i++)
		r = add_event(&memory, &event);
	assert_int_equal(r, -E2BIG);
	assert_true(ep_kept_memory_bytes(&memory) <= 2 * EP_KEPT_MAX_BYTES);
}

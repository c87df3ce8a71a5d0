/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/read_ahead.h"
#include "core/base/clock.h"

#include <string.h>

#define PIECE_BYTES 512 /* no piece is in two pages */
#define N_PIECES    128 /* by address: neighbours do not push each other out */
#define WORD_BYTES  8	/* bytes are remembered as given by words */

struct piece {
	uint64_t addr; /* 0: nothing was fetched */
	uint64_t fetched_ns;
	uint64_t question; /* in which bytes of it were given */
	uint64_t given;	   /* bit n: its word n */
	uint8_t data[PIECE_BYTES];
};
_Static_assert(PIECE_BYTES / WORD_BYTES == 64, "a bit for each word");

struct ep_read_ahead {
	int (*read)(void *arg, uint64_t addr, void *buf, size_t bytes);
	void *arg;
	uint64_t question;
	struct piece pieces[N_PIECES];
};

struct ep_read_ahead *ep_read_ahead_new(int (*read)(void *arg, uint64_t addr, void *buf,
						    size_t bytes),
					void *arg)
{
	struct ep_read_ahead *ahead = malloc(sizeof(*ahead));

	if (!ahead)
		return NULL;
	ahead->read = read;
	ahead->arg = arg;
	ahead->question = 0;
	for (size_t i = 0; i < N_PIECES; i++)
		ahead->pieces[i].addr = ahead->pieces[i].question = ahead->pieces[i].given = 0;
	return ahead;
}

void ep_read_ahead_free(struct ep_read_ahead *ahead)
{
	free(ahead);
}

void ep_read_ahead_next(struct ep_read_ahead *ahead)
{
	ahead->question++;
}

/* Bits of the words that [off, off + bytes) touches, which is not empty. */
static uint64_t words_of(size_t off, size_t bytes)
{
	size_t first = off / WORD_BYTES, n = (off + bytes - 1) / WORD_BYTES - first + 1;

	return (n == 64 ? ~0ull : (1ull << n) - 1) << first;
}

int ep_read_ahead_read(struct ep_read_ahead *ahead, uint64_t addr, void *buf, size_t bytes)
{
	uint64_t start = EP_ALIGN_DOWN(addr, PIECE_BYTES), now_ns = ep_clock_mono_ns(), words;
	struct piece *piece = &ahead->pieces[start / PIECE_BYTES % N_PIECES];
	size_t off = (size_t)(addr - start);

	if (bytes == 0 || off + bytes > PIECE_BYTES || start == 0)
		return ahead->read(ahead->arg, addr, buf, bytes);
	words = words_of(off, bytes);
	if (piece->question != ahead->question) {
		piece->question = ahead->question;
		piece->given = 0;
	} else if (piece->addr != start && piece->given) {
		return ahead->read(ahead->arg, addr, buf, bytes); /* it knows what was given of another */
	}
	if (piece->addr != start || piece->given & words ||
	    now_ns - piece->fetched_ns > EP_READ_AHEAD_NS) {
		piece->addr = 0;
		if (ahead->read(ahead->arg, start, piece->data, PIECE_BYTES) < 0)
			return ahead->read(ahead->arg, addr, buf, bytes);
		piece->addr = start;
		piece->fetched_ns = now_ns;
	}
	piece->given |= words;
	memcpy(buf, piece->data + off, bytes);
	return 0;
}

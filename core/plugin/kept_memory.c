/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/kept_memory.h"
#include "core/base/util.h"

#include <errno.h>
#include <string.h>

#define FIRST_PIECES 64

struct piece {
	uint64_t addr;
	uint32_t bytes, at; /* in the vector of bytes */
	uint32_t event;	    /* pieces of one have the same */
	uint32_t pad;
};

void ep_kept_memory_init(struct ep_kept_memory *memory)
{
	ep_vec_init(&memory->bytes, 1, EP_KEPT_MAX_BYTES);
	ep_vec_init(&memory->pieces, sizeof(struct piece), EP_KEPT_MAX_BYTES / sizeof(struct piece));
	memory->n_seen = 0;
	memory->n_events = 0;
	memory->is_apart = false;
}

void ep_kept_memory_fini(struct ep_kept_memory *memory)
{
	ep_vec_fini(&memory->bytes);
	ep_vec_fini(&memory->pieces);
	memory->n_seen = 0;
}

static int add_piece(struct ep_kept_memory *memory, uint64_t addr, const void *data, uint32_t bytes)
{
	struct piece piece = {.addr = addr,
			      .bytes = bytes,
			      .at = (uint32_t)memory->bytes.len,
			      .event = memory->n_events};
	int r = ep_vec_append(&memory->bytes, data, bytes);

	if (r == 0)
		r = ep_vec_append(&memory->pieces, &piece, 1);
	if (r < 0)
		memory->bytes.len = piece.at;
	ep_kept_memory_see_all(memory);
	return r;
}

int ep_kept_memory_add(struct ep_kept_memory *memory, const struct ep_kept *kept, size_t bytes)
{
	const uint8_t *pieces = (const uint8_t *)(kept + 1);
	struct ep_kept_piece head;
	int r = 0;

	bytes = EP_MIN(bytes - sizeof(*kept), (size_t)kept->bytes);
	memory->n_events++;
	/* Once for the event, and for some more like it. */
	if (memory->bytes.cap < memory->bytes.len + bytes)
		(void)ep_vec_reserve(&memory->bytes, EP_MIN(2 * (memory->bytes.len + bytes), EP_KEPT_MAX_BYTES));
	(void)ep_vec_reserve(&memory->pieces, FIRST_PIECES);
	for (size_t at = 0; r == 0 && at < bytes; at += sizeof(head) + EP_ALIGN_UP(head.bytes, 8u)) {
		if (bytes - at < sizeof(head))
			return -EBADMSG;
		memcpy(&head, pieces + at, sizeof(head));
		if (head.bytes == 0 || head.bytes > bytes - at - sizeof(head))
			return -EBADMSG;
		r = add_piece(memory, head.addr, pieces + at + sizeof(head), head.bytes);
	}
	return r;
}

void ep_kept_memory_move(struct ep_kept_memory *memory, struct ep_kept_memory *from)
{
	const struct piece *piece;
	struct ep_kept_memory empty = *memory;
	uint32_t event = 0;

	if (ep_kept_memory_is_empty(memory)) {
		*memory = *from;
		*from = empty;
		return;
	}
	ep_vec_each (&from->pieces, piece) {
		memory->n_events += piece->event != event;
		event = piece->event;
		if (add_piece(memory, piece->addr, ep_vec_at(&from->bytes, uint8_t, piece->at), piece->bytes) < 0)
			break;
	}
	ep_kept_memory_fini(from);
	ep_kept_memory_init(from);
}

void ep_kept_memory_see_all(struct ep_kept_memory *memory)
{
	memory->n_seen = memory->pieces.len;
	memory->chosen = 0;
}

bool ep_kept_memory_look_back(struct ep_kept_memory *memory)
{
	const struct piece *pieces = memory->pieces.data;
	size_t n = memory->n_seen;
	uint32_t last;

	if (n == 0 || (memory->is_apart && !memory->chosen))
		return false;
	last = memory->is_apart ? memory->chosen : pieces[n - 1].event;
	while (n > 0 && pieces[n - 1].event >= last)
		n--;
	memory->n_seen = n;
	memory->chosen = 0;
	return n > 0;
}

int ep_kept_memory_read(struct ep_kept_memory *memory, uint64_t addr, void *buf, size_t bytes)
{
	const struct piece *pieces = memory->pieces.data;

	for (size_t i = memory->n_seen; i > 0; i--) {
		const struct piece *piece = &pieces[i - 1];

		if (memory->is_apart && memory->chosen && piece->event != memory->chosen) {
			if (piece->event < memory->chosen)
				break;
			continue;
		}
		if (addr < piece->addr || !ep_in_bounds(addr - piece->addr, bytes, piece->bytes))
			continue;
		memcpy(buf, ep_vec_at(&memory->bytes, uint8_t, piece->at + (addr - piece->addr)), bytes);
		memory->chosen = piece->event;
		return 0;
	}
	return -EFAULT;
}

size_t ep_kept_memory_bytes(const struct ep_kept_memory *memory)
{
	return memory->bytes.cap + memory->pieces.cap * sizeof(struct piece);
}

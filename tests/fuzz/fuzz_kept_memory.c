/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of memory that come with samples: what was added can be read, and nothing beside it. */
#include "core/plugin/kept_memory.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct {
		struct ep_kept kept;
		uint8_t pieces[EP_KEPT_BYTES];
	} event = {.kept.bytes = (uint32_t)(size < EP_KEPT_BYTES ? size : EP_KEPT_BYTES)};
	struct ep_kept_memory memory;
	struct ep_kept_piece piece = {0};
	uint8_t buf[EP_KEPT_PIECE_BYTES];

	memcpy(event.pieces, data, event.kept.bytes);
	memcpy(&piece, data, size < sizeof(piece) ? size : sizeof(piece));
	ep_kept_memory_init(&memory);
	if (ep_kept_memory_add(&memory, &event.kept, sizeof(event.kept) + event.kept.bytes) == 0 &&
	    event.kept.bytes > 0 && piece.bytes <= sizeof(buf))
		assert(ep_kept_memory_read(&memory, piece.addr, buf, piece.bytes) == 0);
	for (uint64_t i = 0; i < 64; i++)
		(void)ep_kept_memory_read(&memory, piece.addr + i, buf, i);
	ep_kept_memory_fini(&memory);
	return 0;
}

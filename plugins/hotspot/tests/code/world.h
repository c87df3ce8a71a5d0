/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A VM's memory of some pages, and a layout as 21 has it: what the tables say is in test_stubs.c's
 * hands.
 */
#ifndef HOTSPOT_TESTS_WORLD_H
#define HOTSPOT_TESTS_WORLD_H

#include "plugins/hotspot/code/stubs.h"

#include <errno.h>
#include <string.h>

#define WORLD_ADDR  0x7f0000000000ull
#define WORLD_BYTES 65536u

struct world {
	uint8_t bytes[WORLD_BYTES];
	size_t size;
};

static inline int world_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	const struct world *world = arg;

	if (addr < WORLD_ADDR || addr - WORLD_ADDR > world->size ||
	    bytes > world->size - (addr - WORLD_ADDR))
		return -EFAULT;
	memcpy(buf, world->bytes + (addr - WORLD_ADDR), bytes);
	return 0;
}

static inline void world_field(struct hotspot_layout *layout, enum hotspot_field_id id,
			       uint16_t off, uint8_t bytes)
{
	layout->fields[id] = (struct hotspot_member){
		.off = off, .bytes = bytes, .is_signed = bytes == 4, .has = true};
}

/* Where things are: the statics at the front, one word each. */
enum {
	AT_INTERPRETER = 0,
	AT_HEAPS = 8,
	AT_CALL_STUB = 16,
	AT_SIN = 24,
};

static inline struct hotspot_layout world_layout(void)
{
	struct hotspot_layout layout = { 0 };

	layout.statics[HOTSPOT_S_interpreter] = WORLD_ADDR + AT_INTERPRETER;
	layout.statics[HOTSPOT_S_heaps] = WORLD_ADDR + AT_HEAPS;
	layout.statics[HOTSPOT_S_call_stub_return] = WORLD_ADDR + AT_CALL_STUB;
	layout.statics[HOTSPOT_S_stub_dsin] = WORLD_ADDR + AT_SIN;
	world_field(&layout, HOTSPOT_F_queue_buffer, 8, 8);
	world_field(&layout, HOTSPOT_F_queue_end, 28, 4);
	world_field(&layout, HOTSPOT_F_codelet_description, 0, 8);
	world_field(&layout, HOTSPOT_F_codelet_size, 8, 4);
	layout.sizes[HOTSPOT_Z_codelet_bytes] = 16;
	world_field(&layout, HOTSPOT_F_array_len, 0, 4);
	world_field(&layout, HOTSPOT_F_array_data, 8, 8);
	world_field(&layout, HOTSPOT_F_heap_memory, 0, 0);
	world_field(&layout, HOTSPOT_F_heap_log2_segment, 248, 4);
	world_field(&layout, HOTSPOT_F_space_low, 16, 8);
	world_field(&layout, HOTSPOT_F_space_high, 24, 8);
	world_field(&layout, HOTSPOT_F_block_length, 0, 8);
	world_field(&layout, HOTSPOT_F_block_used, 8, 1);
	layout.sizes[HOTSPOT_Z_block_bytes] = 16;
	world_field(&layout, HOTSPOT_F_blob_code_begin, 8, 8);
	world_field(&layout, HOTSPOT_F_blob_code_end, 16, 8);
	world_field(&layout, HOTSPOT_F_blob_name, 64, 8);
	return layout;
}

#endif

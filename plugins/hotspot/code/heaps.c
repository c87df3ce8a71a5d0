/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/code/heaps.h"

#include "core/base/util.h"
#include "plugins/hotspot/hotspot_shared.h"

#include <errno.h>
#include <string.h>

#define MAX_HEAP_BYTES	(4ull << 30) /* CODE_CACHE_SIZE_LIMIT is 2 GiB: codeCache.cpp, 8 to 27 */
#define MAX_HEAP_STRUCT 1024	     /* 280 to 344 in 8 to 28 */
#define USER_END	(1ull << 47)
/* CodeCacheSegmentSize: 64 or 128 (globals_x86.hpp, 8 to 27), a power of two by arguments.cpp. */
#define MIN_LOG2_SEGMENT 3
#define MAX_LOG2_SEGMENT 15

/* --- the list --------------------------------------------------------------------------------- */

/*
 * GrowableArray<CodeHeap*>: where its members are is published of GrowableArray<int>; the length is
 * the first member in 9 to 16, which do not say so (share/utilities/growableArray.hpp, 11:
 * GenericGrowableArray::_len).
 */
static int read_list(const struct memory *memory, const struct hotspot_layout *layout,
		     uint64_t heaps[HOTSPOT_MAX_HEAPS], size_t *ret_n)
{
	uint64_t array, data;
	int32_t n;
	int r;

	if (!hotspot_has(layout, HOTSPOT_F_array_data))
		return -EBADMSG;
	r = memory_read(memory, layout->statics[HOTSPOT_S_heaps], &array, sizeof(array));
	if (r < 0)
		return r;
	if (!array)
		return EP_NOT_YET;
	r = memory_read(memory, array + hotspot_off(layout, HOTSPOT_F_array_len), &n, sizeof(n));
	if (r == 0)
		r = memory_read(memory, array + hotspot_off(layout, HOTSPOT_F_array_data), &data,
				sizeof(data));
	if (r < 0)
		return r;
	if (n == 0)
		return EP_NOT_YET;
	if (n < 0 || n > HOTSPOT_MAX_HEAPS)
		return -EBADMSG;
	*ret_n = (size_t)n;
	return memory_read(memory, data, heaps, *ret_n * sizeof(*heaps));
}

int hotspot_heaps_find(const struct memory *memory, const struct hotspot_layout *layout,
		       uint64_t heaps[HOTSPOT_MAX_HEAPS], size_t *ret_n)
{
	int r;

	if (layout->statics[HOTSPOT_S_heaps])
		return read_list(memory, layout, heaps, ret_n);
	if (!layout->statics[HOTSPOT_S_heap])
		return -EBADMSG;
	r = memory_read(memory, layout->statics[HOTSPOT_S_heap], heaps, sizeof(*heaps));
	if (r == 0 && !heaps[0])
		return EP_NOT_YET;
	*ret_n = 1;
	return r;
}

/* --- a heap ----------------------------------------------------------------------------------- */

static uint64_t space_word(const struct hotspot_layout *layout, const uint8_t *bytes,
			   enum hotspot_field_id space, enum hotspot_field_id word)
{
	uint64_t value;
	uint32_t off = hotspot_off(layout, space) + hotspot_off(layout, word);

	if (!ep_in_bounds(off, sizeof(value), MAX_HEAP_STRUCT))
		return 0;
	memcpy(&value, bytes + off, sizeof(value));
	return value;
}

static bool is_plausible(const struct hotspot_heap *heap, uint64_t segmap_end)
{
	uint64_t segments;

	if (heap->start & 7 || heap->end > USER_END || heap->start >= heap->end ||
	    heap->end - heap->start > MAX_HEAP_BYTES || heap->log2_segment < MIN_LOG2_SEGMENT ||
	    heap->log2_segment > MAX_LOG2_SEGMENT)
		return false;
	segments = (heap->end - heap->start) >> heap->log2_segment;
	return heap->segmap < segmap_end && segmap_end <= USER_END &&
	       segmap_end - heap->segmap >= segments;
}

static int read_heap(const struct memory *memory, const struct hotspot_layout *layout,
		     uint64_t addr, struct hotspot_heap *ret)
{
	uint8_t bytes[MAX_HEAP_STRUCT] = {0};
	uint32_t size = layout->sizes[HOTSPOT_Z_heap_bytes];
	uint64_t segmap_end;
	int r;

	if (!size || size > sizeof(bytes))
		return -EBADMSG;
	r = memory_read(memory, addr, bytes, size);
	if (r < 0)
		return r;
	ret->start = space_word(layout, bytes, HOTSPOT_F_heap_memory, HOTSPOT_F_space_low_boundary);
	ret->end = space_word(layout, bytes, HOTSPOT_F_heap_memory, HOTSPOT_F_space_high_boundary);
	ret->segmap = space_word(layout, bytes, HOTSPOT_F_heap_segmap, HOTSPOT_F_space_low);
	segmap_end =
		space_word(layout, bytes, HOTSPOT_F_heap_segmap, HOTSPOT_F_space_high_boundary);
	ret->log2_segment = (uint32_t)hotspot_get(layout, HOTSPOT_F_heap_log2_segment, bytes,
						  sizeof(bytes));
	/* Reserved, but not so far yet: CodeHeap::reserve sets the segment map last. */
	if (!ret->start || !ret->segmap)
		return EP_NOT_YET;
	return is_plausible(ret, segmap_end) ? 0 : -EBADMSG;
}

/* By address; the list is in the order of their making. */
static void sort_heaps(struct hotspot_heap *heaps, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct hotspot_heap heap = heaps[i];
		size_t at = i;

		for (; at > 0 && heaps[at - 1].start > heap.start; at--)
			heaps[at] = heaps[at - 1];
		heaps[at] = heap;
	}
}

int hotspot_heaps_read(const struct memory *memory, const struct hotspot_layout *layout,
		       struct hotspot_heap heaps[HOTSPOT_MAX_HEAPS], size_t *ret_n)
{
	uint64_t addrs[HOTSPOT_MAX_HEAPS];
	size_t n = 0;
	int r = hotspot_heaps_find(memory, layout, addrs, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = read_heap(memory, layout, addrs[i], &heaps[i]);
	if (r != 0)
		return r;
	sort_heaps(heaps, n);
	for (size_t i = 1; i < n; i++) {
		if (heaps[i - 1].end > heaps[i].start)
			return -EBADMSG;
	}
	*ret_n = n;
	return 0;
}

/* --- ranges ----------------------------------------------------------------------------------- */

static uint64_t heap_data(const struct hotspot_heap *heap)
{
	return (uint64_t)HOTSPOT_CODE_HEAP << HOTSPOT_CODE_SHIFT |
	       (uint64_t)heap->log2_segment << HOTSPOT_SEGMENT_SHIFT |
	       ((heap->segmap - (heap->start >> heap->log2_segment)) & HOTSPOT_SEGMAP_MASK);
}

static size_t add_range(struct ep_range *ranges, size_t n, uint64_t start, uint64_t end,
			uint64_t data)
{
	if (start >= end)
		return n;
	ranges[n] = (struct ep_range){
		.start = start,
		.end = end,
		.mode = EP_RANGE_ENTER,
		.data = data,
	};
	return n + 1;
}

/*
 * A piece takes a range, and may split a heap's rest in two: with (max - heaps) / 2 of them there
 * is always space. Two pieces of one heap that meet leave nothing between them, so as a rule all
 * fit.
 */
size_t hotspot_heaps_ranges(const struct hotspot_heap *heaps, size_t n_heaps,
			    const struct ep_range *pieces, size_t n_pieces, struct ep_range *ret,
			    size_t max)
{
	size_t limit = (max - n_heaps) / 2, n = 0, at = 0;
	uint64_t start = 0; /* what is before has its range */

	n_pieces = EP_MIN(n_pieces, limit);
	for (size_t i = 0; i < n_heaps; i++) {
		start = EP_MAX(start, heaps[i].start);
		for (; at < n_pieces && pieces[at].start < heaps[i].end; at++) {
			const struct ep_range *piece = &pieces[at];

			n = add_range(ret, n, start, piece->start, heap_data(&heaps[i]));
			n = add_range(ret, n, piece->start, piece->end, piece->data);
			start = EP_MAX(start, piece->end);
		}
		n = add_range(ret, n, start, heaps[i].end, heap_data(&heaps[i]));
		start = EP_MAX(start, heaps[i].end);
	}
	for (; at < n_pieces; at++)
		n = add_range(ret, n, pieces[at].start, pieces[at].end, pieces[at].data);
	return n;
}

/* --- does it hold? ---------------------------------------------------------------------------- */

static bool check_code(const struct hotspot_layout *layout, const uint8_t *blob, uint64_t addr,
		       uint64_t bytes)
{
	uint64_t size = hotspot_get(layout, HOTSPOT_F_blob_size, blob, HOTSPOT_BLOB_BYTES);
	uint64_t header = hotspot_get(layout, HOTSPOT_F_blob_header_size, blob, HOTSPOT_BLOB_BYTES);
	uint64_t begin, end;

	if (hotspot_has(layout, HOTSPOT_F_blob_code_begin)) {
		begin = hotspot_get(layout, HOTSPOT_F_blob_code_begin, blob, HOTSPOT_BLOB_BYTES);
		end = hotspot_get(layout, HOTSPOT_F_blob_code_end, blob, HOTSPOT_BLOB_BYTES);
		begin -= addr;
		end -= addr;
	} else {
		begin = hotspot_get(layout, HOTSPOT_F_blob_code_offset, blob, HOTSPOT_BLOB_BYTES);
		end = hotspot_get(layout, HOTSPOT_F_blob_data_offset, blob, HOTSPOT_BLOB_BYTES);
	}
	return size <= bytes && header && header <= begin && begin <= end && end <= size;
}

int hotspot_heaps_check(const struct memory *memory, const struct hotspot_layout *layout,
			const struct hotspot_heap *heap)
{
	uint32_t header = layout->sizes[HOTSPOT_Z_block_bytes];
	uint8_t bytes[HOTSPOT_BLOB_BYTES + 64];
	uint64_t length, used, room = heap->end - heap->start;
	int r;

	if (!header || header > 64)
		return -EBADMSG;
	r = memory_read(memory, heap->start, bytes, header + HOTSPOT_BLOB_BYTES);
	/* Memory is committed when it is needed: nothing is there yet. */
	if (r == -EFAULT)
		return EP_NOT_YET;
	if (r < 0)
		return r;
	length = hotspot_get(layout, HOTSPOT_F_block_length, bytes, header);
	used = hotspot_get(layout, HOTSPOT_F_block_used, bytes, header);
	if (used == 0)
		return EP_NOT_YET;
	if (used != 1 || length == 0 || length > room >> heap->log2_segment)
		return -EBADMSG;
	return check_code(layout, bytes + header, heap->start + header,
			  (length << heap->log2_segment) - header)
		       ? 0
		       : -EBADMSG;
}

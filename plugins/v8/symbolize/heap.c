/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/heap.h"

#include "core/base/util.h"

#include <errno.h>
#include <string.h>

#define WEAK 2ull

int v8_heap_init(struct v8_heap *heap, const struct memory *memory,
		 const struct v8_layout *layout)
{
	*heap = (struct v8_heap){.memory = *memory, .layout = layout, .serial = 1,
				 .reads_left = UINT64_MAX, .bytes_left = UINT64_MAX};
	heap->pages = calloc(V8_HEAP_PAGES, sizeof(*heap->pages));
	return heap->pages ? 0 : -ENOMEM;
}

void v8_heap_fini(struct v8_heap *heap)
{
	free(heap->pages);
	heap->pages = NULL;
}

void v8_heap_forget(struct v8_heap *heap)
{
	heap->serial++;
}

void v8_heap_limit(struct v8_heap *heap)
{
	heap->reads_left = V8_HEAP_MAX_READS;
	heap->bytes_left = V8_HEAP_MAX_BYTES;
}

int v8_heap_read_now(struct v8_heap *heap, uint64_t addr, void *buf, size_t bytes)
{
	if (addr + bytes < addr || !heap->reads_left || bytes > heap->bytes_left)
		return -EFAULT;
	heap->reads_left--;
	heap->bytes_left -= bytes;
	return memory_read(&heap->memory, addr, buf, bytes);
}

static int get_page(struct v8_heap *heap, uint64_t addr, const struct v8_page **ret)
{
	struct v8_page *page = &heap->pages[(addr / V8_PAGE_BYTES) % V8_HEAP_PAGES];
	int r;

	if (page->addr != addr || page->serial != heap->serial) {
		page->serial = 0;
		r = v8_heap_read_now(heap, addr, page->bytes, V8_PAGE_BYTES);
		if (r < 0)
			return r;
		page->addr = addr;
		page->serial = heap->serial;
	}
	*ret = page;
	return 0;
}

int v8_heap_read(struct v8_heap *heap, uint64_t addr, void *buf, size_t bytes)
{
	uint8_t *to = buf;

	if (addr + bytes < addr)
		return -EFAULT;
	while (bytes > 0) {
		size_t at = addr % V8_PAGE_BYTES, n = EP_MIN(bytes, V8_PAGE_BYTES - at);
		const struct v8_page *page;
		int r = get_page(heap, addr - at, &page);

		if (r == 0)
			memcpy(to, page->bytes + at, n);
		else if (r == -EFAULT) /* of a process that is gone pieces of pages were kept */
			r = v8_heap_read_now(heap, addr, to, n);
		if (r < 0)
			return r;
		to += n;
		addr += n;
		bytes -= n;
	}
	return 0;
}

static int read_field(struct v8_heap *heap, uint64_t object, int32_t off, void *ret, size_t bytes)
{
	if (!v8_is_object(object) || off < 0)
		return -EBADMSG;
	return v8_heap_read(heap, object - V8_TAG + (uint32_t)off, ret, bytes);
}

int v8_field(struct v8_heap *heap, uint64_t object, int32_t off, uint64_t *ret)
{
	return read_field(heap, object, off, ret, sizeof(*ret));
}

int v8_field_int(struct v8_heap *heap, uint64_t object, int32_t off, int32_t *ret)
{
	return read_field(heap, object, off, ret, sizeof(*ret));
}

int v8_field_smi(struct v8_heap *heap, uint64_t object, int32_t off, int32_t *ret)
{
	uint64_t word;
	int r = v8_field(heap, object, off, &word);

	if (r < 0)
		return r;
	if (!v8_is_smi(word))
		return -EBADMSG;
	*ret = v8_smi(word);
	return 0;
}

static int type_of_map(struct v8_heap *heap, uint64_t map, uint16_t *ret)
{
	uint16_t type = 0;
	int r = read_field(heap, map, heap->layout->map_type, &type,
			   heap->layout->map_type_bytes == 1 ? 1 : 2);

	if (r == 0)
		*ret = type;
	return r;
}

int v8_object_type(struct v8_heap *heap, uint64_t *object, uint16_t *ret_type)
{
	uint64_t at = *object & ~WEAK, map, meta;
	uint16_t type = 0, meta_type = 0;
	int r = v8_field(heap, at, 0, &map);

	if (r == 0 && !(map & 1)) {
		at = map + 1;
		r = v8_field(heap, at, 0, &map);
	}
	if (r == 0)
		r = type_of_map(heap, map, &type);
	if (r == 0)
		r = v8_field(heap, map, 0, &meta);
	if (r == 0)
		r = type_of_map(heap, meta, &meta_type);
	if (r < 0)
		return r;
	if (meta_type != heap->layout->type_map)
		return -EBADMSG;
	*object = at;
	*ret_type = type;
	return 0;
}

int v8_object_check(struct v8_heap *heap, uint64_t *object, int32_t type)
{
	uint16_t found;
	int r = v8_object_type(heap, object, &found);

	return r < 0 || v8_type_is(found, type) ? r : -EBADMSG;
}

bool v8_type_is_array(const struct v8_layout *layout, uint16_t type)
{
	return v8_type_is(type, layout->type_fixed_array) ||
	       v8_type_is(type, layout->type_weak_array) ||
	       v8_type_is(type, layout->type_trusted_array) ||
	       v8_type_is(type, layout->type_protected_array) ||
	       v8_type_is(type, layout->type_trusted_weak_array);
}

bool v8_type_is_bytes(const struct v8_layout *layout, uint16_t type)
{
	return v8_type_is(type, layout->type_byte_array) ||
	       v8_type_is(type, layout->type_trusted_byte_array);
}

static int read_length(struct v8_heap *heap, uint64_t object, uint32_t max, uint32_t *ret)
{
	int32_t length;
	int r = v8_field_smi(heap, object, heap->layout->array_len, &length);

	if (r < 0)
		return r;
	if (length < 0 || (uint32_t)length > max)
		return -EBADMSG;
	*ret = (uint32_t)length;
	return 0;
}

int v8_array_length(struct v8_heap *heap, uint64_t *object, uint32_t max, uint32_t *ret)
{
	uint16_t type;
	int r = v8_object_type(heap, object, &type);

	if (r < 0)
		return r;
	return v8_type_is_array(heap->layout, type) ? read_length(heap, *object, max, ret) :
						      -EBADMSG;
}

int v8_array_get(struct v8_heap *heap, uint64_t array, uint32_t length, uint32_t i, uint64_t *ret)
{
	if (i >= length)
		return -EBADMSG;
	return v8_field(heap, array, heap->layout->array_data + 8 * (int32_t)i, ret);
}

int v8_bytes_read(struct v8_heap *heap, uint64_t object, uint32_t max, uint8_t **ret,
		  uint32_t *ret_bytes)
{
	ep_autofree uint8_t *bytes = NULL;
	uint32_t n = 0;
	uint16_t type;
	int r = v8_object_type(heap, &object, &type);

	if (r == 0 && !v8_type_is_bytes(heap->layout, type))
		r = -EBADMSG;
	if (r == 0)
		r = read_length(heap, object, max, &n);
	if (r < 0)
		return r;
	/* As what is read, even if its pages are kept: somebody goes through all of it. */
	if (n > heap->bytes_left)
		return -EFAULT;
	heap->bytes_left -= n;
	bytes = malloc((size_t)n + 1);
	if (!bytes)
		return -ENOMEM;
	r = read_field(heap, object, heap->layout->array_data, bytes, n);
	if (r < 0)
		return r;
	*ret = ep_take(bytes);
	*ret_bytes = n;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proof that this V8 is laid out as its file says: a process without an isolate that we know, and
 * without a symbol. Pages of V8's heap are anonymous memory at multiples of 256 KiB (512 KiB in 6.2
 * and 6.8; heap/spaces.h, kPageSizeBits), their objects begin some bytes after. Among the first
 * objects of the read-only space (7.x on) or map space is the map of maps, which is its own map: no
 * other memory has
 *
 *	word at a:	a + 1		its map is itself
 *	+ map_type:	MAP_TYPE
 *
 * (60h to 11a0h from the page's start in Node 12 to 26, 2258h in 8 and 10.) In its page the map of
 * SharedFunctionInfos is looked for, then some of these, whose names are strings or scopes, and
 * whose scripts are scripts. In a large heap they may be where nobody looks: then the maps have to
 * do.
 */
#include "core/base/util.h"
#include "plugins/v8/v8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES     (256u << 10)
#define OLD_PAGE_BYTES (512u << 10) /* 6.2 and 6.8 */
#define HEAD_BYTES     (16u << 10) /* of a page that may have the map of maps */
#define MAP_SPACE_OFF  0x2000u /* in a page of map space: where its objects begin, 6.2 and 6.8 */
#define MAP_SPACE_HEAD 0x1000u
#define SOME_BYTES     (32u << 10) /* of a page that may have functions */
#define MAX_BYTES      (8u << 20)  /* for each of the steps */
#define OBJECT_BYTES   256
#define ENOUGH	       8 /* functions that hold */
#define TOO_MANY       32

enum step {
	FIND_META,
	FIND_FUNCTIONS,
	FIND_BYTECODES,
};

struct heap {
	const struct ep_unwinder_host *host;
	const struct ep_target *target;
	const struct v8_layout *layout;
	enum step step;
	uint8_t *page;
	uint64_t bytes; /* read in this step */
	int32_t map_type; /* of the objects that are looked for */
	uint64_t meta, map; /* and their map */
	uint32_t n_right, n_wrong;
	uint32_t n_unlike; /* maps of themselves, of another type */
	bool is_compressed;
	int result;
};

static int read_page(struct heap *heap, uint64_t addr, size_t bytes)
{
	heap->bytes += bytes;
	if (heap->bytes > MAX_BYTES)
		return -E2BIG;
	return heap->host->target_read(heap->target, addr, heap->page, bytes);
}

/* The instance type in a map's first bytes. */
static int32_t type_of_map(const struct v8_layout *layout, const uint8_t *map)
{
	uint16_t type;

	memcpy(&type, map + layout->map_type, sizeof(type));
	return layout->map_type_bytes == 1 ? (uint8_t)type : type;
}

/* -1: no object. At most four reads for each of TOO_MANY functions. */
static int32_t type_of(const struct heap *heap, uint64_t object)
{
	uint8_t map[64];
	uint64_t addr;

	if (!v8_is_object(object) ||
	    heap->host->target_read(heap->target, object - V8_TAG, &addr, sizeof(addr)) < 0)
		return -1;
	if (!v8_is_object(addr) ||
	    heap->host->target_read(heap->target, addr - V8_TAG, map, sizeof(map)) < 0)
		return -1;
	return type_of_map(heap->layout, map);
}

/* --- the map of maps -------------------------------------------------------------------------- */

/*
 * With pointer compression (common/ptr-compr.h) words have 32 bits, the lower halves of addresses,
 * and an instance type is at 8 (objects/map.tq).
 */
static bool is_compressed_meta(const struct heap *heap, uint64_t addr, const uint8_t *at)
{
	uint32_t self;
	uint16_t type;

	memcpy(&self, at, sizeof(self));
	memcpy(&type, at + 8, sizeof(type));
	return self == (uint32_t)(addr + V8_TAG) && type == heap->layout->type_map;
}

static void find_meta(struct heap *heap, uint64_t addr, size_t bytes)
{
	for (size_t off = 0; off + 64 <= bytes && !heap->meta; off += 8) {
		const uint8_t *at = heap->page + off;
		int32_t type;

		heap->is_compressed |= is_compressed_meta(heap, addr + off, at);
		if (ep_get_u64(at) != addr + off + V8_TAG)
			continue;
		type = type_of_map(heap->layout, at);
		if (type == heap->layout->type_map)
			heap->meta = addr + off;
		else
			heap->n_unlike += type != 0; /* 0: it is being made */
	}
}

static void find_map(struct heap *heap, uint64_t addr, size_t bytes)
{
	for (size_t off = 0; off + 64 <= bytes && !heap->map; off += 8) {
		const uint8_t *at = heap->page + off;

		if (ep_get_u64(at) == heap->meta + V8_TAG &&
		    type_of_map(heap->layout, at) == heap->map_type)
			heap->map = addr + off;
	}
}

static int look_for_maps(struct heap *heap, uint64_t addr, size_t bytes)
{
	bool is_old = heap->layout->version.major < 7;
	size_t off = is_old ? MAP_SPACE_OFF : 0;
	size_t head = is_old ? MAP_SPACE_HEAD : HEAD_BYTES;
	int r;

	if (bytes <= off)
		return 0;
	head = EP_MIN(head, bytes - off);
	r = read_page(heap, addr + off, head);
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	find_meta(heap, addr + off, head);
	if (!heap->meta)
		return 0;
	r = read_page(heap, addr, bytes);
	if (r == 0)
		find_map(heap, addr, bytes);
	return r < 0 ? r : 1;
}

/* --- functions -------------------------------------------------------------------------------- */

static bool is_name(const struct v8_layout *layout, uint64_t word, int32_t type)
{
	if (v8_is_smi(word))
		return v8_smi(word) == 0;
	return type >= 0 && (type < layout->type_nonstring || type == layout->type_scope_info);
}

static bool is_script(const struct v8_layout *layout, int32_t type)
{
	return type >= 0 && (type == layout->type_script || type == layout->type_oddball ||
			     type == layout->type_debug_info);
}

static void check_function(struct heap *heap, const uint8_t *sfi)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t name = ep_get_u64(sfi + (size_t)layout->sfi_name);
	uint64_t script = ep_get_u64(sfi + (size_t)layout->sfi_script);

	if (is_name(layout, name, v8_is_smi(name) ? -1 : type_of(heap, name)) &&
	    is_script(layout, type_of(heap, script)))
		heap->n_right++;
	else
		heap->n_wrong++;
}

/* Undefined (7.x to 11.x) or Smi 0: not collected yet (objects/bytecode-array.h,
 * HasSourcePositionTable). */
static void check_bytecodes(struct heap *heap, const uint8_t *array)
{
	uint64_t table = ep_get_u64(array + (size_t)heap->layout->bytecode_positions);

	if (v8_is_smi(table) || type_of(heap, table) == heap->layout->type_oddball)
		heap->n_wrong++;
	else
		heap->n_right++;
}

static int look_for_objects(struct heap *heap, uint64_t addr, size_t bytes)
{
	int r;

	bytes = EP_MIN(bytes, (size_t)SOME_BYTES);
	r = read_page(heap, addr, bytes);
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	for (size_t off = 0; off + OBJECT_BYTES <= bytes; off += 8) {
		if (ep_get_u64(heap->page + off) == heap->map + V8_TAG &&
		    heap->step == FIND_FUNCTIONS)
			check_function(heap, heap->page + off);
		else if (ep_get_u64(heap->page + off) == heap->map + V8_TAG)
			check_bytecodes(heap, heap->page + off);
		if ((heap->step == FIND_FUNCTIONS && heap->n_right >= ENOUGH) ||
		    heap->n_right + heap->n_wrong >= TOO_MANY)
			return 1;
	}
	return 0;
}

/* --- pages ------------------------------------------------------------------------------------ */

static int look_at(struct heap *heap, uint64_t addr, size_t bytes)
{
	return heap->step == FIND_META ? look_for_maps(heap, addr, bytes) :
					 look_for_objects(heap, addr, bytes);
}

/* "[heap]", "[stack]", "[vvar]"; but "[anon:...]" is a name that anybody may give to memory
 * (prctl(2), PR_SET_VMA). */
static bool is_special(const char *path)
{
	return path[0] == '[' && strncmp(path, "[anon:", 6) != 0;
}

static int visit_mapping(void *arg, const struct ep_target_mapping *mapping)
{
	struct heap *heap = arg;
	bool is_old = heap->layout->version.major < 7 && heap->step == FIND_META;
	uint64_t step =
		is_old ? OLD_PAGE_BYTES : PAGE_BYTES; /* functions may be anywhere in a page */
	uint64_t addr = (mapping->start + step - 1) / step * step;

	if (mapping->is_file || !(mapping->prot & PROT_READ) || (mapping->prot & PROT_EXEC) ||
	    is_special(mapping->path))
		return 0;
	/* Read-only space is so from the moment on that it is whole. */
	if (heap->step == FIND_META && heap->layout->version.major >= 7 &&
	    (mapping->prot & PROT_WRITE))
		return 0;
	for (; addr < mapping->end && addr >= mapping->start; addr += step) {
		uint64_t bytes = EP_MIN(mapping->end - addr, (uint64_t)PAGE_BYTES);

		heap->result = look_at(heap, addr, (size_t)bytes);
		if (heap->result != 0)
			return 1;
	}
	return 0;
}

static int look(struct heap *heap, enum step step)
{
	int r;

	heap->step = step;
	heap->bytes = 0;
	heap->result = 0;
	r = heap->host->target_mappings(heap->target, visit_mapping, heap);
	if (r == 0 && heap->result < 0 && heap->result != -E2BIG)
		r = heap->result;
	return r;
}

static int refuse(const char *why, const char **ret_why)
{
	*ret_why = why;
	return -ENOTSUP;
}

static int check(struct heap *heap, const char **ret_why)
{
	int r = look(heap, FIND_META);

	if (r < 0)
		return r;
	if (!heap->meta && heap->is_compressed)
		return refuse("its pointers are compressed", ret_why);
	if (!heap->meta && heap->n_unlike)
		return refuse("the type of maps", ret_why);
	/* To 6.8 map space is among all that is writable, and may be not there yet. */
	if (!heap->meta && heap->result == -E2BIG && heap->layout->version.major >= 7)
		return refuse("no map of maps was found", ret_why);
	/* Read-only space is whole. */
	if (heap->meta && !heap->map && heap->layout->version.major >= 7)
		return refuse("no map of SharedFunctionInfos was found", ret_why);
	if (!heap->map)
		return EP_NOT_YET;
	r = look(heap, FIND_FUNCTIONS);
	if (r < 0)
		return r;
	if (heap->result == -E2BIG && heap->n_wrong <= heap->n_right / 4)
		return 0;
	if (heap->n_right < ENOUGH && heap->n_right + heap->n_wrong < TOO_MANY)
		return EP_NOT_YET;
	if (heap->n_wrong <= heap->n_right / 4)
		return 0;
	return refuse("what SharedFunctionInfos have where", ret_why);
}

/* All of them within what is read of a map, and of a function. */
static bool is_within(const struct v8_layout *layout)
{
	return layout->map_type >= 0 && layout->map_type <= 56 && layout->sfi_name >= 0 &&
	       layout->sfi_name + 8 <= OBJECT_BYTES && layout->sfi_script >= 0 &&
	       layout->sfi_script + 8 <= OBJECT_BYTES;
}

int v8_heap_check(const struct ep_unwinder_host *host, const struct ep_target *target,
		  const struct v8_layout *layout, const char **ret_why)
{
	struct heap heap = {
		.host = host,
		.target = target,
		.layout = layout,
		.map_type = layout->type_sfi,
	};
	int r;

	if (!is_within(layout))
		return refuse("what its constants say", ret_why);
	heap.page = malloc(PAGE_BYTES);
	if (!heap.page)
		return -ENOMEM;
	r = check(&heap, ret_why);
	free(heap.page);
	return r;
}

bool v8_heap_lacks_positions(const struct ep_unwinder_host *host, const struct ep_target *target,
			     const struct v8_layout *layout)
{
	struct heap heap = {
		.host = host,
		.target = target,
		.layout = layout,
		.map_type = layout->type_bytecode_array,
	};

	if (!is_within(layout) || layout->bytecode_positions < 0 ||
	    layout->bytecode_positions + 8 > OBJECT_BYTES)
		return false;
	heap.page = malloc(PAGE_BYTES);
	if (heap.page && look(&heap, FIND_META) == 0 && heap.map)
		(void)look(&heap, FIND_BYTECODES);
	free(heap.page);
	return heap.n_wrong > heap.n_right;
}

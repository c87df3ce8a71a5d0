/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of a heap that is written while it is read, and may be no heap at all. Pages that were
 * read are kept until v8_heap_forget; nothing that is read is trusted before its map says what it
 * is:
 *
 *	object ──► map ──► map of maps		objects/map.h
 *		   + map_type: instance type
 *
 * A map word that is even is where the object was moved to (objects/objects-inl.h, MapWord, 6.2 to
 * 14.6).
 */
#ifndef V8_HEAP_H
#define V8_HEAP_H

#include "plugins/shared/read/memory.h"
#include "plugins/v8/layout.h"

#define V8_PAGE_BYTES 4096u
#define V8_HEAP_PAGES 64u /* a power of two */
/*
 * What naming one frame may read: an honest one needs some hundreds of pages and a script's source;
 * a heap that is made for it would have us read for minutes.
 */
#define V8_HEAP_MAX_READS 8192u
#define V8_HEAP_MAX_BYTES (160ull << 20)

struct v8_page {
	uint64_t addr, serial;
	uint8_t bytes[V8_PAGE_BYTES];
};

struct v8_heap {
	struct memory memory;
	const struct v8_layout *layout;
	uint64_t serial; /* pages of another one are old */
	struct v8_page *pages;
	uint64_t reads_left, bytes_left;
	uint16_t thread; /* whose isolate's objects these are: part of what tells them from
			    another's */
};

int v8_heap_init(struct v8_heap *heap, const struct memory *memory,
		 const struct v8_layout *layout);
void v8_heap_fini(struct v8_heap *heap);
void v8_heap_forget(struct v8_heap *heap);
/* From here on it may be read as much as for one frame; then all is -EFAULT. Before, without a
 * bound. */
void v8_heap_limit(struct v8_heap *heap);

/* 0, -EFAULT, -ESRCH. */
int v8_heap_read(struct v8_heap *heap, uint64_t addr, void *buf, size_t bytes);
/* As it is now; for much at a time. */
int v8_heap_read_now(struct v8_heap *heap, uint64_t addr, void *buf, size_t bytes);

/*
 * What a word of an object refers to: follows one move, takes away the mark of a weak reference.
 * -EBADMSG: no object.
 */
int v8_object_type(struct v8_heap *heap, uint64_t *object, uint16_t *ret_type);
/* The same; -EBADMSG when it is of another type. */
int v8_object_check(struct v8_heap *heap, uint64_t *object, int32_t type);

static inline bool v8_type_is(uint16_t type, int32_t of)
{
	return v8_has(of) && type == of;
}

/* What a FixedArray or its kin may be, and a ByteArray. */
bool v8_type_is_array(const struct v8_layout *layout, uint16_t type);
bool v8_type_is_bytes(const struct v8_layout *layout, uint16_t type);

int v8_field(struct v8_heap *heap, uint64_t object, int32_t off, uint64_t *ret);
/* -EBADMSG: the layout has no such field, too. */
int v8_field_int(struct v8_heap *heap, uint64_t object, int32_t off, int32_t *ret);
int v8_field_smi(struct v8_heap *heap, uint64_t object, int32_t off, int32_t *ret);

/* An array of words: how many, at most `max`. -EBADMSG. */
int v8_array_length(struct v8_heap *heap, uint64_t *object, uint32_t max, uint32_t *ret);
int v8_array_get(struct v8_heap *heap, uint64_t array, uint32_t length, uint32_t i, uint64_t *ret);
/* All of a ByteArray, of at most `max` bytes; *ret is the caller's, NULL where there is none. */
int v8_bytes_read(struct v8_heap *heap, uint64_t object, uint32_t max, uint8_t **ret,
		  uint32_t *ret_bytes);

#endif

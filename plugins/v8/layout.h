/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of one V8: what is where in its frames and heap objects. A file's own constants
 * (v8dbg_*) say most of it; what they leave out is in tables by V8's version: fields.def. Offsets
 * count in bytes from where an object begins, that is from the tagged pointer - 1.
 */
#ifndef V8_LAYOUT_H
#define V8_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define V8_NONE INT32_MIN /* this V8 has no such thing, or where is not known */

/* "12.4.254.21-node.33" is {12, 4, 254, 21}. */
struct v8_version {
	uint16_t major, minor;
	uint32_t build, patch;
};

/* Each member is described where it stands in fields.def. */
struct v8_layout {
	struct v8_version version;
#define V8_VALUE(member, ...) int32_t member;
#include "plugins/v8/fields.def"
};

static inline bool v8_has(int32_t value)
{
	return value != V8_NONE;
}

/* v8dbg_* of a file, as they are found. */
struct v8_published {
	struct v8_layout values; /* V8_NONE: not there, or not sane */
	struct v8_layout ranks;	 /* which of a member's names a value is of */
	uint32_t n;
};

void v8_published_init(struct v8_published *published);
/* Does a member want the constant of this name, without its "v8dbg_"? */
bool v8_published_wants(const char *name);
void v8_published_add(struct v8_published *published, const char *name, int32_t value);

/* "12.4.254.21-node.33": what is after four numbers does not matter. False: no version of V8. */
bool v8_version_parse(const char *text, struct v8_version *ret);

/*
 * A version whose major is 0 is not known: the column that agrees with most of what is published is
 * taken, the newest where nothing is.
 */
void v8_layout_fill(struct v8_layout *ret, const struct v8_version *version,
		    const struct v8_published *published);

#define V8_TAG	    1u
#define V8_TAG_MASK 3u

/* Not a Smi, and not the address that stands in the map word of an object that has moved. */
static inline bool v8_is_object(uint64_t word)
{
	return (word & V8_TAG_MASK) == V8_TAG && word > 65536;
}

static inline bool v8_is_smi(uint64_t word)
{
	return (uint32_t)word == 0;
}

static inline int32_t v8_smi(uint64_t word)
{
	return (int32_t)(word >> 32);
}

/* A FunctionKind is a number, as a bit of a mask, or (6.2) itself a set of bits. */
static inline bool v8_kind_is(const struct v8_layout *layout, uint32_t kind, int32_t mask)
{
	if (layout->function_kind_is_set)
		return (kind & (uint32_t)mask) != 0;
	return kind < 32 && ((uint32_t)mask >> kind & 1) != 0;
}

#endif

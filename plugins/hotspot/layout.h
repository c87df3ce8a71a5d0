/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of one VM, from the tables that it publishes about itself. The members are those of
 * fields.def.
 */
#ifndef HOTSPOT_LAYOUT_H
#define HOTSPOT_LAYOUT_H

#include "core/base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum hotspot_field_id {
#define HOTSPOT_FIELD(member, type, field) HOTSPOT_F_##member,
#include "plugins/hotspot/fields.def"
	HOTSPOT_N_FIELDS,
};

enum hotspot_static_id {
#define HOTSPOT_STATIC(member, type, field) HOTSPOT_S_##member,
#include "plugins/hotspot/fields.def"
	HOTSPOT_N_STATICS,
};

enum hotspot_size_id {
#define HOTSPOT_SIZE(member, type) HOTSPOT_Z_##member,
#include "plugins/hotspot/fields.def"
	HOTSPOT_N_SIZES,
};

enum hotspot_constant_id {
#define HOTSPOT_CONSTANT(member, name) HOTSPOT_C_##member,
#include "plugins/hotspot/fields.def"
	HOTSPOT_N_CONSTANTS,
};

struct hotspot_member {
	uint16_t off;
	uint8_t bytes;	/* 1, 2, 4 or 8, by its type string; 0 for a struct within; see `has` */
	uint8_t is_signed;
	bool has;
};

struct hotspot_layout {
	struct hotspot_member fields[HOTSPOT_N_FIELDS];
	uint64_t statics[HOTSPOT_N_STATICS]; /* target addresses; 0: absent */
	uint32_t sizes[HOTSPOT_N_SIZES];     /* 0: absent */
	int64_t constants[HOTSPOT_N_CONSTANTS];
	bool has_constant[HOTSPOT_N_CONSTANTS];
};

static inline bool hotspot_has(const struct hotspot_layout *layout, enum hotspot_field_id id)
{
	return layout->fields[id].has;
}

static inline uint32_t hotspot_off(const struct hotspot_layout *layout, enum hotspot_field_id id)
{
	return layout->fields[id].off;
}

/*
 * The value of a field in `bytes` bytes read from where its struct begins, extended as its type
 * says. 0 where it is absent or not within.
 */
static inline uint64_t hotspot_get(const struct hotspot_layout *layout, enum hotspot_field_id id,
				   const void *from, size_t bytes)
{
	const struct hotspot_member *member = &layout->fields[id];
	uint64_t value = 0;
	uint32_t shift;

	if (!member->has || !member->bytes || !ep_in_bounds(member->off, member->bytes, bytes))
		return 0;
	memcpy(&value, (const uint8_t *)from + member->off, member->bytes);
	if (!member->is_signed)
		return value;
	shift = 64 - 8 * member->bytes;
	return (uint64_t)((int64_t)(value << shift) >> shift);
}

/*
 * Where a Symbol's first 8 bytes have its count of references, a u2: after the length where that
 * is the first (8 to 12), else it is the lower half of _hash_and_refcount (share/oops/symbol.hpp).
 */
static inline uint8_t hotspot_symbol_shift(const struct hotspot_layout *layout)
{
	return hotspot_off(layout, HOTSPOT_F_names_symbol_bytes) ? 0 : 16;
}

/* What names need of a class is in so many bytes from its address on. */
static inline size_t hotspot_class_bytes(const struct hotspot_layout *layout)
{
	static const enum hotspot_field_id ids[] = {
		HOTSPOT_F_names_class_name, HOTSPOT_F_names_class_pool, HOTSPOT_F_names_class_file,
		HOTSPOT_F_names_class_debug};
	size_t bytes = 0;

	for (size_t i = 0; i < EP_LEN(ids); i++) {
		if (hotspot_has(layout, ids[i]))
			bytes = EP_MAX(bytes, hotspot_off(layout, ids[i]) + (size_t)8);
	}
	return bytes;
}

#endif

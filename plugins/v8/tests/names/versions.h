/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of the V8s that the plugin knows, by Node's version, as values.def has them. */
#ifndef TEST_V8_VERSIONS_H
#define TEST_V8_VERSIONS_H

#include "core/base/util.h"
#include "plugins/v8/layout.h"
#include "plugins/v8/v8_shared.h"

#include <string.h>

#define N_VERSIONS 10

struct version {
	const char *node;
	struct v8_version v8;
};

static const struct version versions[N_VERSIONS] = {
	{"8", {6, 2, 414, 78}},	   {"10", {6, 8, 275, 32}},  {"12", {7, 8, 279, 23}},
	{"14", {8, 4, 371, 23}},   {"16", {9, 4, 146, 26}},  {"18", {10, 2, 154, 26}},
	{"20", {11, 3, 244, 8}},   {"22", {12, 4, 254, 21}}, {"24", {13, 6, 233, 17}},
	{"26", {14, 6, 202, 34}},
};

static inline struct v8_layout layout_of(size_t i)
{
	struct v8_layout layout = {.version = versions[i].v8};
#define NONE V8_NONE
#define V8_VALUE(member, sanity, names, ...)                                                       \
	{                                                                                          \
		static const int32_t values[N_VERSIONS] = {__VA_ARGS__};                           \
		layout.member = values[i];                                                         \
	}
#include "plugins/v8/values.def"
	return layout;
}

/* -1: none of them. */
static inline int find_version(const char *node)
{
	for (int i = 0; i < N_VERSIONS; i++) {
		if (strcmp(versions[i].node, node) == 0)
			return i;
	}
	return -1;
}

static inline void add_mask(struct v8_state *state, int32_t off, uint32_t bytes, uint64_t mask)
{
	uint32_t at = (uint32_t)off - state->cookie_at;

	(void)bytes;
	state->cookie_masks[at / 8] |= mask << (8 * (at % 8));
}

/* The cookie, from what never changes of a SharedFunctionInfo: v8_shared.h. */
static inline struct v8_state state_of(const struct v8_layout *layout)
{
	struct v8_state state = {0};
	uint64_t counts = layout->sfi_length_bytes == 2 ? 0xffff : 0xffffffff;

	if (v8_has(layout->sfi_unique_id)) {
		state.flags = V8_STATE_UNIQUE_ID;
		state.cookie_at = (uint16_t)layout->sfi_unique_id;
		state.cookie_masks[0] = 0xffffffff;
		return state;
	}
	state.cookie_at = (uint16_t)EP_ALIGN_DOWN(
		(uint64_t)EP_MIN(layout->sfi_length, layout->sfi_literal_id), 8);
	add_mask(&state, layout->sfi_literal_id, 4, 0xffffffff);
	if (layout->sfi_flags - state.cookie_at < 8 * V8_COOKIE_WORDS)
		add_mask(&state, layout->sfi_flags, 4, (uint32_t)layout->sfi_fixed_flags);
	add_mask(&state, layout->sfi_length, (uint32_t)layout->sfi_length_bytes, counts);
	add_mask(&state, layout->sfi_parameters, (uint32_t)layout->sfi_length_bytes, counts);
	return state;
}

#endif

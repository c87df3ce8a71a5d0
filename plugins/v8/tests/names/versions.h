/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of the V8s that the plugin knows, of files that publish nothing, and what
 * is published to BPF of them. */
#ifndef TEST_V8_VERSIONS_H
#define TEST_V8_VERSIONS_H

#include "core/base/util.h"
#include "plugins/v8/v8.h"

#include <string.h>

static const struct v8_version versions[] = {
#define V8_VERSION(major_, minor_) {.major = major_, .minor = minor_},
#include "plugins/v8/fields_versions.def"
};

#define N_VERSIONS EP_LEN(versions)

static inline struct v8_layout layout_of(size_t i)
{
	struct v8_published none;
	struct v8_layout layout;

	v8_published_init(&none);
	v8_layout_fill(&layout, &versions[i], &none);
	return layout;
}

static inline struct v8_state state_of(const struct v8_layout *layout)
{
	const struct v8_executable exe = {.layout = *layout};
	struct v8_state state;

	v8_state_fill(&exe, &state);
	return state;
}

#endif

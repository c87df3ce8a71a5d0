/* SPDX-License-Identifier: Apache-2.0 */
/* Names as text, to be compared: for tests over heaps that are made up (made_world.h). */
#ifndef V8_TESTS_MADE_NAMES_H
#define V8_TESTS_MADE_NAMES_H

#include "plugins/v8/symbolize/names.h"

#include "plugins/v8/symbolize/heap.h"
#include "plugins/v8/symbolize/lines.h"
#include "plugins/v8/symbolize/scripts.h"
#include "plugins/v8/symbolize/text.h"
#include "plugins/v8/tests/names/made_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Names as one line: "f 2:10 a.js [1]; ...". */
struct taken {
	char text[2048];
	size_t used;
};

static inline int take_name(struct ep_names *to, const struct ep_name *name)
{
	struct taken *taken = (struct taken *)to;

	taken->used += (size_t)snprintf(taken->text + taken->used,
					sizeof(taken->text) - taken->used, "%s%s %u:%u %s [%u]%s",
					taken->used ? "; " : "", name->function, name->line,
					name->column, name->file ? name->file : "-",
					name->start_line, name->system_name ? "?" : "");
	return 0;
}

static inline int name(struct world *world, const struct ep_raw_frame *frame, struct taken *taken)
{
	*taken = (struct taken){0};
	return v8_names_of(world->names, frame, take_name, (struct ep_names *)taken);
}

static inline void assert_named(struct world *world, const struct ep_raw_frame *frame,
				const char *want)
{
	struct taken taken;

	assert_int_equal(name(world, frame, &taken), 0);
	assert_string_equal(taken.text, want);
}

#define F_START "f 1:11 /a.js [1]"

/* A test of the world of each version, made anew. */
#define VERSION_TEST(name)                                                                         \
	static void name##_of(struct world *world, size_t version);                                \
	EP_TEST(name)                                                                              \
	{                                                                                          \
		for (size_t version = 0; version < N_VERSIONS; version++) {                        \
			ep_cleanup(world_fini) struct world world;                                 \
                                                                                                   \
			world_init(&world, version);                                               \
			name##_of(&world, version);                                                \
		}                                                                                  \
	}                                                                                          \
	static void name##_of(struct world *world, size_t version)

static inline struct ep_raw_frame interpreted(const struct world *world, uint32_t off)
{
	return frame_of(&world->heap, V8_FRAME_INTERPRETED, world->f, world->bytecodes - V8_TAG,
			off);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A script, functions of it, and code of them, in a heap that is made. */
#ifndef TEST_V8_MADE_WORLD_H
#define TEST_V8_MADE_WORLD_H

#include "plugins/v8/tests/names/made_heap.h"

/*                              1         2          3 */
#define SOURCE "function f(a) {\n  return g(a);\n}\nclass C { m() { return 1 } }\n"
#define AT(needle) ((int32_t)(strstr(SOURCE, needle) - SOURCE))

struct world {
	struct made_heap heap;
	struct v8_names *names;
	uint64_t script, f, bytecodes;
};

static inline uint64_t positions_of(struct made_heap *heap, const int32_t (*pairs)[2], uint32_t n)
{
	struct table table = {0};

	for (uint32_t i = 0; i < n; i++)
		add_position(&table, &heap->layout, (uint32_t)pairs[i][0], pairs[i][1], -1, i & 1);
	return new_bytes(heap, table.bytes, table.n);
}

static inline void world_init(struct world *world, size_t version)
{
	const int32_t pairs[][2] = {{2, AT("return g")}, {6, AT("g(a)")}};
	const uint8_t codes[16] = {11, 0};
	struct memory memory = {.read = made_heap_read, .arg = &world->heap};
	struct made_function made = {.literal = 3, .unique_id = 4242,
				     .scope = {.start = AT("(a)"), .end = AT("class") - 1}};

	made_heap_init(&world->heap, version);
	world->script = new_script(&world->heap, one_byte(&world->heap, "/a.js"),
				   one_byte(&world->heap, SOURCE), 77);
	world->bytecodes = new_bytecodes(&world->heap, codes, sizeof(codes),
					 positions_of(&world->heap, pairs, 2));
	made.script = world->script;
	made.bytecodes = world->bytecodes;
	made.scope.name = one_byte(&world->heap, "f");
	world->f = new_function(&world->heap, &made);
	if (v8_names_new(&memory, &world->heap.layout, &world->heap.state, &world->names) < 0)
		abort();
}

static inline void world_fini(struct world *world)
{
	v8_names_free(world->names);
	made_heap_fini(&world->heap);
}

struct inlining {
	uint64_t raw;
	int32_t literal, pad;
};

/* f, in which g is inlined twice; positions at 10, 20 and 30, the code is 64 bytes. */
static inline uint64_t make_optimized(struct world *world, const struct made_code *more)
{
	struct made_heap *heap = &world->heap;
	const struct v8_layout *layout = &heap->layout;
	struct made_function g = {.script = world->script, .literal = 4, .unique_id = 44,
				  .scope = {.start = AT("m()"), .end = AT(" }\n")}};
	const struct inlining inlining[] = {{raw_position(layout, AT("return g"), -1), 0, 0},
					    {raw_position(layout, AT("g(a)"), -1), 0, 0}};
	struct made_code code = {.kind = layout->code_optimized, .bytes = 64};
	struct table table = {0};
	uint64_t function, object;

	g.scope.name = one_byte(heap, "g");
	function = new_function(heap, &g);
	add_position(&table, layout, 10, AT("return 1"), 0, true);
	add_position(&table, layout, 20, AT("return 1"), 1, false);
	add_position(&table, layout, 30, AT("g(a)"), -1, true);
	add_position(&table, layout, 40, AT("return 1"), 1, true);
	add_position(&table, layout, 46, AT("m()"), 1, true);
	code.deopt = new_deopt(heap, world->f, &function, 1,
			       new_bytes(heap, inlining, sizeof(inlining)));
	code.positions = new_bytes(heap, table.bytes, table.n);
	if (more) {
		code.safepoints = more->safepoints;
		code.n_safepoints = more->n_safepoints;
	}
	return new_code(heap, &code, &object);
}

#endif

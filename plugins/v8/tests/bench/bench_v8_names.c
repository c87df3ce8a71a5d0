/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What naming a frame costs, over a heap that is made up: of each function once when nothing is
 * known of it but its script's lines, and then again. Means of CPU time; rows for scripts/bench.
 */
#include "core/base/clock.h"
#include "plugins/v8/tests/names/made_world.h"

#include <stdio.h>

#define VERSION	  7 /* of versions.def: Node 22 */
#define FUNCTIONS 200
#define ROUNDS	  50
#define NEW_BAR	  100000.0 /* ns */
#define KNOWN_BAR 1000.0

static struct world world;
static struct ep_raw_frame frames[FUNCTIONS];

static void make_functions(void)
{
	struct made_function made = {.script = world.script,
				     .bytecodes = world.bytecodes,
				     .scope = {.start = AT("(a)"), .end = AT("class") - 1}};
	char name[16];

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "function%u", i);
		made.scope.name = one_byte(&world.heap, name);
		made.unique_id = 5000 + i;
		frames[i] = frame_of(&world.heap, V8_FRAME_INTERPRETED,
				     new_function(&world.heap, &made), world.bytecodes - V8_TAG, 7);
	}
}

static int take_name(struct ep_names *to, const struct ep_name *name)
{
	(void)to;
	return name->line == 2 ? 0 : -EBADMSG;
}

static uint64_t name_all(struct v8_names *names)
{
	uint64_t start = ep_clock_thread_cpu_ns();

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		if (v8_names_of(names, &frames[i], take_name, NULL) != 0)
			abort();
	}
	return ep_clock_thread_cpu_ns() - start;
}

static void print_row(const char *what, uint64_t ns, double bar)
{
	double mean = (double)ns / FUNCTIONS / ROUNDS;

	printf("%s, mean of %u\t%.0f\tns\t<= %.0f\t%s\n", what, FUNCTIONS, mean, bar,
	       mean <= bar ? "met" : "missed");
}

int main(void)
{
	struct memory memory = {.read = made_heap_read, .arg = &world.heap};
	uint64_t new_ns = 0, known_ns = 0;

	world_init(&world, VERSION);
	make_functions();
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct v8_names *names;

		if (v8_names_new(&memory, &world.heap.layout, &world.heap.state, &names) < 0)
			abort();
		new_ns += name_all(names);
		known_ns += name_all(names);
		v8_names_free(names);
	}
	world_fini(&world);
	print_row("new function", new_ns, NEW_BAR);
	print_row("known function", known_ns, KNOWN_BAR);
	return 0;
}

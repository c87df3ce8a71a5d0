/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile that views are tested with: ten samples of weight 10, one a second, in three processes.
 *
 *	pid tid comm     thread   container cpu  stack, leaf first                        samples
 *	10  11  prog-py  worker-1 ""        1    parse(toy, a.toy:7) main                 1 .. 3
 *	20  20  server   server   abcdef    2    inlined spin(b.c:5, in b.c:9) spin main  4 .. 7
 *	30  30  cat      cat      ""        3    sys_write(kernel) write(c.c:2) main      8 .. 10
 *
 * `spin` calls itself; sample 5 and 6 (of the second) are at spin's own line 9, without what is inlined.
 */
#ifndef EP_TESTS_VIEW_BATCH_H
#define EP_TESTS_VIEW_BATCH_H

#include "core/base/clock.h"
#include "tests/unit/profile_batch.h"

#define VIEW_START_NS	 (1000 * EP_NS_PER_SEC)
#define VIEW_DURATION_NS (10 * EP_NS_PER_SEC)

struct view_line {
	const char *name, *file;
	uint32_t line;
};

static inline uint32_t view_location(struct ep_profile_builder *b, const char *kind, uint32_t mapping,
				     const struct view_line *lines, uint32_t n)
{
	static uint64_t address; /* so that equal names are different locations */
	struct ep_profile_line rows[4];
	struct ep_profile_location location = {
		.kind = string_of(b, kind), .mapping = mapping, .n_lines = n, .lines = rows, .address = ++address};
	uint32_t row = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct ep_profile_function function = {
			.name = string_of(b, lines[i].name), .file = string_of(b, lines[i].file), .line = 1};

		function.system_name = function.name;
		rows[i] = (struct ep_profile_line){.line = lines[i].line};
		(void)ep_profile_add_function(b, &function, &rows[i].function);
	}
	(void)ep_profile_add_location(b, &location, &row);
	return row;
}

struct view_process {
	uint32_t pid, tid, cpu, first, n;
	const char *comm, *thread, *container;
};

static inline void view_samples(struct ep_profile_builder *b, const struct view_process *from, uint32_t stack,
				bool has_times)
{
	struct ep_profile_process process = {
		.pid = from->pid, .comm = string_of(b, from->comm), .container_id = string_of(b, from->container)};
	struct ep_profile_sample sample = {
		.stack = stack, .tid = from->tid, .thread_name = string_of(b, from->thread), .cpu = from->cpu,
		.count = 1, .weight = 10, .n_times = has_times};

	(void)ep_profile_add_process(b, &process, &sample.process);
	for (uint32_t i = 0; i < from->n; i++) {
		uint64_t time = VIEW_START_NS + (from->first + i) * EP_NS_PER_SEC;

		sample.times_ns = &time;
		(void)ep_profile_add_sample(b, &sample);
	}
}

EP_TEST_RELEASES(ep_batch_unref)

/* The test owns it. */
static inline struct ep_batch *view_batch(bool has_times)
{
	const struct ep_profile_header header = {
		.start_ns = VIEW_START_NS, .duration_ns = VIEW_DURATION_NS, .period_ns = 10, .period_hz = 1,
		.lost_samples = 1, .host_name = "here", .sample_type = "cpu", .weight_unit = "nanoseconds"};
	const struct view_line main_line[] = {{"main", "main.c", 3}}, parse[] = {{"parse", "a.toy", 7}},
			       spin[] = {{"inlined", "b.c", 5}, {"spin", "b.c", 9}}, own[] = {{"spin", "b.c", 9}},
			       deeper[] = {{"spin", "b.c", 12}}, kernel[] = {{"sys_write", "", 0}},
			       write_line[] = {{"write", "c.c", 2}};
	struct ep_profile_builder *b = NULL;
	struct ep_profile_mapping program = {.start_va = 0x1000, .limit_va = 0x2000};
	struct ep_batch *batch = NULL;
	uint32_t stacks[4], root, inner, outer, mapping = 0;

	assert_int_equal(ep_profile_builder_new(&b), 0);
	program.path = string_of(b, "/usr/bin/program");
	(void)ep_profile_add_mapping(b, &program, &mapping);
	root = view_location(b, "native", mapping, main_line, 1);
	inner = view_location(b, "native", mapping, spin, 2);
	outer = view_location(b, "native", mapping, deeper, 1);
	stacks[0] = stack_of(b, (uint32_t[]){view_location(b, "toy", 0, parse, 1), root}, 2);
	stacks[1] = stack_of(b, (uint32_t[]){inner, outer, root}, 3);
	stacks[2] = stack_of(b, (uint32_t[]){view_location(b, "native", mapping, own, 1), outer, root}, 3);
	stacks[3] = stack_of(b, (uint32_t[]){view_location(b, "kernel", 0, kernel, 1),
					     view_location(b, "native", mapping, write_line, 1), root}, 3);
	view_samples(b, &(struct view_process){10, 11, 1, 0, 3, "prog-py", "worker-1", ""}, stacks[0], has_times);
	view_samples(b, &(struct view_process){20, 20, 2, 3, 2, "server", "server", "abcdef"}, stacks[1], has_times);
	view_samples(b, &(struct view_process){20, 20, 2, 5, 2, "server", "server", "abcdef"}, stacks[2], has_times);
	view_samples(b, &(struct view_process){30, 30, 3, 7, 3, "cat", "cat", ""}, stacks[3], has_times);
	(void)ep_profile_add_header(b, &header);
	assert_int_equal(ep_profile_finish(b, &batch), 0);
	ep_profile_builder_free(b);
	ep_test_owns(batch, ep_batch_unref_made);
	return batch;
}

#endif

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

#define VIEW_TIMES(...) (has_times ? (const uint64_t[]){__VA_ARGS__} : NULL)
#define VIEW_AT(nth)	(VIEW_START_NS + (nth) * EP_NS_PER_SEC)

static inline struct ep_batch *view_batch(bool has_times)
{
	static const struct ep_profile_header header = {
		.start_ns = VIEW_START_NS, .duration_ns = VIEW_DURATION_NS, .period_ns = 10, .period_hz = 1,
		.lost_samples = 1, .host_name = "here", .sample_type = "cpu", .weight_unit = "nanoseconds"};
	static const struct made_mapping program = {"/usr/bin/program", .start_va = 0x1000, .limit_va = 0x2000};
	/* Addresses, so that equal names are different locations. */
	static const struct made_frame root = {"native", {{"main", "main.c", 3, 1}}, 1, 0, &program};
	static const struct made_frame inner = {
		"native", {{"inlined", "b.c", 5, 1}, {"spin", "b.c", 9, 1}}, 2, 0, &program};
	static const struct made_frame outer = {"native", {{"spin", "b.c", 12, 1}}, 3, 0, &program};
	static const struct made_frame parse = {"toy", {{"parse", "a.toy", 7, 1}}, 4};
	static const struct made_frame own = {"native", {{"spin", "b.c", 9, 1}}, 5, 0, &program};
	static const struct made_frame kernel = {"kernel", {{"sys_write", .start_line = 1}}, 6};
	static const struct made_frame write_call = {"native", {{"write", "c.c", 2, 1}}, 7, 0, &program};
	static const struct made_process py = {.pid = 10, .comm = "prog-py", .user = "root"};
	static const struct made_process cat = {.pid = 30, .comm = "cat", .user = "root"};
	static const struct made_process server = {.pid = 20, .comm = "server", .container_id = "abcdef",
						   .user = "www", .cgroup = "/system.slice/web.service/x"};
	const struct made_sample samples[] = {
		{&py, 11, 1, 3, 30, "worker-1", VIEW_TIMES(VIEW_AT(0), VIEW_AT(1), VIEW_AT(2)), {&parse, &root}},
		{&server, 20, 2, 2, 20, "server", VIEW_TIMES(VIEW_AT(3), VIEW_AT(4)), {&inner, &outer, &root}},
		{&server, 20, 2, 2, 20, "server", VIEW_TIMES(VIEW_AT(5), VIEW_AT(6)), {&own, &outer, &root}},
		{&cat, 30, 3, 3, 30, "cat", VIEW_TIMES(VIEW_AT(7), VIEW_AT(8), VIEW_AT(9)),
		 {&kernel, &write_call, &root}},
	};

	return make_batch(&header, samples, EP_LEN(samples));
}

#endif

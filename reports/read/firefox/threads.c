/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, whose samples are columns: a row of stacks, a time and a weight each. */
#include "core/base/parse.h"
#include "reports/read/firefox/profile.h"

#include <errno.h>

struct thread {
	const uint8_t *stack, *time, *weight; /* where its columns begin */
	struct ep_profile_process process;
	uint32_t tid, name;
	int64_t since_ns; /* its process's start after that of the recording; 0: not known */
};

/* "7", or "7.2" for the third process with that id. */
static void read_pid(struct firefox_read *fx, struct ep_profile_process *process)
{
	uint64_t pid = 0, image = 0;
	struct ep_piece text;
	const char *at, *end;

	if (!ep_json_text(&fx->json, &text))
		return;
	at = text.text;
	end = text.text + text.bytes;
	if (ep_parse_u64(&at, end, 10, &pid) == 0 && at < end && *at++ == '.')
		(void)ep_parse_u64(&at, end, 10, &image);
	process->pid = (uint32_t)EP_MIN(pid, (uint64_t)UINT32_MAX);
	process->image = (uint32_t)EP_MIN(image, (uint64_t)UINT32_MAX);
}

/* One for all of the file. */
static void read_weight_type(struct firefox_read *fx)
{
	char type[sizeof(fx->weight_type)];
	struct ep_piece text;

	if (!ep_json_text(&fx->json, &text))
		return;
	ep_piece_copy(text, type, sizeof(type));
	if (!fx->weight_type[0])
		memcpy(fx->weight_type, type, sizeof(type));
	else if (strcmp(fx->weight_type, type) != 0)
		ep_json_fail(&fx->json, "its threads count different things: it is damaged");
}

static void find_samples(struct firefox_read *fx, struct thread *thread)
{
	struct ep_json *json = &fx->json;
	struct ep_piece key;

	ep_json_enter(json, '{');
	while (ep_json_key(json, &key)) {
		const uint8_t **at = ep_piece_is(key, "stack")    ? &thread->stack
				     : ep_piece_is(key, "time")   ? &thread->time
				     : ep_piece_is(key, "weight") ? &thread->weight
								  : NULL;

		if (ep_piece_is(key, "weightType")) {
			read_weight_type(fx);
			continue;
		}
		if (at)
			*at = ep_json_here(json);
		ep_json_skip(json);
	}
}

static int find_thread(struct firefox_read *fx, struct thread *thread)
{
	struct ep_json *json = &fx->json;
	struct ep_piece key;
	int r = 0;

	ep_json_enter(json, '{');
	while (r == 0 && ep_json_key(json, &key)) {
		if (ep_piece_is(key, "name")) {
			r = firefox_add_string(fx, ep_json_here(json), &thread->name);
			ep_json_skip(json);
		} else if (ep_piece_is(key, "processName")) {
			r = firefox_add_string(fx, ep_json_here(json), &thread->process.comm);
			ep_json_skip(json);
		} else if (ep_piece_is(key, "processStartupTime")) {
			ep_json_parts(json, 6, &thread->since_ns);
		} else if (ep_piece_is(key, "pid")) {
			read_pid(fx, &thread->process);
		} else if (ep_piece_is(key, "tid")) {
			ep_json_row(json, &thread->tid);
		} else if (ep_piece_is(key, "samples")) {
			find_samples(fx, thread);
		} else {
			ep_json_skip(json);
		}
	}
	return r;
}

static bool is_time(const struct firefox_read *fx)
{
	return strcmp(fx->weight_type, "tracing-ms") == 0;
}

/* Where rows are not one sample each, how many they are follows from what one weighs, as far as
 * that is known. */
static uint64_t count_of(const struct firefox_read *fx, uint64_t weight)
{
	uint64_t period = fx->header.period_ns;

	if (strcmp(fx->weight_type, "samples") == 0)
		return weight;
	if (fx->has_times || !is_time(fx) || !period)
		return 1;
	return EP_MAX((weight + period / 2) / period, 1ull);
}

/* The next cell of each column into `sample`, and its time. */
static bool read_cells(struct firefox_read *fx, struct ep_json *times, struct ep_json *weights,
		       uint32_t *ret_stack, uint64_t *ret_time_ns, int64_t *ret_weight)
{
	int64_t time_ns = 0;

	if (!ep_json_row(&fx->json, ret_stack))
		return false;
	if (*ret_stack != EP_JSON_NONE && *ret_stack >= firefox_rows(fx, STACK_FRAME))
		return ep_json_fail(&fx->json, "it refers to a stack that is not there");
	if (!ep_json_more(times) || !ep_json_parts(times, 6, &time_ns) || !ep_json_more(weights) ||
	    !ep_json_parts(weights, is_time(fx) ? 6 : 0, ret_weight) || *ret_weight < 0)
		return ep_json_fail(
			&fx->json,
			"its stack, its time and its weight do not fit together: it is damaged");
	*ret_time_ns = fx->header.start_ns + (uint64_t)time_ns;
	return true;
}

static int read_samples(struct firefox_read *fx, const struct thread *thread, uint32_t process)
{
	struct ep_json times = ep_json_at(&fx->json, thread->time),
		       weights = ep_json_at(&fx->json, thread->weight);
	struct ep_profile_sample sample = {
		.process = process, .tid = thread->tid, .thread_name = thread->name};
	uint64_t time_ns = 0;
	int64_t weight = 0;
	uint32_t row = 0;
	int r = 0;

	fx->json = ep_json_at(&fx->json, thread->stack);
	ep_json_enter(&times, '[');
	ep_json_enter(&weights, '[');
	ep_json_enter(&fx->json, '[');
	while (r == 0 && ep_json_more(&fx->json) &&
	       read_cells(fx, &times, &weights, &row, &time_ns, &weight)) {
		sample.weight = (uint64_t)weight;
		sample.count = count_of(fx, sample.weight);
		sample.n_times = fx->has_times && sample.count == 1;
		sample.times_ns = &time_ns;
		r = firefox_stack(fx, row, &sample.stack);
		if (r == 0)
			r = ep_profile_add_sample(fx->builder, &sample);
	}
	return r;
}

static int read_thread(struct firefox_read *fx)
{
	struct thread thread = {0};
	struct ep_json after;
	uint32_t process = 0;
	int r = find_thread(fx, &thread);

	if (r < 0 || fx->json.why)
		return r;
	if (!thread.stack || !thread.time || !thread.weight) {
		ep_json_fail(&fx->json, "the thread that ends here has no samples");
		return 0;
	}
	after = fx->json;
	thread.tid = thread.tid == EP_JSON_NONE ? 0 : thread.tid;
	thread.process.start_ns =
		thread.since_ns ? fx->header.start_ns + (uint64_t)thread.since_ns : 0;
	r = ep_profile_add_process(fx->builder, &thread.process, &process);
	if (r == 0)
		r = read_samples(fx, &thread, process);
	if (r == 0 && !fx->json.why)
		fx->json = after;
	return r;
}

int firefox_threads(struct firefox_read *fx)
{
	int r = 0;

	fx->json = ep_json_at(&fx->json, fx->threads);
	ep_json_enter(&fx->json, '[');
	while (r == 0 && ep_json_more(&fx->json))
		r = read_thread(fx);
	return r;
}

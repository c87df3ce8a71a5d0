/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OTLP exporter when memory runs out: each allocation of a run fails once, one by one, and each
 * time all is well or reported to be not, every batch and flush is reported, and nothing leaks.
 */
#include "exporters/otlp/gzip.h"
#include "tests/kit/heap.h"
#include "tests/kit/test.h"
#include "tests/otlp/batch.h"
#include "tests/otlp/host.h"

#define MAX_RUNS 2000

extern const struct ep_plugin ep_plugin;

/* --- a batch into payloads --- */

static int take(void *arg, const struct otlp_request *request)
{
	uint64_t *events = arg;
	struct otlp_payload payload;
	int r = otlp_payload_make(request, true, &payload);

	if (r == 0) {
		*events += payload.events;
		free(payload.data);
	}
	return r;
}

static int encode(void *batch)
{
	const struct otlp_encode_options options = {
		.max_bytes = 16384, .environment = "REGION", .kernel_base = 1, .modules_path = "/"};
	uint64_t events = 0, too_big = 0;
	struct otlp_sink sink = {.take = take, .arg = &events};
	int r = otlp_encode(batch, &options, &sink, &too_big);

	/* shrinking a payload may fail without harm */
	assert_true(r < 0 || events == test_batch_events(batch));
	return r;
}

EP_TEST(encoding_survives_each_failure)
{
	const struct test_shape shape = {.processes = 3,
					 .functions = 200,
					 .stacks = 60,
					 .depth = 8,
					 .samples = 120,
					 .events = 2,
					 .twins = 60};
	struct ep_batch *batch = test_batch_new(&shape);
	uint32_t n;
	const char *wrong = heap_fail_each(encode, batch, &n);

	if (wrong)
		fail_msg("%s", wrong);
	assert_in_range(n, 30, MAX_RUNS);
	test_batch_unref(batch);
}

/* --- the whole exporter, to where nobody listens --- */

struct run {
	struct test_host host;
	void *exporter;
	uint32_t n_exported, n_flushed;
};

static void on_flushed(void *arg, int result)
{
	struct run *run = arg;

	run->n_flushed++;
	ep_plugin.exporter->close(run->exporter);
}

static void on_exported(void *arg, int result)
{
	struct run *run = arg;

	run->n_exported++;
	ep_plugin.exporter->flush(run->exporter, on_flushed, run);
}

static bool export_with_failure(const char *protocol, uint32_t fail_at)
{
	const char *pairs[] = {protocol,
			       "endpoint=http://127.0.0.1:1",
			       "jitter=0s",
			       "retry_initial=10ms",
			       "flush_timeout=20ms",
			       "headers=x-a=b"};
	static struct run run;
	struct ep_batch *batch = test_batch_new(&test_shape_small);
	struct ep_options *options;
	uv_loop_t loop;
	bool done;

	memset(&run, 0, sizeof(run));
	assert_int_equal(uv_loop_init(&loop), 0);
	test_host_init(&run.host, &loop, true);
	options = test_options_new(ep_plugin.exporter->options, pairs, EP_LEN(pairs));
	assert_non_null(options);
	assert_int_equal(ep_plugin.exporter->open(&run.host.host, options, &run.exporter), 0);
	heap_arm(fail_at);
	ep_plugin.exporter->export_batch(run.exporter, batch, on_exported, &run);
	test_batch_unref(batch);
	uv_run(&loop, UV_RUN_DEFAULT);
	done = heap_disarm();
	assert_int_equal(run.n_exported, 1);
	assert_int_equal(run.n_flushed, 1);
	assert_int_equal(uv_loop_close(&loop), 0);
	assert_int_equal(test_batch_references(), 0);
	test_options_free(options);
	return done;
}

EP_TEST(exporting_survives_each_failure)
{
	static const char *const protocols[] = {"protocol=grpc", "protocol=http/protobuf"};

	for (size_t i = 0; i < EP_LEN(protocols); i++) {
		uint32_t fail_at = 1;

		while (!export_with_failure(protocols[i], fail_at))
			assert_in_range(++fail_at, 1, MAX_RUNS);
		assert_true(fail_at > 40);
	}
}

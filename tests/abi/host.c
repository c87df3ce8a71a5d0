/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a plugin as the agent does and gives it one batch.
 *
 *	abi_host DIR NAME [KEY=STRING]...
 *
 * Exit 0 when the exporter reported success.
 */
#include "core/plugin/exporter.h"
#include "core/trace/batch.h"
#include "tests/kit/fakes.h"
#include "tests/unit/trace_events.h"

#include <stdio.h>
#include <uv.h>

#define MAX_VALUES 16

static int find_executable(void *arg, uint32_t id, struct ep_batch_executable *ret)
{
	*ret = (struct ep_batch_executable){
		.path = "/opt/example/server",
		.build_id = "0123abcd",
		.file_id = "00112233445566778899aabbccddeeff",
		.n_segments = 1,
		.segments = {{0x1000, 0x9000, 0x1000}},
	};
	return 0;
}

static int find_process(void *arg, struct ep_program program, struct ep_batch_process *ret)
{
	*ret = (struct ep_batch_process){.comm = "server", .exe_path = "/opt/example/server"};
	return 0;
}

static void add_samples(struct ep_store *store)
{
	static const struct ep_frame_line lines[] = {
		{.function = "leaf"},
		{.function = "left out", .flags = EP_LINE_WRAPPER},
		{.function = "caller"},
	};
	static const struct ep_frame_line root = {.function = "main", .file = "main.c", .line = 3};
	static struct event event;
	uint32_t id;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1234);
	event_user(&event, EP_FRAME_NATIVE, EP_FRAME_RETURN_ADDRESS, 5, 0x2000);
	for (int i = 0; i < 3; i++)
		(void)event_add(store, &event);
	event_init(&event, EP_EVENT_TRACE, 2, 8);
	event_kernel(&event, 0xffffffff81000010);
	event_user(&event, EP_FRAME_ERROR, 0, EP_ERROR_BAD_READ, 0);
	(void)event_add(store, &event);
	ep_store_add_lost(store, 5);
	while ((id = ep_frames_take(ep_store_frames(store))) != 0) {
		struct ep_frame frame;

		ep_frames_get(ep_store_frames(store), id, &frame);
		if (frame.kind == EP_FRAME_NATIVE && frame.words[0] == 0x1234)
			ep_frames_resolve(ep_store_frames(store), id, lines, EP_LEN(lines), NULL);
		else if (frame.kind == EP_FRAME_NATIVE)
			ep_frames_resolve(ep_store_frames(store), id, &root, 1, NULL);
	}
}

static struct ep_batch *new_batch(void)
{
	struct ep_batch_source source = {
		.executable = find_executable,
		.process = find_process,
		.host_name = "host",
		.period_hz = 20,
	};
	struct ep_store_limits limits = EP_STORE_DEFAULT_LIMITS;
	struct ep_interval *interval = NULL;
	struct ep_batch *batch = NULL;
	struct ep_store *store = NULL;

	if (ep_store_new(&limits, 500, &store) < 0)
		return NULL;
	add_samples(store);
	if (ep_store_seal(store, 2000, &interval) == 0)
		(void)ep_batch_build(interval, &source, &batch);
	ep_interval_unref(interval);
	ep_store_free(store);
	return batch;
}

static int open_exporter(struct ep_module *module, int argc, char **argv,
			 struct ep_exporter **ret_exporter)
{
	struct ep_value values[MAX_VALUES] = {0};
	struct ep_option_error error = {0};
	struct ep_options *options = NULL;
	size_t n = 0;

	for (int i = 3; i < argc && n < MAX_VALUES; i++, n++) {
		char *equals = strchr(argv[i], '=');

		if (!equals)
			return -1;
		*equals = '\0';
		values[n] = (struct ep_value){.key = argv[i], .string = equals + 1};
	}
	if (ep_options_new(argv[2], ep_module_exporter(module)->options, NULL, values, n, &error,
			   &options) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return -1;
	}
	return ep_exporter_open(ep_module_plugin(module), module, options, 1, ret_exporter);
}

static void flushed(void *arg)
{
	*(bool *)arg = true;
}

static bool export_one(struct ep_exporter *exporter)
{
	struct ep_batch *batch = new_batch();
	bool is_flushed = false, ok;

	if (!batch)
		return false;
	ep_exporter_submit(exporter, batch);
	ep_batch_unref(batch);
	ep_exporter_flush(exporter, flushed, &is_flushed);
	uv_run(ep_host_get()->loop, UV_RUN_DEFAULT);
	ok = is_flushed && ep_exporter_stats(exporter)->exported == 1;
	ep_exporter_close(exporter);
	return ok;
}

int main(int argc, char **argv)
{
	char reason[EP_REASON_BYTES] = "";
	struct ep_exporter *exporter = NULL;
	struct ep_module *module = NULL;
	uv_loop_t loop;
	bool ok;

	if (argc < 3) {
		fprintf(stderr, "usage: abi_host DIR NAME [KEY=STRING]...\n");
		return 2;
	}
	uv_loop_init(&loop);
	ep_host_init(&loop, "test");
	if (ep_module_load(argv[1], argv[2], &module, reason) < 0) {
		fprintf(stderr, "%s\n", reason);
		return 1;
	}
	ok = open_exporter(module, argc, argv, &exporter) == 0 && export_one(exporter);
	ep_module_unload(module);
	uv_loop_close(&loop);
	return ok ? 0 : 1;
}

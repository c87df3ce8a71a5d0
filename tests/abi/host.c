/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a plugin as the agent does and gives it one batch.
 *
 *	abi_host DIR NAME [KEY=STRING]...
 *
 * Exit 0 when the exporter reported success.
 */
#include "core/plugin/exporter.h"
#include "ebpf-profiler/frame.h"
#include "tests/unit/profile_batch.h"

#include <uv.h>

#define MAX_VALUES 16

#define START_NS 1767225600000000000ull
#define TIMES	 ((const uint64_t[]){START_NS, START_NS + 1, START_NS + 2})

/* A native stack with an inlined function, and one of the kernel that is cut. */
static struct ep_batch *new_batch(void)
{
	static const struct ep_profile_header header = {
		.start_ns = START_NS, .duration_ns = 2000, .period_ns = 50000000, .period_hz = 20, .lost_samples = 5,
		.host_name = "host", .sample_type = "cpu", .weight_unit = "nanoseconds"};
	static const struct made_mapping server = {"/opt/example/server", "0123abcd", 0x1000, 0x9000, 0x1000};
	static const struct made_process one = {77, 7, "server", "/opt/example/server"}, other = {77, 8, "server", ""};
	static const struct made_frame leaf = {"native", {{"leaf"}, {"caller"}}, 0x1234, 0, &server};
	static const struct made_frame root = {"native", {{"main", "main.c", 3}}, 0x2000, 0, &server};
	static const struct made_frame kernel = {"kernel", .address = 0xffffffff81000010};
	static const struct made_frame cut = {"error", {{"[truncated: stack memory unreadable]"}}, .flags = EP_LOCATION_ERROR};
	const struct made_sample samples[] = {
		{&one, 7, 0, 3, 150000000, "prog", TIMES, {&leaf, &root}},
		{&other, 8, 0, 1, 50000000, "prog", TIMES, {&kernel, &cut}, EP_ERROR_BAD_READ,
		 .error_text = "stack memory unreadable"},
	};

	return make_batch(&header, samples, EP_LEN(samples));
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

	ep_exporter_submit(exporter, batch);
	ep_test_release(batch);
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
